/** Members, invitations, passwords and the audit log in the dashboard. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createClient } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, mailedLink, PASSWORD, signedIn } from './people.ts';

const MEMBERS = '/dashboard/settings/members';
const OTHER_PASSWORD = 'nine tin kettles hum';
const SESSION = '__Host-curbcut_session';
const address = () => `new-${randomUUID().slice(0, 8)}@people.example`;

describe('members of an organisation', () => {
  const context = useContext({ mail: true });

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
