/** Sign-in with a second factor. */
import { expect } from 'chai';
import { createAuthenticator } from '../support/authenticator.ts';
import { createClient, tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, PASSWORD, signedIn, type Person } from './people.ts';
import { actionsOf, addApp, addPasskey, ASK, FACTORS, optionsIn, sendPassword, SITE } from './second-factor.ts';

const SESSION = '__Host-curbcut_session';
const PENDING = '__Host-curbcut_pending';

describe('sign-in with a second factor', () => {
  const context = useContext({ mail: true });

  const person = async () => addPerson(context, (await context.organisation()).id);
  const send = (who: Pick<Person, 'client'>, page: string, fields: Record<string, string>) =>
    who.client.post(ASK, { _csrf: tokenIn(page), ...fields });
  /** A person with a passkey, whose browser has no session. */
  async function withPasskey(options?: Parameters<typeof createAuthenticator>[0]) {
    const who = await signedIn(context);
    const authenticator = createAuthenticator(options);
    expect((await addPasskey(who.client, authenticator)).status).to.equal(201);
    return { ...who, client: createClient(context.url), authenticator };
  }

  it('starts no session after the password, and one after the code (ASVS 6.3.3)', async () => {
    const who = await person();
    const { code } = await addApp(context, who.email);
    const page = await sendPassword(who, '/dashboard/credits');
    expect(who.client.cookies.has(SESSION)).to.equal(false);
    expect(await context.db.collection('sessions').countDocuments({ email: who.email })).to.equal(0);
    expect((await who.client.get('/dashboard/credits')).headers.get('location')).to.include('/dashboard/sign-in');
    expect(page.text).to.include('autocomplete="one-time-code"').and.not.include('data-passkey=');
    const answer = await send(who, page.text, { way: 'totp', 'one-time-password': code() });
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard/credits']);
    expect(who.client.cookies.has(PENDING)).to.equal(false);
    expect((await who.client.get('/dashboard/credits')).status).to.equal(200);
    expect(await actionsOf(context, who.organisation)).to.include('user.second-factor totp');
  });

  it('keeps the sign-in in one browser, in a cookie that scripts cannot read', async () => {
    const who = await person();
    const { code } = await addApp(context, who.email);
    const answer = await who.client.submit('/dashboard/sign-in', { email: who.email, password: PASSWORD });
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith(PENDING))!;
    expect(cookie).to.match(/^__Host-curbcut_pending=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const stranger = createClient(context.url);
    await stranger.get('/dashboard/sign-in');
    for (const value of [undefined, 'x', 'A'.repeat(43)]) {
      if (value !== undefined) stranger.cookies.set(PENDING, value);
      const page = await stranger.get(ASK);
      expect([page.status, page.text.includes('The sign-in has ended')]).to.deep.equal([403, true]);
      expect((await send({ client: stranger }, page.text, { way: 'totp', 'one-time-password': code() })).status).to.equal(403);
    }
  });

  it('refuses wrong and empty codes, records the failure, and says how long to wait (ASVS 6.3.1)', async () => {
    const who = await person();
    const { code } = await addApp(context, who.email);
    const page = await sendPassword(who);
    const attempt = (value: string) => send(who, page.text, { way: 'totp', 'one-time-password': value });
    expect((await attempt('')).text).to.include('Enter the code of your authenticator app.');
    expect((await attempt(code(7))).text).to.include('This code is not correct');
    expect(await actionsOf(context, who.organisation)).to.include('user.second-factor-failed totp');
    for (let count = 0; count < 8; count += 1) expect((await attempt('abcdef')).status).to.equal(422);
    // The attempts of this sign-in are used up, and those of the network.
    expect((await attempt(code())).status).to.equal(403);
    const again = await sendPassword(who);
    expect((await send(who, again.text, { way: 'totp', 'one-time-password': 'abcdef' })).status).to.equal(422);
    const limited = await send(who, again.text, { way: 'totp', 'one-time-password': code() });
    expect(limited.status).to.equal(429);
    expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 900);
  });

  it('limits the codes for one account over all networks (ASVS 6.3.1)', async () => {
    const who = await person();
    const { code } = await addApp(context, who.email);
    const replica = await context.replica({ trustedProxies: ['127.0.0.1'] });
    const statuses: number[] = [];
    for (let network = 1; network <= 21; network += 1) {
      const client = createClient(replica.url);
      const from = { 'X-Forwarded-For': `192.0.2.${network}` };
      // Without 21 password hashes.
      client.cookies.set(PENDING, await context.stores.pendingSignIns.start({ email: who.email, next: '/dashboard' }));
      const page = await client.get(ASK, from);
      const fields = { _csrf: tokenIn(page.text), way: 'totp', 'one-time-password': network === 21 ? code() : 'abcdef' };
      statuses.push((await client.post(ASK, fields, from)).status);
    }
    expect(statuses).to.deep.equal([...Array<number>(20).fill(422), 429]);
  });

  it('accepts each recovery code once, and then shows how many are left (ASVS 6.5.1)', async () => {
    const who = await person();
    const { codes } = await addApp(context, who.email);
    const page = await sendPassword(who);
    const asked = await who.client.get(`${ASK}?way=recovery`);
    expect(asked.text).to.include('Recovery code').and.not.include('one-time-code');
    const fields = { way: 'recovery', 'one-time-password': codes[0]! };
    const answer = await send(who, page.text, fields);
    expect(answer.headers.get('location')).to.equal(`${FACTORS}?recovered`);
    expect((await who.client.get(`${FACTORS}?recovered`)).text).to.include('9 of 10 are left');
    const other = { ...who, client: createClient(context.url) };
    const refused = await send(other, (await sendPassword(other)).text, fields);
    expect(refused.status).to.equal(422);
    expect(refused.text).to.include('This recovery code is not correct').and.not.include(codes[0]!);
  });

  it('accepts a passkey, each answer once (ASVS 6.5.1)', async () => {
    const who = await withPasskey();
    const page = await sendPassword(who);
    expect(page.text).to.not.include('one-time-code');
    const credential = who.authenticator.get(optionsIn(page.text), SITE);
    const answer = await send(who, page.text, { way: 'passkey', 'passkey-password': credential });
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard']);
    expect(await actionsOf(context, who.organisation)).to.include('user.second-factor passkey');
    const other = { ...who, client: createClient(context.url) };
    const replayed = await send(other, (await sendPassword(other)).text, { way: 'passkey', 'passkey-password': credential });
    expect([replayed.status, other.client.cookies.has(SESSION)]).to.deep.equal([422, false]);
  });

  const WRONG: Record<string, (credential: string, who: Awaited<ReturnType<typeof withPasskey>>, options: string) => string> = {
    'of another origin': (_, who, options) => who.authenticator.get(options, { ...SITE, origin: 'https://curbcut.evil.example' }),
    'with another account’s name': (_, who, options) => who.authenticator.get(options, { ...SITE, userHandle: 'A'.repeat(43) }),
    'that is no JSON': () => 'x',
    'that is another form': () => '{"id":1,"response":null}',
    'of an unknown passkey': (_, _who, options) => createAuthenticator().get(options, SITE),
  };
  for (const [name, change] of Object.entries(WRONG))
    it(`refuses an answer ${name}`, async () => {
      const who = await withPasskey();
      const page = await sendPassword(who);
      const options = optionsIn(page.text);
      const credential = change(who.authenticator.get(options, SITE), who, options);
      const answer = await send(who, page.text, { way: 'passkey', 'passkey-password': credential });
      expect([answer.status, who.client.cookies.has(SESSION)]).to.deep.equal([422, false]);
      expect(answer.text).to.include('This passkey was not accepted');
    });

  it('refuses the passkey of another person, and a challenge that was given to another sign-in', async () => {
    const [ann, bob] = [await withPasskey(), await withPasskey()];
    const [pageOfAnn, pageOfBob] = [await sendPassword(ann), await sendPassword(bob)];
    const foreign = bob.authenticator.get(optionsIn(pageOfAnn.text), SITE);
    expect((await send(ann, pageOfAnn.text, { way: 'passkey', 'passkey-password': foreign })).status).to.equal(422);
    const elsewhere = ann.authenticator.get(optionsIn(pageOfBob.text), SITE);
    expect((await send(ann, pageOfAnn.text, { way: 'passkey', 'passkey-password': elsewhere })).status).to.equal(422);
  });

  it('refuses a passkey whose counter does not rise, and records that it was copied', async () => {
    const who = await withPasskey();
    await send(who, (await sendPassword(who)).text, { way: 'passkey', 'passkey-password': '' });
    const use = async (counter: number) => {
      const client = createClient(context.url);
      const page = await sendPassword({ ...who, client });
      return send({ client }, page.text, {
        way: 'passkey',
        'passkey-password': who.authenticator.get(optionsIn(page.text), { ...SITE, counter }),
      });
    };
    expect((await use(8)).status).to.equal(303);
    const copied = await use(8);
    expect([copied.status, copied.text.includes('seems to have been copied')]).to.deep.equal([422, true]);
    expect(await actionsOf(context, who.organisation)).to.include('user.second-factor-failed passkey: copied');
  });

  it('keeps the proof when the person changes the password', async () => {
    const who = await person();
    const { code } = await addApp(context, who.email);
    await send(who, (await sendPassword(who)).text, { way: 'totp', 'one-time-password': code() });
    const answer = await who.client.submit(
      '/dashboard/account/password',
      { password: PASSWORD, 'new-password': 'nine tin kettles hum' },
      '/dashboard/account',
    );
    expect(answer.headers.get('location')).to.equal('/dashboard/account?done=password');
    const [session] = await context.stores.sessions.list(who.email);
    expect(session?.secondFactor).to.equal('totp');
  });
});

describe('sign-in with a passkey alone', () => {
  const PATH = '/dashboard/sign-in/passkey';
  const context = useContext();

  async function withPasskey() {
    const who = await signedIn(context);
    const authenticator = createAuthenticator({ counts: false });
    await addPasskey(who.client, authenticator);
    return { ...who, client: createClient(context.url), authenticator };
  }
  async function use(who: Awaited<ReturnType<typeof withPasskey>>, claims = {}) {
    const page = await who.client.get(`${PATH}?next=/dashboard/credits`);
    const credential = who.authenticator.get(optionsIn(page.text), { ...SITE, ...claims });
    return who.client.post(PATH, { _csrf: tokenIn(page.text), next: '/dashboard/credits', 'passkey-password': credential });
  }

  it('counts as both factors, because the device verifies its user', async () => {
    const who = await withPasskey();
    expect((await who.client.get('/dashboard/sign-in')).text).to.include(PATH);
    const answer = await use(who);
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard/credits']);
    const sessions = await context.stores.sessions.list(who.email);
    expect(sessions.map(({ method, secondFactor }) => [method, secondFactor])).to.deep.include(['passkey', 'passkey']);
    expect((await who.client.get(PATH)).headers.get('location')).to.equal('/dashboard');
  });

  it('is refused if the device did not verify its user, and in another browser', async () => {
    const who = await withPasskey();
    expect((await use(who, { verified: false })).status).to.equal(422);
    const page = await who.client.get(PATH);
    const stranger = createClient(context.url);
    const theirs = await stranger.get(PATH);
    const credential = who.authenticator.get(optionsIn(page.text), SITE);
    const answer = await stranger.post(PATH, { _csrf: tokenIn(theirs.text), 'passkey-password': credential });
    expect([answer.status, answer.text.includes('This passkey was not accepted')]).to.deep.equal([422, true]);
    expect((await who.client.post(PATH, { _csrf: 'x', 'passkey-password': credential })).status).to.equal(403);
    expect(who.client.cookies.has(SESSION)).to.equal(false);
  });

  it('is refused for people who sign in at the identity provider only', async () => {
    const who = await withPasskey();
    await context.db.collection<{ _id: string }>('users').updateOne({ _id: who.email }, { $unset: { password: '' } });
    expect((await use(who)).status).to.equal(422);
  });

  for (const publicBaseUrl of ['https://192.0.2.1', 'http://curbcut.example'])
    it(`is not offered at ${publicBaseUrl}, where browsers have no passkeys`, async () => {
      const replica = await context.replica({ publicBaseUrl });
      const client = createClient(replica.url);
      expect((await client.get('/dashboard/sign-in')).text).to.not.include(PATH);
      expect((await client.get(PATH)).status).to.equal(404);
    });
});
