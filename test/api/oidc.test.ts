/** Sign-in at an OpenID Connect provider. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
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

  it('signs in the user of the verified address, and returns to the page that was asked for', async () => {
    const { id, email } = await user();
    is(email.toUpperCase());
    const client = createClient(replica.url);
    expect((await client.get('/dashboard/sign-in')).text).to.include('Sign in with Acme');
    expect(await signIn(client, '?next=/dashboard/account')).to.equal('/dashboard/account');
    expect((await client.get('/dashboard/account')).text).to.include(email);
    expect((await context.stores.organisations.audit(id, 1))[0]).to.include({ actor: email, action: 'user.link' });
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
    expect(await signIn(createClient(replica.url))).to.equal('/dashboard/sign-in?problem=other_identity');
  });

  it('accepts an invitation of the verified address', async () => {
    const { id } = await context.organisation();
    const email = address();
    await context.stores.invitations.create({ organisation: id, email, role: 'viewer', createdBy: 'ann@people.example' });
    is(email, { name: 'Ada Example' });
    expect(await signIn(createClient(replica.url))).to.equal('/dashboard');
    expect(await context.stores.users.find(email)).to.include({
      role: 'viewer',
      organisation: id,
      hasPassword: false,
      name: 'Ada Example',
    });
    expect(await context.stores.invitations.list(id)).to.deep.equal([]);
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
    expect(cookies.has('__Host-curbcut_oidc')).to.equal(false);
    for (const change of [{ state: 'other' }, { code: 'forged' }, { error: 'access_denied' }]) {
      const other = createClient(replica.url);
      const url = new URL(await callbackOf(other), BASE);
      for (const [name, value] of Object.entries(change)) url.searchParams.set(name, value);
      if ('error' in change) url.searchParams.delete('code');
      expect((await other.get(url.pathname + url.search)).headers.get('location')).to.equal('/dashboard/sign-in?problem=refused');
      expect(other.cookies.has('__Host-curbcut_session')).to.equal(false);
    }
  });

  it('shows a blocked organisation that it is blocked', async () => {
    const { id, email } = await user();
    await context.stores.organisations.setBlocked(id, true);
    is(email);
    const client = createClient(replica.url);
    expect(await signIn(client, '?next=/dashboard/account')).to.equal('/dashboard/account');
    expect((await client.get('/dashboard/account')).status).to.equal(403);
  });

  it('says that the provider is down, while passwords keep working', async () => {
    const stopped = await startProvider(`${BASE}${START}/callback`);
    await stopped.close();
    const settings = { issuer: stopped.issuer, clientId: 'x', clientSecret: 'y', name: 'Acme', timeoutSeconds: 1 };
    const alone = await context.replica({ identityProvider: { ...settings, localPasswords: true } });
    const client = createClient(alone.url);
    expect(await begin(client)).to.equal('/dashboard/sign-in?problem=provider_down');
    expect((await client.get('/dashboard/sign-in?problem=provider_down')).text).to.include(
      'The identity provider cannot be used at the moment.',
    );
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
