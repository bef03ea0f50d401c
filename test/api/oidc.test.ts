/** Sign-in at an OpenID Connect provider. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KEYS_PATH } from '../../core/web-paths.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { createClient, type Client } from './client.ts';
import { startContext, type ApiContext, type MonitoredReplica } from './context.ts';
import { addPerson, PASSWORD } from './people.ts';
import { down } from './replica.ts';

const BASE = 'https://curbcut.example';
const START = '/dashboard/sign-in/oidc';

describe('sign-in at the identity provider', () => {
  let context: ApiContext;
  let provider: TestProvider;
  let replica: MonitoredReplica;
  before(async () => {
    provider = await startProvider(`${BASE}${START}/callback`);
    context = await startContext();
    const { issuer, clientId, clientSecret } = provider;
    replica = await context.replica({ identityProvider: { issuer, clientId, clientSecret, name: 'Acme', localPasswords: true } });
  });
  after(async () => {
    await context?.close();
    await provider?.close();
  });

  const is = (email: string, rest: Partial<TestProvider['person']> = {}) =>
    (provider.person = { sub: randomUUID(), email, email_verified: true, ...rest });
  const begin = async (client: Client, next = '') => (await client.get(`${START}${next}`)).headers.get('location')!;
  /** The address of the callback, as the browser opens it. */
  const callbackOf = async (client: Client, next?: string) => (await provider.signIn(await begin(client, next))).slice(BASE.length);
  const signIn = async (client: Client, next?: string) => (await client.get(await callbackOf(client, next))).headers.get('location');
  const address = () => `sso-${randomUUID().slice(0, 8)}@people.example`;
  const user = async () => {
    const { id } = await context.organisation();
    const email = address();
    await context.stores.users.add({ email, organisation: id, password: null, role: 'member' });
    return { id, email };
  };

  it('uses the current secret of the client, which may be rotated', async () => {
    const { issuer, clientId } = provider;
    let clientSecret = 'an-earlier-secret';
    const other = await context.replica({
      identityProvider: { issuer, clientId, clientSecret: () => clientSecret, name: 'Acme', localPasswords: true },
    });
    is((await user()).email);
    const client = createClient(other.url);
    expect(await signIn(client)).to.not.equal('/dashboard');
    clientSecret = provider.clientSecret;
    expect(await signIn(client)).to.equal('/dashboard');
  });

  it('signs in the user of the verified address, and returns to the page that was asked for', async () => {
    const { id, email } = await user();
    is(email.toUpperCase());
    const client = createClient(replica.url);
    expect((await client.get('/dashboard/sign-in')).text).to.include('Sign in with Acme');
    expect(await signIn(client, '?next=/dashboard/account')).to.equal('/dashboard/account');
    expect((await client.get('/dashboard/account')).text).to.include(email);
    const [linked] = await context.stores.organisations.auditPage(id, { kind: 'changes', limit: 1 });
    expect(linked).to.include({ actor: email, action: 'user.link' });
  });

  it('proves who somebody is at the time that the provider states, and asks it for a fresh sign-in to confirm', async () => {
    const client = createClient(replica.url);
    const newKey = async () => (await client.get(`${KEYS_PATH}/new`)).headers.get('location');
    is((await user()).email);
    provider.age = 3600;
    await signIn(client);
    const confirm = await newKey();
    expect(confirm).to.include('/dashboard/account/confirm');
    expect((await client.get(confirm!)).text).to.include('fresh=1');
    provider.age = 0;
    const asked = await begin(client, '?fresh=1');
    expect(new URL(asked).searchParams.get('max_age')).to.equal('0');
    await client.get((await provider.signIn(asked)).slice(BASE.length));
    expect(await newKey()).to.equal(null);
  });

  it('lifts a bounce of the verified address, so that its owner gets mails again', async () => {
    const { email } = await user();
    await context.stores.suppressions.bounced(email, 'certain');
    is(email, { email_verified: false });
    await signIn(createClient(replica.url));
    expect((await context.stores.suppressions.find(email, 'account'))?.reason).to.equal('bounced');
    is(email);
    replica.faults.set('suppressions.lift', down);
    expect(await signIn(createClient(replica.url))).to.equal('/dashboard');
    replica.faults.clear();
    expect(await signIn(createClient(replica.url))).to.equal('/dashboard');
    expect(await context.stores.suppressions.find(email, 'public')).to.equal(null);
  });

  it('recognises the user by the account at the provider afterwards, also with another address', async () => {
    const first = await user();
    const second = await user();
    const { sub } = is(first.email);
    await signIn(createClient(replica.url));
    // The account at the provider gets the address of another user.
    is(second.email, { sub });
    const client = createClient(replica.url);
    expect(await signIn(client)).to.equal('/dashboard');
    expect((await client.get('/dashboard/account')).text)
      .to.include(first.email)
      .and.not.include(second.email);
    // Another account at the provider cannot take over a linked user.
    is(first.email);
    const refused = (await signIn(client))!;
    expect(refused).to.equal('/dashboard/sign-in?problem=other_identity');
    expect((await createClient(replica.url).get(refused)).text).to.include('curbcut-admin user unlink');
    // Until an administrator removes the link, which ends the sessions. The new account then proves the address as the first one did.
    expect(await context.stores.users.unlink(first.email)).to.include({ email: first.email });
    expect((await client.get('/dashboard/account')).status).to.equal(303);
    expect(await signIn(client)).to.equal('/dashboard');
    expect((await client.get('/dashboard/account')).text).to.include(first.email);
  });

  it('ends sign-ins that several tabs of a browser began, each on its page, and forgets abandoned ones', async () => {
    is((await user()).email);
    const client = createClient(replica.url);
    const cookies = () => [...client.cookies.keys()].filter((name) => name.includes('oidc'));
    const [first, second] = [await callbackOf(client, '?next=/dashboard/account'), await callbackOf(client, '?next=/dashboard/sites')];
    expect((await client.get(second)).headers.get('location')).to.equal('/dashboard/sites');
    expect((await client.get(first)).headers.get('location')).to.equal('/dashboard/account');
    expect((await client.get('/dashboard/account')).status).to.equal(200);
    expect(cookies()).to.deep.equal([]);
    for (let n = 0; n < 20; n += 1) client.cookies.set(`__Host-curbcut_oidc_${n}`, 'abandoned');
    const last = await callbackOf(client);
    expect(cookies()).to.have.length(1);
    expect((await client.get(last)).headers.get('location')).to.equal('/dashboard');
  });

  /** Invites an address to a new organisation. @returns the token of the link */
  const invited = async (email: string) => {
    const { id } = await context.organisation();
    const { email: createdBy } = await addPerson(context, id);
    const created = await context.stores.invitations.create({ organisation: id, email, role: 'viewer', createdBy, mailed: true });
    if (!created.ok) throw new Error(created.reason);
    return { id, createdBy, token: created.token, invitation: created.invitation };
  };

  // ASVS 6.8: what the provider asserts signs in; it does not consent for the person.
  it('offers the invitations of a verified address, the opened one first, and joins the chosen one', async () => {
    const email = address();
    const [opened, other] = [await invited(email), await invited(email)];
    is(email, { name: 'Ada Example' });
    const client = createClient(replica.url);
    const link = `/dashboard/invitation/${opened.token}`;
    const page = (await client.get(link)).text;
    expect(page).to.include(`href="${START}?next=${encodeURIComponent(link)}"`);
    const location = (await signIn(client, `?next=${link}`))!;
    expect(location).to.equal(`/dashboard/organisations?invitation=${encodeURIComponent(opened.invitation.id)}`);
    expect(JSON.stringify(await context.db.collection('oidcFlows').find().toArray())).to.not.include(opened.token);
    const { text } = await client.get(location);
    expect(text.indexOf(`Join ${opened.id}?`)).to.be.within(1, text.indexOf(`Join ${other.id}?`));
    expect(await context.stores.members.of(email), 'nothing was joined without a choice').to.deep.equal([]);
    expect((await client.get('/dashboard')).headers.get('location')).to.equal('/dashboard/organisations');

    const joined = await client.submit('/dashboard/organisations/join', { id: opened.invitation.id }, '/dashboard/organisations');
    expect([joined.status, joined.headers.get('location')]).to.deep.equal([303, '/dashboard']);
    expect((await client.get('/dashboard')).status).to.equal(200);
    expect(await context.stores.users.find(email)).to.include({
      verified: true,
      hasPassword: false,
      name: 'Ada Example',
      createdBy: opened.createdBy,
    });
    expect((await context.stores.members.of(email)).map(({ organisation, role }) => [organisation.id, role])).to.deep.equal([
      [opened.id, 'viewer'],
    ]);
    expect(await context.stores.invitations.list(opened.id)).to.deep.equal([]);
    expect((await context.stores.invitations.list(other.id)).map((one) => one.email)).to.deep.equal([email]);

    const declined = await client.submit('/dashboard/organisations/decline', { id: other.invitation.id }, '/dashboard/organisations');
    expect(declined.headers.get('location')).to.equal('/dashboard/organisations?done=declined');
    expect(await context.stores.invitations.list(other.id)).to.deep.equal([]);
  });

  it('says so if the opened invitation is for another address', async () => {
    const opened = await invited(address());
    const { email } = await user();
    is(email);
    const client = createClient(replica.url);
    const location = (await signIn(client, `?next=/dashboard/invitation/${opened.token}`))!;
    expect((await client.get(location)).text)
      .to.include('The invitation that you opened is not here')
      .and.not.include(`Join ${opened.id}?`);
    const wrong = await client.submit('/dashboard/organisations/join', { id: opened.invitation.id }, '/dashboard/organisations');
    expect(wrong.status).to.equal(404);
  });

  // ASVS 6.3: an account that someone made for an address gives no access to the person who owns the address, and takes none.
  it('removes the password and the sessions of an account whose address was never verified, the first time', async () => {
    const { id } = await context.organisation();
    const { email } = await addPerson(context, id, 'member');
    const earlier = createClient(replica.url);
    await earlier.signIn(email, PASSWORD);
    is(email);
    const client = createClient(replica.url);
    expect(await signIn(client)).to.equal('/dashboard');
    expect((await earlier.get('/dashboard/account')).status).to.equal(303);
    expect(await context.stores.users.verify(email, PASSWORD)).to.equal(null);
    expect(await context.stores.users.find(email)).to.include({ verified: true, hasPassword: false });
    // A later sign-in ends nothing.
    await signIn(createClient(replica.url));
    expect((await client.get('/dashboard/account')).status).to.equal(200);
  });

  it('refuses unknown users and unverified addresses, and creates no account', async () => {
    const email = address();
    is(email);
    const client = createClient(replica.url);
    expect(await signIn(client)).to.equal('/dashboard/sign-in?problem=unknown_user');
    expect((await client.get('/dashboard/sign-in?problem=unknown_user')).text).to.include(
      'Ask an owner of your organisation to invite you.',
    );
    expect(await context.stores.users.find(email)).to.equal(null);
    is((await user()).email, { email_verified: false });
    expect(await signIn(createClient(replica.url))).to.equal('/dashboard/sign-in?problem=unverified_email');
  });

  it('refuses another state, another browser, a forged code, a refusal of the provider, and a repeated callback', async () => {
    is((await user()).email);
    const client = createClient(replica.url);
    const callback = await callbackOf(client);
    expect((await createClient(replica.url).get(callback)).headers.get('location')).to.equal('/dashboard/sign-in?problem=expired');
    expect((await client.get(callback)).headers.get('location')).to.equal('/dashboard');
    const cookies = new Map(client.cookies);
    expect((await client.get(callback)).headers.get('location')).to.equal('/dashboard/sign-in?problem=expired');
    expect([...cookies.keys()].filter((name) => name.includes('oidc'))).to.deep.equal([]);
    for (const change of [{ state: 'other' }, { code: 'forged' }, { error: 'access_denied' }]) {
      const problem = 'state' in change ? 'expired' : 'refused';
      const other = createClient(replica.url);
      const url = new URL(await callbackOf(other), BASE);
      for (const [name, value] of Object.entries(change)) url.searchParams.set(name, value);
      if ('error' in change) url.searchParams.delete('code');
      expect((await other.get(url.pathname + url.search)).headers.get('location')).to.equal(`/dashboard/sign-in?problem=${problem}`);
      expect(other.cookies.has('__Host-curbcut_session')).to.equal(false);
    }
  });

  it('says that the provider is down, while passwords keep working', async () => {
    const stopped = await startProvider(`${BASE}${START}/callback`);
    await stopped.close();
    const settings = { issuer: stopped.issuer, clientId: 'x', clientSecret: 'y', name: 'Acme', timeoutSeconds: 1 };
    const alone = await context.replica({ identityProvider: { ...settings, localPasswords: true } });
    const client = createClient(alone.url);
    expect(await begin(client)).to.equal('/dashboard/sign-in?problem=provider_down');
    const { email } = await addPerson(context, (await context.organisation()).id);
    await client.signIn(email, PASSWORD);
  });

  it('is the only way if passwords are turned off', async () => {
    const { issuer, clientId, clientSecret } = provider;
    const only = await context.replica({ identityProvider: { issuer, clientId, clientSecret, name: 'Acme', localPasswords: false } });
    const { email } = await addPerson(context, (await context.organisation()).id);
    const client = createClient(only.url);
    expect((await client.get('/dashboard/sign-in')).text).to.not.include('type="password"');
    expect((await client.post('/dashboard/sign-in', { email, password: PASSWORD })).status).to.equal(403);
  });
});
