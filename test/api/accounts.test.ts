/** Accounts that belong to their owners: who may take an address, join, switch, leave and come back. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { issueKey } from '../support/issue-key.ts';
import { createClient, tokenIn, type Client } from './client.ts';
import { useContext, type MonitoredReplica } from './context.ts';
import { addPerson, mailedLink, PASSWORD, signedIn } from './people.ts';

const MEMBERS = '/dashboard/settings/members';
const ORGANISATIONS = '/dashboard/organisations';
const OTHER_PASSWORD = 'nine tin kettles hum';
const address = () => `acc-${randomUUID().slice(0, 8)}@people.example`;

/** The organisation and the address in the header of a page. */
const header = (page: string) => [
  /class="account-organisation"[^>]*>([^<]*)</.exec(page.replace(/\s+/g, ' '))?.[1]?.trim(),
  /href="\/dashboard\/account"[^>]*>([^<]*)</.exec(page)?.[1],
];

describe('accounts', () => {
  const context = useContext({ mail: true });
  let mailOff: MonitoredReplica;
  before(async () => {
    mailOff = await context.replica({ mail: false });
  });

  const invite = (client: Client, email: string, role = 'member') => client.submit(`${MEMBERS}/invitations`, { email, role }, MEMBERS);
  /** An owner who invites an address where mail is off, and the link that the page shows. */
  async function shownLink(email: string) {
    const owner = await addPerson(context, (await context.organisation()).id);
    const client = createClient(mailOff.url);
    await client.signIn(owner.email, PASSWORD);
    const { text } = await invite(client, email);
    expect(text).to.include('anyone who opens it can join');
    return { ...owner, client, link: /https:\/\/curbcut\.example(\/dashboard\/invitation\/[\w-]{43})/.exec(text)![1]! };
  }
  /** The attack of D1: someone invites an address of another person where mail is off, and sets the password. */
  async function squatted(email: string) {
    const attacker = await shownLink(email);
    const client = createClient(context.url);
    expect((await client.submit(attacker.link, { name: 'Mallory', 'new-password': PASSWORD })).status).to.equal(303);
    return { ...attacker, squatter: client };
  }
  const open = async (client: Client) => (await client.get(ORGANISATIONS)).text;

  // ASVS 6.3 and 6.4: who set a password proves nothing about the address.
  it('of an address that nobody verified give way to the person who gets its mail', async () => {
    const email = address();
    const { squatter, organisation: theirs } = await squatted(email);
    const owner = await signedIn(context);
    expect((await invite(owner.client, email)).status, 'the account of the attacker holds no address').to.equal(303);
    const link = await mailedLink(context, email);
    // The session of the attacker cannot use the link's way of the owner without a new password.
    const guest = createClient(context.url);
    expect((await guest.get(link)).text).to.include('New password');
    expect((await guest.submit(link, { name: 'Ann', 'new-password': OTHER_PASSWORD })).status).to.equal(303);
    expect((await squatter.get('/dashboard/account')).status, 'the session of the attacker').to.equal(303);
    expect(await context.stores.users.verify(email, PASSWORD), 'the password of the attacker').to.equal(null);
    expect(await context.stores.users.find(email)).to.include({ verified: true, name: 'Ann' });

    // The attacker's organisation is not entered before its invitation is confirmed, and does not learn about the owner.
    const page = await open(guest);
    expect(page).to.include(`Stay in ${theirs}?`);
    expect(header((await guest.get('/dashboard')).text)).to.deep.equal([owner.organisation, email]);
    expect((await guest.submit(`${ORGANISATIONS}/switch`, { organisation: theirs }, ORGANISATIONS)).status).to.equal(404);
    const [member] = (await context.stores.members.list(theirs)).filter((one) => one.email === email);
    expect(member).to.include({ confirmed: false });
    expect((await guest.submit(`${ORGANISATIONS}/leave`, { organisation: theirs }, ORGANISATIONS)).headers.get('location')).to.include(
      'done=left',
    );
    expect(await context.stores.members.find(theirs, email)).to.equal(null);
  });

  it('keep what was joined before the address was verified, if the owner confirms it', async () => {
    const email = address();
    const { squatter: client, organisation } = await squatted(email);
    expect((await client.get('/dashboard/account')).text).to.include('Not verified');
    await client.submit('/dashboard/reset-password', { email });
    const guest = createClient(context.url);
    const link = await mailedLink(context, email);
    expect((await guest.submit(link, { 'new-password': OTHER_PASSWORD })).status).to.equal(303);
    expect((await client.get('/dashboard/account')).status).to.equal(303);
    expect((await guest.get('/dashboard')).headers.get('location')).to.equal(ORGANISATIONS);
    const confirmed = await guest.submit(`${ORGANISATIONS}/confirm`, { organisation }, ORGANISATIONS);
    expect(confirmed.headers.get('location')).to.equal(`${ORGANISATIONS}?done=confirmed`);
    expect((await guest.submit(`${ORGANISATIONS}/switch`, { organisation }, ORGANISATIONS)).status).to.equal(303);
    expect(header((await guest.get('/dashboard')).text)[0]).to.equal(organisation);
    const [confirmation] = await context.stores.organisations.auditPage(organisation, { kind: 'changes', limit: 1 });
    expect(confirmation).to.include({ actor: email, action: 'user.confirm' });
  });

  it('join by an opened invitation while they are signed in, and only with the invited address', async () => {
    const [owner, person, other] = [await signedIn(context), await signedIn(context), await signedIn(context)];
    await context.db.collection<{ _id: string }>('users').updateOne({ _id: person.email }, { $set: { verifiedAt: new Date() } });
    await invite(owner.client, person.email, 'viewer');
    const link = await mailedLink(context, person.email);
    const wrong = await other.client.get(link);
    expect(wrong.text).to.include('You are signed in with another address').and.include(other.email);
    expect((await other.client.submit(link, {})).status).to.equal(409);
    // ASVS 3.5: a form of another site has no token.
    expect((await person.client.post(link, {})).status).to.equal(403);
    expect(await context.stores.members.find(owner.organisation, person.email)).to.equal(null);
    const before = person.client.cookies.get('__Host-curbcut_session');
    expect((await person.client.submit(link, {})).headers.get('location')).to.equal('/dashboard');
    expect(person.client.cookies.get('__Host-curbcut_session'), 'a new session').to.not.equal(before);
    expect(header((await person.client.get('/dashboard')).text)[0]).to.equal(owner.organisation);
    expect((await context.stores.members.find(owner.organisation, person.email))?.role).to.equal('viewer');
    expect((await person.client.get(link)).status).to.equal(404);
  });

  it('switch between their organisations', async () => {
    const person = await signedIn(context);
    const { id: second } = await context.organisation();
    await context.stores.members.add(second, person.email, 'viewer');
    const form = tokenIn((await person.client.get(MEMBERS)).text);
    const switchTo = (organisation: string) => person.client.submit(`${ORGANISATIONS}/switch`, { organisation }, ORGANISATIONS);
    expect((await switchTo((await context.organisation()).id)).status, 'of others').to.equal(404);
    expect((await switchTo(second)).headers.get('location')).to.equal('/dashboard');
    expect(header((await person.client.get('/dashboard')).text)).to.deep.equal([second, person.email]);
    // A form of the first organisation that is still open in another tab does nothing in the second one.
    expect((await person.client.post(`${MEMBERS}/invitations`, { _csrf: form, email: address(), role: 'owner' })).status).to.equal(403);
    expect((await person.client.get(MEMBERS)).status, 'with the role of this organisation').to.equal(403);
  });

  it('leave an organisation, but not as the only owner', async () => {
    const owner = await signedIn(context);
    const leave = (who: typeof owner) => who.client.submit(`${ORGANISATIONS}/leave`, { organisation: owner.organisation }, ORGANISATIONS);
    const refused = await leave(owner);
    expect([refused.status, refused.text.includes('You are the only owner.')]).to.deep.equal([409, true]);
    const member = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    expect((await leave(member)).headers.get('location')).to.equal(`${ORGANISATIONS}?done=left`);
    expect(await open(member.client)).to.include('You belong to no organisation');
  });

  it('are deleted with the password, and what belongs to the organisation stays', async () => {
    const owner = await signedIn(context);
    const { email, client } = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    const path = '/dashboard/account/delete';
    const refused = await owner.client.submit(path, { email: owner.email, password: PASSWORD });
    expect([refused.status, refused.text.includes(`You are the only owner of ${owner.organisation}.`)]).to.deep.equal([409, true]);
    expect((await client.submit(path, { email, password: PASSWORD })).headers.get('location')).to.equal('/dashboard/sign-in?deleted');
    expect(await context.stores.users.find(email)).to.equal(null);
    expect((await context.stores.members.list(owner.organisation)).map((one) => one.email)).to.deep.equal([owner.email]);
  });

  // ASVS 7.4: what a member could do ends with the membership.
  it('that were removed have no session, no stream and no way back, and their keys are offered', async () => {
    const owner = await signedIn(context);
    const leaver = await signedIn(context, { organisation: owner.organisation });
    const accomplice = address();
    await invite(leaver.client, accomplice, 'owner');
    const link = await mailedLink(context, accomplice);
    const { key } = await issueKey(context.stores.keys, owner.organisation, {
      name: 'of the leaver',
      creator: { createdBy: leaver.email, rootCreator: leaver.email },
    });

    const removed = await owner.client.submit(`${MEMBERS}/remove`, { email: leaver.email }, MEMBERS);
    const offer = `${MEMBERS}/left-behind?of=${encodeURIComponent(leaver.email)}&done=removed`;
    expect(removed.headers.get('location')).to.equal(offer);
    expect((await leaver.client.get('/dashboard')).status).to.equal(303);
    for (const way of [link, '/dashboard/invitation/x']) expect((await createClient(context.url).get(way)).status).to.equal(404);

    expect((await owner.client.get(offer)).text)
      .to.include('of the leaver')
      .and.include('The member is removed and signed out.');
    expect([...(await context.stores.keys.usable([key.id]))], 'not before the owner decides').to.deep.equal([key.id]);
    expect((await owner.client.submit(offer, { do: 'revokeAll' }, MEMBERS)).status).to.equal(303);
    expect((await context.stores.keys.usable([key.id])).size).to.equal(0);
    // Added again, the earlier sessions stay ended.
    await context.stores.members.add(owner.organisation, leaver.email, 'member');
    expect((await leaver.client.get('/dashboard')).status).to.equal(303);
  });

  it('that stop being owners lose what they invited, also if it is accepted at the same moment', async () => {
    const owner = await signedIn(context);
    const second = await signedIn(context, { organisation: owner.organisation });
    const email = address();
    await invite(second.client, email, 'owner');
    const link = await mailedLink(context, email);
    const stored = await context.db.collection('invitations').findOne({ email });
    await owner.client.submit(`${MEMBERS}/role`, { email: second.email, role: 'member' }, MEMBERS);
    expect((await createClient(context.url).get(link)).status).to.equal(404);
    // As if it had been created by a request that began before.
    await context.db.collection('invitations').insertOne(stored!);
    expect((await createClient(context.url).submit(link, { 'new-password': OTHER_PASSWORD })).status).to.equal(404);
    expect(await context.stores.members.find(owner.organisation, email)).to.equal(null);
  });
});
