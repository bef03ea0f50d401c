/** Members, invitations, passwords and the audit log in the dashboard. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createClient, tokenIn } from './client.ts';
import { tellLeftBehind } from '../../api/accounts/owner-notices.ts';
import { useContext } from './context.ts';
import { issueKey } from '../support/issue-key.ts';
import { ageSessions } from './second-factor.ts';
import { addPerson, mailedLink, PASSWORD, signedIn } from './people.ts';

const MEMBERS = '/dashboard/settings/members';
const KEYS = '/dashboard/settings/api-keys';
const CONFIRM = '/dashboard/account/confirm';
const OTHER_PASSWORD = 'nine tin kettles hum';
const SESSION = '__Host-curbcut_session';
const address = () => `new-${randomUUID().slice(0, 8)}@people.example`;

describe('members of an organisation', () => {
  const context = useContext({ mail: true });

  const noticesTo = async (to: string) =>
    (await context.db.collection('outbox').find({ kind: 'owner_notice', to }).toArray()).map(({ data }) => `${data.event} ${data.person}`);
  const actions = async (organisation: string) =>
    (await context.stores.organisations.auditPage(organisation, { kind: 'changes', limit: 20 }))
      .map(({ actor, action, subject }) => `${actor} ${action} ${subject}`)
      .reverse();

  it('are invited with a link that works once, and join with the role of the invitation', async () => {
    const owner = await signedIn(context);
    const email = address();
    const invited = await owner.client.submit(`${MEMBERS}/invitations`, { email, role: 'viewer' }, MEMBERS);
    expect([invited.status, invited.headers.get('location')]).to.deep.equal([303, `${MEMBERS}?done=invited`]);
    const link = await mailedLink(context, email);
    const mails = await context.db.collection('outbox').find({}).toArray();
    const mail = mails.find(({ to }) => to === email)!;
    expect(mail).to.deep.include({ kind: 'invitation', locale: 'en' });
    expect(mail.data.url).to.equal(`https://curbcut.example${link}`);
    // ASVS 6.3: the link proves the address, so the inviter does not see it.
    expect((await owner.client.get(`${MEMBERS}?done=invited`)).text)
      .to.include('The service sends the invitation by mail.')
      .to.include(email)
      .and.not.include(link);

    const guest = createClient(context.url);
    const page = await guest.get(link);
    expect(page.text).to.include(email).and.include('Viewer');
    const joined = await guest.submit(link, { name: 'New Person', 'new-password': OTHER_PASSWORD });
    expect([joined.status, joined.headers.get('location')]).to.deep.equal([303, '/dashboard']);
    expect((await guest.get('/dashboard/account')).text).to.include('New Person');
    expect(await context.stores.users.verify(email, OTHER_PASSWORD)).to.include({
      verified: true,
      name: 'New Person',
      createdBy: owner.email,
    });
    expect((await context.stores.members.find(owner.organisation, email))?.role).to.equal('viewer');
    expect(await actions(owner.organisation)).to.deep.equal([
      `${owner.email} user.invite ${email}: viewer`,
      `${email} user.join ${email}: viewer`,
    ]);
  });

  it('cannot join with an invitation that was canceled', async () => {
    const owner = await signedIn(context);
    const email = address();
    await owner.client.submit(`${MEMBERS}/invitations`, { email, role: 'member' }, MEMBERS);
    const link = await mailedLink(context, email);
    const id = /name="id" value="([^"]+)"/.exec((await owner.client.get(MEMBERS)).text)![1]!;
    expect((await owner.client.submit(`${MEMBERS}/invitations/cancel`, { id }, MEMBERS)).status).to.equal(303);
    expect((await createClient(context.url).get(link)).status).to.equal(404);
    expect((await createClient(context.url).post(link, { 'new-password': OTHER_PASSWORD })).status).to.equal(404);
  });

  it('cannot be invited with an invalid address, twice, or beyond the limit', async () => {
    const owner = await signedIn(context);
    const invite = (email: string, role = 'member') => owner.client.submit(`${MEMBERS}/invitations`, { email, role }, MEMBERS);
    const invalid = await invite('not an address');
    expect(invalid.status).to.equal(422);
    expect(invalid.text).to.include('Enter an e-mail address').and.include('value="not an address"');
    expect((await invite(owner.email.toUpperCase())).text).to.include('belongs to a member already');
    expect((await invite(address(), 'emperor')).text).to.include('Choose a role.');
  });

  it('change roles at once, and the last owner can be neither demoted nor removed', async () => {
    const owner = await signedIn(context);
    const member = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    expect((await member.client.get(MEMBERS)).status).to.equal(403);
    const change = (email: string, role: string) => owner.client.submit(`${MEMBERS}/role`, { email, role }, MEMBERS);
    expect((await change(member.email, 'owner')).status).to.equal(303);
    expect((await member.client.get(MEMBERS)).status).to.equal(200);
    expect((await change(member.email, 'viewer')).status).to.equal(303);
    expect((await member.client.get(MEMBERS)).status).to.equal(403);
    const refused = await change(owner.email, 'member');
    expect(refused.status).to.equal(409);
    expect(refused.text).to.include('An organisation needs an owner');
    expect((await owner.client.submit(`${MEMBERS}/remove`, { email: owner.email }, MEMBERS)).status).to.equal(409);
    expect((await context.stores.members.find(owner.organisation, owner.email))?.role).to.equal('owner');
  });

  it('leave keys with at most their last role, which the list, the audit log and the mail to the owners say', async () => {
    const owner = await signedIn(context);
    const { organisation } = owner;
    const gone = await signedIn(context, { organisation, role: 'member' });
    const own = await issueKey(context.stores.keys, organisation, { creator: { createdBy: gone.email, rootCreator: gone.email } });
    const child = await issueKey(context.stores.keys, organisation, {
      creator: { createdBy: `key:${own.key.id}`, rootCreator: gone.email },
    });
    const admins = await issueKey(context.stores.keys, organisation);
    const limits = async () => {
      const { body } = await context.request('GET', '/v1/api-keys', { key: admins.secret });
      const listed = (body as { data: { id: string; limited_by: unknown }[] }).data;
      return [admins, own, child].map(({ key }) => listed.find(({ id }) => id === key.id)?.limited_by);
    };
    const limit = (role: string, left: boolean) => ({ email: gone.email, role, left });
    // The same role limits nothing, and a higher one does not either.
    for (const role of ['member', 'owner', 'member', 'viewer', 'viewer'])
      await owner.client.submit(`${MEMBERS}/role`, { email: gone.email, role }, MEMBERS);
    expect(await limits()).to.deep.equal([null, limit('viewer', false), limit('viewer', false)]);
    await owner.client.submit(`${MEMBERS}/remove`, { email: gone.email }, MEMBERS);
    expect(await limits()).to.deep.equal([null, limit('viewer', true), limit('viewer', true)]);
    expect((await owner.client.get(KEYS)).text).to.include(`(who has left: at most what a viewer may do)`);
    expect((await actions(organisation)).filter((entry) => entry.includes('key.limit'))).to.deep.equal(
      ['member', 'viewer', 'viewer'].map((role) => `${owner.email} key.limit ${gone.email}: 2 keys, at most ${role}`),
    );
    expect((await noticesTo(owner.email)).toSorted()).to.deep.equal([
      ...Array<string>(3).fill(`left_behind ${gone.email}`),
      `owner_added ${owner.email}`,
    ]);
    const limited = await context.db.collection('outbox').find({ to: owner.email, 'data.event': 'left_behind' }).toArray();
    expect(limited.map(({ data, priority }) => `${data.subject} ${priority}`)).to.deep.equal(Array(3).fill('2, 0, 0 organisation'));
  });

  it('change although their keys cannot be read', async () => {
    const lost: unknown[] = [];
    const createdBy = () => Promise.reject(new Error('outage'));
    const stores = { ...context.stores, keys: { ...context.stores.keys, createdBy } };
    const to = { stores, mail: true, lost: (error: unknown) => void lost.push(error) };
    expect((await tellLeftBehind(to, 'acme', 'ada@people.example', 'x')).keys).to.deep.equal([]);
    expect(lost.map(String)).to.deep.equal(['Error: outage']);
  });

  it('become owners, or cease to be, only after a proof of the last minutes, and every owner gets a mail (ASVS 7.5.1)', async () => {
    const owner = await signedIn(context);
    const other = await addPerson(context, owner.organisation);
    const member = await addPerson(context, owner.organisation, 'member');
    const email = address();
    await ageSessions(context, owner.email);
    const invite = (role: string) => owner.client.submit(`${MEMBERS}/invitations`, { email, role }, MEMBERS);
    const promote = () => owner.client.submit(`${MEMBERS}/role`, { email: member.email, role: 'owner' }, MEMBERS);
    const toOther = { email: other.email.toUpperCase(), role: 'viewer' };
    const [demote, remove] = ['role', 'remove'].map((what) => () => owner.client.submit(`${MEMBERS}/${what}`, toOther, MEMBERS));
    for (const asked of [await invite('owner'), await promote(), await demote!(), await remove!()])
      expect(asked.headers.get('location')).to.equal(`${CONFIRM}?next=${encodeURIComponent(MEMBERS)}`);
    expect(await actions(owner.organisation)).to.deep.equal([]);
    expect((await invite('member')).headers.get('location')).to.equal(`${MEMBERS}?done=invited`);
    await owner.client.submit(CONFIRM, { next: MEMBERS, password: PASSWORD }, `${CONFIRM}?next=${MEMBERS}`);
    expect((await promote()).headers.get('location')).to.equal(`${MEMBERS}?done=role`);
    for (const to of [owner, other, member]) expect(await noticesTo(to.email)).to.deep.equal([`owner_added ${owner.email}`]);
  });

  it('create keys only after a proof of the last minutes, in the dashboard and with a session, and every owner gets a mail', async () => {
    const owner = await signedIn(context);
    const member = await signedIn(context, { organisation: owner.organisation, role: 'member' });
    const csrf = tokenIn((await member.client.get(`${KEYS}/new`)).text);
    const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf };
    const create = () =>
      member.client.request('POST', '/v1/api-keys', { headers, body: JSON.stringify({ name: 'mine', scopes: ['scans:read'] }) });
    await ageSessions(context, member.email);
    const refused = await create();
    expect([refused.status, JSON.parse(refused.text).detail]).to.deep.equal([403, 'proof_required']);
    const asked = await member.client.get(`${KEYS}/new`);
    expect(asked.headers.get('location')).to.equal(`${CONFIRM}?next=${encodeURIComponent(`${KEYS}/new`)}`);
    expect((await member.client.post(`${KEYS}/new`, { _csrf: csrf, name: 'x' })).status).to.equal(303);
    expect(await context.stores.keys.createdBy(owner.organisation, member.email)).to.deep.equal([]);
    await ageSessions(context, member.email, 0);
    for (let twice = 0; twice < 2; twice += 1) expect((await create()).status).to.equal(201);
    expect(await noticesTo(owner.email)).to.deep.equal([`key_created ${member.email}`]);
    expect(await noticesTo(member.email), 'no owner').to.deep.equal([]);
  });
});

describe('an account', () => {
  const context = useContext({ mail: true });

  it('changes its password, which ends the other sessions and gives a new session ID', async () => {
    const { email, client, organisation } = await signedIn(context);
    const other = createClient(context.url);
    await other.signIn(email, PASSWORD);
    const change = (password: string, next: string) =>
      client.submit('/dashboard/account/password', { password, 'new-password': next }, '/dashboard/account');
    expect((await change('wrong', OTHER_PASSWORD)).text).to.include('This is not your current password.');
    expect((await change(PASSWORD, email)).text).to.include('easy to guess');
    const before = client.cookies.get(SESSION);
    expect((await change(PASSWORD, OTHER_PASSWORD)).headers.get('location')).to.equal('/dashboard/account?done=password');
    expect(client.cookies.get(SESSION)).to.be.a('string').and.not.equal(before);
    expect((await client.get('/dashboard/account')).status).to.equal(200);
    expect((await other.get('/dashboard/account')).status).to.equal(303);
    expect(await context.stores.users.verify(email, PASSWORD)).to.equal(null);
    const actions = (await context.stores.organisations.audit(organisation, 9)).map(({ action }) => action);
    expect(actions.filter((action) => !/^user\.(sign-in|new-network)/.test(action))).to.deep.equal(['user.password']);
  });

  it('ends with a sign-out of its own, while keys and other sessions stay', async () => {
    const one = await signedIn(context);
    const other = createClient(context.url);
    await other.signIn(one.email, PASSWORD);
    const { key } = await issueKey(context.stores.keys, one.organisation, { creator: { createdBy: one.email, rootCreator: one.email } });
    await one.client.submit('/dashboard/sign-out', {}, '/dashboard/account');
    expect([(await one.client.get('/dashboard')).status, (await other.get('/dashboard')).status]).to.deep.equal([303, 200]);
    expect((await context.stores.keys.usable([key.id])).has(key.id)).to.equal(true);
  });

  it('signs out everywhere', async () => {
    const { email, client } = await signedIn(context);
    const other = createClient(context.url);
    await other.signIn(email, PASSWORD);
    expect((await client.submit('/dashboard/account/sign-out-everywhere', {}, '/dashboard/account')).status).to.equal(303);
    expect((await other.get('/dashboard/account')).status).to.equal(303);
  });

  // ASVS 6.3.8: the answer does not reveal whether an account exists.
  it('gets a link for a forgotten password, which works once; the answer is the same without an account and after a bounce', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    const device = createClient(context.url);
    await device.signIn(email, PASSWORD);
    const bounced = await addPerson(context, id);
    await context.stores.suppressions.bounced(bounced.email, 'certain');
    const answers = [];
    for (const asked of [email, address(), bounced.email]) {
      const { status, text } = await client.submit('/dashboard/reset-password', { email: asked });
      answers.push([status, text.replaceAll(asked, 'E')]);
    }
    expect(answers[0]![0]).to.equal(200);
    for (const answer of answers) expect(answer).to.deep.equal(answers[0]);
    const mails = await context.db.collection('outbox').find({ kind: 'password_reset' }).toArray();
    expect(mails.map(({ to }) => to as string)).to.deep.equal([email, bounced.email]);
    const link = new URL(mails[0]!.data.url as string).pathname;
    expect((await client.get(link)).text).to.include(email);
    expect((await client.submit(link, { 'new-password': 'short' })).status).to.equal(422);
    expect((await client.submit(link, { 'new-password': OTHER_PASSWORD })).headers.get('location')).to.equal('/dashboard');
    expect((await client.get('/dashboard/account')).status).to.equal(200);
    expect((await device.get('/dashboard/account')).status).to.equal(303);
    expect((await client.get(link)).status).to.equal(404);
    expect((await client.get('/dashboard/reset-password/x')).status).to.equal(404);
  });
});
