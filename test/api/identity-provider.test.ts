/** What identity providers say, and how: the claims of known products, and ways of authentication, without the rest of the service. */
import { expect } from 'chai';
import { createIdentityProvider } from '../../api/accounts/sessions/identity-provider.ts';
import type { RoleValues } from '../../api/accounts/sessions/role-mapping.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';

const CALLBACK = 'https://curbcut.example/callback';

/** Signs in, as a browser and the routes do. */
async function signIn(server: TestProvider, more: Partial<Parameters<typeof createIdentityProvider>[0]> = {}) {
  const { issuer, clientId, clientSecret } = server;
  const provider = createIdentityProvider({ issuer, clientId, clientSecret, redirectUri: CALLBACK, ...more });
  const { url, flow } = await provider.start();
  return provider.finish(new URL(await server.signIn(url.href)), flow);
}

describe('what an identity provider says about a person', () => {
  let server: TestProvider;
  before(async () => (server = await startProvider(CALLBACK)));
  after(() => server?.close());

  const email = 'ada@acme.example';
  const entra = { email, preferred_username: 'ada@acme.onmicrosoft.com', oid: 'o', tid: 't', name: 'Ada' };
  type Said = Record<string, unknown>;
  // Shapes as the providers document them. `own`: their addresses count as verified.
  const shapes: [what: string, idToken: Said, userInfo: Said, options: { own?: true; verified: boolean; asked: 0 | 1 }][] = [
    ['Entra ID, its tenant is our own', entra, { email }, { own: true, verified: true, asked: 0 }],
    ['Entra ID', entra, { email }, { verified: false, asked: 1 }],
    ['Entra ID without the optional claim', { ...entra, email: undefined }, { email }, { own: true, verified: true, asked: 1 }],
    ['Keycloak', { email, email_verified: true }, {}, { verified: true, asked: 0 }],
    ['Google', { email, email_verified: true, hd: 'acme.example' }, {}, { verified: true, asked: 0 }],
    ['Okta: the address in the ID token, the rest at UserInfo', { email }, { email, email_verified: true }, { verified: true, asked: 1 }],
    ['Authelia: all at UserInfo', {}, { email, email_verified: true }, { verified: true, asked: 1 }],
    ['Cognito: as text', { email }, { email, email_verified: 'true' }, { verified: true, asked: 1 }],
    ['a denial as text', { email, email_verified: 'false' }, {}, { own: true, verified: false, asked: 0 }],
    ['a denial', { email, email_verified: false }, { email, email_verified: true }, { own: true, verified: false, asked: 0 }],
    ['a denial at UserInfo', {}, { email, email_verified: false }, { own: true, verified: false, asked: 1 }],
    ['another address at UserInfo', { email: 'other@acme.example' }, { email, email_verified: true }, { verified: true, asked: 1 }],
    ['no address', {}, {}, { own: true, verified: false, asked: 1 }],
  ];
  for (const [what, idToken, userInfo, { own, verified, asked }] of shapes)
    it(`${verified ? 'proves' : 'does not prove'} the address: ${what}`, async () => {
      Object.assign(server, { idToken, asked: 0, person: { ...userInfo, sub: 'ada' } });
      const exchange = await signIn(server, { emailsVerified: own });
      expect(exchange.ok && exchange.claims.email).to.equal(verified ? email : null);
      expect(exchange.ok && exchange.claims.identity.subject).to.equal('ada');
      expect(server.asked, 'requests for UserInfo').to.equal(asked);
    });
});

describe('what an identity provider says about groups and roles', () => {
  let server: TestProvider;
  before(async () => (server = await startProvider(CALLBACK)));
  after(() => server?.close());

  const proven = { email: 'ada@acme.example', email_verified: true };
  const elsewhere = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example/getMemberObjects' } } };
  type Said = Record<string, unknown>;
  const shapes: [what: string, claim: string, idToken: Said, userInfo: Said, expected: { values: RoleValues; asked: 0 | 1 }][] = [
    ['IDs of groups (Entra ID)', 'groups', { groups: ['0b5d3a58', '1c6e'] }, {}, { values: ['0b5d3a58', '1c6e'], asked: 0 }],
    ['app roles (Entra ID)', 'roles', { roles: ['Curbcut.Owner'] }, {}, { values: ['Curbcut.Owner'], asked: 0 }],
    ['too many groups (Entra ID)', 'groups', elsewhere, {}, { values: 'unknown', asked: 0 }],
    ['too many groups, but roles are asked for (Entra ID)', 'roles', { ...elsewhere, roles: ['a'] }, {}, { values: ['a'], asked: 0 }],
    ['roles of a realm (Keycloak)', 'realm_access.roles', { realm_access: { roles: ['a'] } }, {}, { values: ['a'], asked: 0 }],
    ['groups at UserInfo (Authelia, Okta)', 'groups', {}, { groups: ['a', 'b'] }, { values: ['a', 'b'], asked: 1 }],
    ['a name with a colon (Cognito)', 'cognito:groups', { 'cognito:groups': ['a'] }, {}, { values: ['a'], asked: 0 }],
    ['one group as text', 'groups', { groups: 'a' }, {}, { values: ['a'], asked: 0 }],
    ['no groups', 'groups', { groups: [] }, {}, { values: [], asked: 0 }],
    ['no claim', 'groups', {}, {}, { values: 'absent', asked: 1 }],
    ['an unknown form', 'groups', { groups: [{ id: 'a' }] }, {}, { values: 'unknown', asked: 0 }],
  ];
  for (const [what, claim, idToken, userInfo, { values, asked }] of shapes)
    it(`reads ${what}`, async () => {
      Object.assign(server, { idToken: { ...proven, ...idToken }, asked: 0, person: { ...proven, ...userInfo, sub: 'ada' } });
      const exchange = await signIn(server, { roleMapping: { claim, rules: [] } });
      expect(exchange.ok && exchange.claims.roleValues).to.deep.equal(values);
      expect(server.asked, 'requests for UserInfo').to.equal(asked);
    });
});

describe('how the secret of the client is sent', () => {
  let server: TestProvider | undefined;
  afterEach(() => server?.close());

  const ways: [what: string, options: Parameters<typeof startProvider>[1]][] = [
    ['in the header by default', { method: 'client_secret_basic', named: false }],
    ['in the header', { method: 'client_secret_basic' }],
    ['in the body', { method: 'client_secret_post' }],
    ['in the body, if only that is accepted of the two', { method: 'client_secret_post', named: 'both' }],
    ['in the body, if they name none and only that is accepted', { method: 'client_secret_post', named: false }],
  ];
  for (const [what, options] of ways)
    it(`is what the metadata name: ${what}`, async () => {
      server = await startProvider(CALLBACK, options);
      server.person = { sub: 'ada', email: 'ada@acme.example', email_verified: true };
      expect(await signIn(server)).to.include({ ok: true });
      // A wrong secret is no outage of the provider, also if it answers with a challenge.
      expect(await signIn(server, { clientSecret: 'another-secret' })).to.include({ ok: false, reason: 'refused' });
    });
});
