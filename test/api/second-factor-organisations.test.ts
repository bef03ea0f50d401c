/** Second factors of accounts that belong to several organisations, and of those that get another owner. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { accountOf } from '../support/account-of.ts';
import { createClient, tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { PASSWORD, signedIn, type Person } from './people.ts';
import { addApp, ageSessions, ASK, FACTORS, sendPassword } from './second-factor.ts';

const ORGANISATIONS = '/dashboard/organisations';
const CONFIRM = '/dashboard/account/confirm';
const NEW_PASSWORD = 'nine tin kettles hum';
const SESSION = '__Host-curbcut_session';

describe('second factors and organisations', () => {
  const context = useContext({ mail: true });

  const any = async (email: string) => (await context.stores.secondFactors.find(email)).any;
  const addPasskey = async (email: string) =>
    context.stores.secondFactors.addPasskey(await accountOf(context.db, email), {
      id: randomBytes(16).toString('base64url'),
      name: 'Laptop',
      rpId: 'curbcut.example',
      publicKey: '',
      counter: 0,
      transports: [],
    });
  const invited = async (organisation: string, email: string) => {
    const sent = await context.stores.invitations.create({
      organisation,
      email,
      role: 'member',
      mailed: true,
      createdBy: await owner(organisation),
    });
    if (!sent.ok) throw new Error(sent.reason);
    return `/dashboard/invitation/${sent.token}`;
  };
  async function owner(organisation: string): Promise<string> {
    const email = `owner-${randomUUID().slice(0, 8)}@people.example`;
    await context.stores.users.add({ email, organisation, password: null, role: 'owner' });
    return email;
  }
  /** Someone who belongs to two organisations, and has signed in with an app. The session acts for the first one. */
  async function inTwo() {
    const who = await signedIn(context);
    const second = (await context.organisation()).id;
    await context.stores.members.add(second, who.email, 'owner');
    const { code } = await addApp(context, who.email);
    who.client.cookies.clear();
    const page = await sendPassword(who);
    await who.client.post(ASK, { _csrf: tokenIn(page.text), way: 'totp', 'one-time-password': code() });
    await switchTo(who, who.organisation);
    return { ...who, second, code };
  }
  const switchTo = async ({ client }: Pick<Person, 'client'>, organisation: string) =>
    expect((await client.submit(`${ORGANISATIONS}/switch`, { organisation }, ORGANISATIONS)).headers.get('location')).to.equal(
      '/dashboard',
    );
  const sessionOf = async ({ client }: Pick<Person, 'client'>) => (await context.stores.sessions.recognise(client.cookies.get(SESSION)!))!;

  // ASVS 6.4: who had an account before its address was verified keeps nothing that opens it.
  describe('of someone who had the account before', () => {
    const unverified = async () => {
      const email = `fac-${randomUUID().slice(0, 8)}@people.example`;
      const { id } = await context.organisation();
      await context.stores.users.add({ email, organisation: id, password: PASSWORD });
      expect((await addPasskey(email)).ok).to.equal(true);
      return email;
    };

    it('do not survive a mailed invitation', async () => {
      const email = await unverified();
      const link = await invited((await context.organisation()).id, email);
      const client = createClient(context.url);
      const answer = await client.submit(link, { name: 'Ann', 'new-password': NEW_PASSWORD });
      expect([answer.status, answer.headers.get('location'), await any(email)]).to.deep.equal([303, '/dashboard', false]);
    });

    it('are asked for after a link for a new password, which verifies the address only then (ASVS 6.4.3)', async () => {
      const who = await signedIn(context);
      const { code } = await addApp(context, who.email);
      const { token } = (await context.stores.passwordResets.create(who.email))!;
      const client = createClient(context.url);
      const answer = await client.submit(`/dashboard/reset-password/${token}`, { 'new-password': NEW_PASSWORD });
      expect(answer.headers.get('location')).to.equal(ASK);
      expect((await context.stores.users.find(who.email))?.verified).to.equal(false);
      const page = await client.get(ASK);
      await client.post(ASK, { _csrf: tokenIn(page.text), way: 'totp', 'one-time-password': code() });
      expect((await context.stores.users.find(who.email))?.verified).to.equal(true);
      expect(await any(who.email)).to.equal(true);
    });
  });

  it('stay proved after a switch and a join, which are no new proof (ASVS 7.5.1)', async () => {
    const who = await inTwo();
    const third = (await context.organisation()).id;
    await context.db.collection<{ _id: string }>('users').updateOne({ _id: who.email }, { $set: { verifiedAt: new Date() } });
    await ageSessions(context, who.email);
    const { provedAt } = (await sessionOf(who)).session;
    const ways = [async () => switchTo(who, who.second), async () => void (await who.client.submit(await invited(third, who.email), {}))];
    for (const [index, way] of ways.entries()) {
      await way();
      const { session, membership } = await sessionOf(who);
      expect([session.secondFactor, session.provedAt]).to.deep.equal(['totp', provedAt]);
      expect(membership?.organisation.id).to.equal([who.second, third][index]);
      const { headers } = await who.client.get(`${FACTORS}/passkeys/new`);
      expect(headers.get('location')?.split('?')[0]).to.equal(CONFIRM);
    }
  });

  it('are required by the organisation of the session, also of REST requests and event streams', async () => {
    const who = await signedIn(context);
    const strict = (await context.organisation()).id;
    await context.stores.members.add(strict, who.email, 'owner');
    await context.stores.organisations.setRequireSecondFactor(strict, true);
    const rest = async () => (await who.client.get('/v1/api-keys', { Accept: 'application/json' })).status;
    const usable = async () => (await context.stores.sessions.usable([(await sessionOf(who)).session.id])).size;
    expect([await rest(), (await who.client.get('/dashboard')).status, await usable()]).to.deep.equal([200, 200, 1]);
    await switchTo(who, strict);
    expect((await who.client.get('/dashboard')).headers.get('location')).to.equal(`${FACTORS}?required`);
    expect([await rest(), await usable()]).to.deep.equal([403, 0]);
    await switchTo(who, who.organisation);
    expect([await rest(), await usable()]).to.deep.equal([200, 1]);
  });

  it('keep the last one while another organisation of the account requires it', async () => {
    const who = await inTwo();
    await context.stores.organisations.setRequireSecondFactor(who.second, true);
    const page = await who.client.get(`${FACTORS}/app/removal`);
    const refused = await who.client.post(`${FACTORS}/app/removal`, { _csrf: tokenIn(page.text) });
    expect([refused.status, await any(who.email)]).to.deep.equal([409, true]);
  });
});
