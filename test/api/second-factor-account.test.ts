/** The pages of a person's second factors, and organisations that require one. */
import { expect } from 'chai';
import { totpCode, totpStep } from '../../core/totp.ts';
import { createAuthenticator } from '../support/authenticator.ts';
import { createClient, tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { PASSWORD, signedIn, type Person } from './people.ts';
import { actionsOf, addApp, addPasskey, ageSessions, FACTORS, optionsIn, SITE } from './second-factor.ts';

const SESSION = '__Host-curbcut_session';
const APP = `${FACTORS}/app`;
const CONFIRM = '/dashboard/account/confirm';
const codesIn = (page: string): string[] => /id="recovery-codes"[^>]*>([^<]*)</.exec(page)?.[1]?.split('\n') ?? [];

describe('second factors of an account', () => {
  const context = useContext();
  const factorsOf = ({ email }: Person) => context.stores.secondFactors.find(email);
  const secretOf = async ({ email }: Person) => (await context.stores.secondFactors.waitingTotp(email))!;

  it('begin with an authenticator app, a new session ID and ten recovery codes, which are shown once (ASVS 7.2.4)', async () => {
    const who = await signedIn(context);
    const before = who.client.cookies.get(SESSION);
    expect((await who.client.get('/dashboard/account')).text).to.include(FACTORS);
    expect((await who.client.get(FACTORS)).text).to.include('Signing in needs your password only');
    expect((await who.client.get(APP)).headers.get('location')).to.equal(FACTORS);
    expect((await who.client.submit(`${APP}/begin`, {}, FACTORS)).headers.get('location')).to.equal(APP);
    const page = await who.client.get(APP);
    expect(page.text).to.include('<svg class="qr-code"').and.include('id="totp-key"');
    expect(page.headers.get('cache-control')).to.equal('no-store');
    const secret = await secretOf(who);
    const confirm = (code: string) => who.client.post(APP, { _csrf: tokenIn(page.text), 'one-time-password': code });
    expect((await confirm('')).text).to.include('Enter the code that your app shows.');
    expect((await confirm(totpCode(secret, totpStep(new Date()) + 9))).text).to.include('This code is not correct');
    expect((await factorsOf(who)).any).to.equal(false);
    const done = await confirm(totpCode(secret, totpStep(new Date())));
    expect([done.status, done.headers.get('cache-control')]).to.deep.equal([201, 'no-store']);
    expect(codesIn(done.text)).to.have.lengthOf(10);
    expect(who.client.cookies.get(SESSION)).to.be.a('string').and.not.equal(before);
    // The page belongs to the new session: its form to sign out works.
    expect((await who.client.post('/dashboard/sign-out', { _csrf: tokenIn(done.text) })).status).to.equal(303);
    expect(await actionsOf(context, who.organisation)).to.include('user.factor-add authenticator app');
    const again = await context.stores.secondFactors.useRecovery(who.email, codesIn(done.text)[3]!);
    expect(again.ok).to.equal(true);
  });

  it('can be several passkeys with names, which are renamed and removed', async () => {
    const who = await signedIn(context);
    const [one, two] = [createAuthenticator(), createAuthenticator()];
    const first = await addPasskey(who.client, one, 'Work laptop');
    expect([first.status, codesIn(first.text).length]).to.deep.equal([201, 10]);
    const second = await addPasskey(who.client, two, 'Blue key');
    expect([second.status, second.headers.get('location')]).to.deep.equal([303, `${FACTORS}?done=passkey`]);
    const overview = await who.client.get(`${FACTORS}?done=passkey`);
    expect(overview.text).to.include('Work laptop').and.include('Blue key').and.include('The passkey was added.');
    const path = `${FACTORS}/passkeys/${two.id}`;
    for (const [name, error] of [
      ['', 'Give the passkey a name.'],
      ['x'.repeat(61), 'Use at most 60 characters.'],
    ] as const) {
      const wrong = await who.client.submit(path, { name });
      expect([wrong.status, wrong.text.includes(error)]).to.deep.equal([422, true]);
    }
    expect((await who.client.submit(path, { name: '<b>Green</b>' })).headers.get('location')).to.equal(`${FACTORS}?done=renamed`);
    expect((await who.client.get(FACTORS)).text)
      .to.include('&lt;b&gt;Green&lt;/b&gt;')
      .and.not.include('<b>Green');
    const removed = await who.client.submit(`${path}/remove`, {}, path);
    expect(removed.headers.get('location')).to.equal(`${FACTORS}?done=removed`);
    expect((await factorsOf(who)).passkeys.map(({ name }) => name)).to.deep.equal(['Work laptop']);
    expect(await actionsOf(context, who.organisation)).to.include.members([
      'user.factor-add passkey: Work laptop',
      'user.factor-rename passkey: <b>Green</b>',
      'user.factor-remove passkey: <b>Green</b>',
    ]);
  });

  it('refuse a passkey that is not valid, known already, or one too many', async () => {
    const who = await signedIn(context);
    const authenticator = createAuthenticator();
    const wrong = await addPasskey(who.client, authenticator, 'Laptop', { ...SITE, origin: 'https://evil.example' });
    expect([wrong.status, wrong.text.includes('The passkey was not accepted')]).to.deep.equal([422, true]);
    expect((await addPasskey(who.client, authenticator, '')).text).to.include('Give the passkey a name.');
    expect((await addPasskey(who.client, authenticator)).status).to.equal(201);
    const known = await addPasskey(who.client, authenticator);
    expect([known.status, known.text.includes('This passkey was added before.')]).to.deep.equal([409, true]);
    const other = await signedIn(context);
    expect((await addPasskey(other.client, authenticator)).status, 'of another account').to.equal(409);
  });

  it('replace all recovery codes at once', async () => {
    const who = await signedIn(context);
    const first = codesIn((await addPasskey(who.client, createAuthenticator())).text);
    const page = await who.client.submit(`${FACTORS}/recovery-codes`, {}, FACTORS);
    expect([page.status, codesIn(page.text).length, page.text.includes('The earlier codes do not work any more')]).to.deep.equal([
      201,
      10,
      true,
    ]);
    expect((await context.stores.secondFactors.useRecovery(who.email, first[0]!)).ok).to.equal(false);
    expect(await actionsOf(context, who.organisation)).to.include('user.recovery-codes null');
  });

  describe('change', () => {
    const CHANGES = [
      ['GET', `${FACTORS}/passkeys/new`],
      ['POST', `${FACTORS}/passkeys/new`],
      ['POST', `${FACTORS}/passkeys/x/remove`],
      ['POST', `${APP}/begin`],
      ['GET', APP],
      ['POST', APP],
      ['GET', `${APP}/removal`],
      ['POST', `${APP}/removal`],
      ['POST', `${FACTORS}/recovery-codes`],
      ['POST', '/dashboard/settings/security/second-factor'],
    ] as const;
    it('only after a proof of the last minutes (ASVS 7.5.1)', async () => {
      const who = await signedIn(context);
      await ageSessions(context, who.email);
      const _csrf = tokenIn((await who.client.get(FACTORS)).text);
      for (const [method, path] of CHANGES) {
        const { status, headers } = await (method === 'GET' ? who.client.get(path) : who.client.post(path, { _csrf }));
        expect([status, headers.get('location')?.split('?')[0]], `${method} ${path}`).to.deep.equal([303, CONFIRM]);
      }
    });

    it('by the password if there is no factor; the session ID changes (ASVS 7.2.4)', async () => {
      const who = await signedIn(context);
      await ageSessions(context, who.email);
      const { headers } = await who.client.get(`${FACTORS}/passkeys/new`);
      const page = headers.get('location')!;
      const before = who.client.cookies.get(SESSION);
      const next = `${FACTORS}/passkeys/new`;
      expect((await who.client.submit(CONFIRM, { next, password: '' }, page)).text).to.include('Enter your password.');
      expect((await who.client.submit(CONFIRM, { next, password: 'wrong' }, page)).text).to.include('This is not your current password.');
      expect((await who.client.submit(CONFIRM, { next, password: PASSWORD }, page)).headers.get('location')).to.equal(next);
      expect(who.client.cookies.get(SESSION)).to.not.equal(before);
      expect((await who.client.get(next)).status).to.equal(200);
      expect((await who.client.submit(CONFIRM, { next: '//evil.example', password: PASSWORD })).headers.get('location')).to.equal(
        '/dashboard',
      );
    });

    it('by a factor if there is one; the password is not enough', async () => {
      const who = await signedIn(context);
      const authenticator = createAuthenticator();
      await addPasskey(who.client, authenticator);
      await ageSessions(context, who.email);
      const page = await who.client.get(`${CONFIRM}?next=${FACTORS}/app`);
      expect(page.text).to.not.include('type="password"');
      const csrf = tokenIn(page.text);
      expect((await who.client.post(CONFIRM, { _csrf: csrf, next: FACTORS, password: PASSWORD })).status).to.equal(422);
      const credential = authenticator.get(optionsIn(page.text), SITE);
      const answer = await who.client.post(CONFIRM, { _csrf: csrf, next: FACTORS, way: 'passkey', 'passkey-password': credential });
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, FACTORS]);
      expect((await who.client.get(`${FACTORS}/passkeys/new`)).status).to.equal(200);
    });

    it('also if a factor was added since a sign-in with the password alone', async () => {
      const who = await signedIn(context);
      const { codes } = await addApp(context, who.email);
      const answer = await who.client.get(`${FACTORS}/passkeys/new`);
      expect(answer.headers.get('location')).to.equal(`${CONFIRM}?next=${encodeURIComponent(`${FACTORS}/passkeys/new`)}`);
      const recovery = await who.client.get(`${CONFIRM}?next=${FACTORS}&way=recovery`);
      const fields = { _csrf: tokenIn(recovery.text), next: FACTORS, way: 'recovery', 'one-time-password': codes[0]! };
      expect((await who.client.post(CONFIRM, fields)).headers.get('location')).to.equal(FACTORS);
      expect((await who.client.get(`${FACTORS}/passkeys/new`)).status).to.equal(200);
    });
  });

  it('are left to the identity provider by people without a password', async () => {
    const { id } = await context.organisation();
    const replica = await context.replica({
      identityProvider: { issuer: 'http://127.0.0.1:9', clientId: 'c', clientSecret: 's', name: 'Example', localPasswords: true },
    });
    const email = `sso-${id}@people.example`;
    await context.stores.users.add({ email, organisation: id, password: null });
    const { secret } = (await context.stores.sessions.start({ email, method: 'oidc', browser: '' }))!;
    const client = createClient(replica.url);
    client.cookies.set(SESSION, secret);
    expect((await client.get(FACTORS)).text).to.include('identity provider, which decides');
    expect((await client.get(`${FACTORS}/passkeys/new`)).headers.get('location')).to.equal(FACTORS);
    expect((await client.submit(`${APP}/begin`, {}, FACTORS)).headers.get('location')).to.equal(FACTORS);
    expect((await client.get(`${CONFIRM}?next=${FACTORS}`)).text)
      .to.include('/dashboard/sign-in/oidc?next=')
      .and.include('Sign in with Example');
  });
});

describe('an organisation that requires a second factor', () => {
  const SECURITY = '/dashboard/settings/security';
  const context = useContext();

  const send = (who: Person, path: string) =>
    context.request('GET', path, {
      key: null,
      headers: { Cookie: [...who.client.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });

  it('is made one by an owner who has one', async () => {
    const owner = await signedIn(context);
    const member = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    expect((await member.client.get(SECURITY)).status).to.equal(403);
    const refused = await owner.client.submit(`${SECURITY}/second-factor`, { required: 'yes' }, SECURITY);
    expect([refused.status, refused.text.includes('Set up a second factor for yourself first')]).to.deep.equal([409, true]);
    await addPasskey(owner.client, createAuthenticator());
    const saved = await owner.client.submit(`${SECURITY}/second-factor`, { required: 'yes' }, SECURITY);
    expect(saved.headers.get('location')).to.equal(`${SECURITY}?saved`);
    expect((await context.stores.organisations.find(owner.organisation))?.requireSecondFactor).to.equal(true);
    expect((await owner.client.get(SECURITY)).status).to.equal(200);
    await owner.client.submit(`${SECURITY}/second-factor`, { required: 'no' }, SECURITY);
    expect((await context.stores.organisations.find(owner.organisation))?.requireSecondFactor).to.equal(false);
    expect(await actionsOf(context, owner.organisation)).to.include.members([
      'organisation.second-factor required',
      'organisation.second-factor optional',
    ]);
  });

  it('shows a session without one only the pages of the account, of which one sets it up (ASVS 6.3.3)', async () => {
    const who = await signedIn(context);
    const { session } = (await context.stores.sessions.recognise(who.client.cookies.get(SESSION)!))!;
    expect((await send(who, '/v1/api-keys')).status).to.equal(200);
    await context.stores.organisations.setRequireSecondFactor(who.organisation, true);
    for (const path of ['/dashboard', '/dashboard/credits', SECURITY, '/dashboard/scans/new']) {
      const { status, headers } = await who.client.get(path);
      expect([status, headers.get('location')], path).to.deep.equal([303, `${FACTORS}?required`]);
    }
    for (const path of ['/dashboard/account', '/dashboard/organisations']) expect((await who.client.get(path)).status, path).to.equal(200);
    const { status, body } = await send(who, '/v1/api-keys');
    expect([status, body.detail]).to.deep.equal([403, 'second_factor_required']);
    const script = await who.client.get('/dashboard', { Accept: 'application/json', 'Sec-Fetch-Mode': 'cors' });
    expect([script.status, JSON.parse(script.text).detail]).to.deep.equal([403, 'second_factor_required']);
    expect((await context.stores.sessions.usable([session.id])).size, 'event streams end').to.equal(0);
    const page = await who.client.get(`${FACTORS}?required`);
    expect(page.text).to.include('requires a second factor').and.not.include('href="/dashboard/credits"');
    expect((await addPasskey(who.client, createAuthenticator())).status).to.equal(201);
    expect((await who.client.get('/dashboard')).status).to.equal(200);
    expect((await send(who, '/v1/api-keys')).status).to.equal(200);
    expect((await who.client.submit('/dashboard/sign-out', {}, FACTORS)).status).to.equal(303);
  });

  it('is content with a sign-in at the identity provider, and with API keys', async () => {
    const { id, key } = await context.organisation();
    const email = `sso-${id}@people.example`;
    await context.stores.users.add({ email, organisation: id, password: null });
    await context.stores.organisations.setRequireSecondFactor(id, true);
    const { secret } = (await context.stores.sessions.start({ email, method: 'oidc', browser: '' }))!;
    const client = createClient(context.url);
    client.cookies.set(SESSION, secret);
    expect((await client.get('/dashboard')).status).to.equal(200);
    expect((await context.request('GET', '/v1/api-keys', { key })).status).to.equal(200);
  });
});
