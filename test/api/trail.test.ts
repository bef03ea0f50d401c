/** The trail of sign-ins and of uses of keys: what owners see, and what the person is mailed. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createAuthenticator } from '../support/authenticator.ts';
import { issueKey } from '../support/issue-key.ts';
import { createClient, type Client } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, PASSWORD, signedIn, type Person } from './people.ts';
import { addPasskey } from './second-factor.ts';

const PATH = '/dashboard/settings/audit-log';
const FIREFOX = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' };

describe('the trail', () => {
  const context = useContext({ trustedProxies: ['127.0.0.1', '::1'], mail: true });

  /** Sends a form of sign-in from a network. */
  async function signIn(email: string, password: string, address: string): Promise<{ status: number; client: Client }> {
    const client = createClient(context.url);
    const page = await client.get('/dashboard/sign-in');
    const [, token = ''] = /name="_csrf" value="([^"]+)"/.exec(page.text) ?? [];
    const headers = { 'X-Forwarded-For': address, ...FIREFOX };
    const { status } = await client.post('/dashboard/sign-in', { _csrf: token, email, password }, headers);
    return { status, client };
  }
  const entriesOf = async (organisation: string, action: string) => {
    await Promise.all([context.stores.keys.flush(), context.stores.signInFailures.flush()]);
    return (await context.stores.organisations.audit(organisation, 100)).filter((entry) => entry.action === action);
  };
  const mailsTo = (email: string) =>
    context.db.collection('outbox').find({ kind: 'account_notice', to: email }).sort({ createdAt: 1 }).toArray() as unknown as Promise<
      { data: { event: string; client: { network: string; browser: string } } }[]
    >;
  const person = async (): Promise<Person> => addPerson(context, (await context.organisation()).id);

  // ASVS 16.3.1: successful and unsuccessful authentication is logged.
  it('has each sign-in with its way, browser and network, once', async () => {
    const { email, organisation } = await person();
    expect((await signIn(email, PASSWORD, '203.0.113.77')).status).to.equal(303);
    const [entry, ...others] = await entriesOf(organisation, 'user.sign-in');
    expect(others).to.deep.equal([]);
    expect(entry).to.deep.include({ actor: email, subject: 'password, Firefox on Linux', networks: ['203.0.113.0/24'] });
  });

  it('has failed sign-ins of an account together, and nothing of addresses without an account', async () => {
    const { email, organisation } = await person();
    const before = await context.db.collection('audit').countDocuments();
    for (const address of ['203.0.113.1', '203.0.113.2', '2001:db8::1']) {
      expect((await signIn(email, 'wrong', address)).status).to.equal(422);
      expect((await signIn(`${randomUUID()}@nobody.example`, 'wrong', address)).status).to.equal(422);
    }
    const [entry, ...others] = await entriesOf(organisation, 'user.sign-in-failed');
    expect(others).to.deep.equal([]);
    expect(entry).to.deep.include({ actor: email, count: 3 });
    expect(entry!.networks).to.have.members(['203.0.113.0/24', '2001:db8:0:0::/64']);
    expect(await context.db.collection('audit').countDocuments()).to.equal(before + 1);
  });

  it('is shown and saved as CSV by person and day, with the names of keys', async () => {
    const { id: organisation } = await context.organisation();
    const { key } = await issueKey(context.stores.keys, organisation, { name: 'Nightly build' });
    await context.stores.organisations.record({ organisation, actor: 'ann@example.com', action: 'key.issue', subject: key.id });
    await context.stores.organisations.record({ organisation, actor: 'bo@example.com', action: 'member.add', subject: '=1+1' });
    const { client } = await signedIn(context, { organisation });
    const csv = async (query: string) => (await client.get(`${PATH}/audit-log.csv?${query}`)).text;
    expect(await csv(`person=Bo@example.com&to=2020-01-01`)).to.not.include('bo@');
    expect(await csv(`person=Bo@example.com&from=2020-01-01`))
      .to.include(`bo@example.com,member.add,"'=1+1"`)
      .and.not.include('key.issue');
    expect((await client.get(`${PATH}?action=key.issue&from=2020-01-01`)).text)
      .to.include('Nightly build')
      .and.not.include(key.id);
  });

  // ASVS 6.3.5: people are told of sign-ins from a place that they did not use before.
  it('mails the owner of an account at the first sign-in from each new network, and not at the first of all', async () => {
    const { email, organisation } = await person();
    await signIn(email, PASSWORD, '203.0.113.1');
    expect(await mailsTo(email)).to.deep.equal([]);
    for (const address of ['203.0.113.200', '198.51.100.7', '198.51.100.8', '203.0.113.1']) await signIn(email, PASSWORD, address);
    const [mail, ...others] = await mailsTo(email);
    expect(others).to.deep.equal([]);
    expect(mail!.data).to.deep.include({ event: 'sign_in', client: { network: '198.51.100.0/24', browser: 'Firefox on Linux' } });
    expect(await entriesOf(organisation, 'user.new-network')).to.have.lengthOf(2);
    expect(await entriesOf(organisation, 'user.sign-in')).to.have.lengthOf(5);
  });

  // ASVS 6.3.7: people are told of changes of what they sign in with.
  // ASVS 6.3.7
  it('mails the owner of an account without an organisation, and logs the change instead of an entry', async () => {
    const who = await signedIn(context, { role: 'member' });
    await context.stores.members.remove(who.organisation, who.email);
    await who.client.signIn(who.email, PASSWORD);
    expect((await addPasskey(who.client, createAuthenticator())).status).to.equal(201);
    expect((await mailsTo(who.email)).map(({ data }) => data.event)).to.deep.equal(['factors']);
    expect(await entriesOf(who.organisation, 'user.factor-add')).to.deep.equal([]);
    const [line] = context.log.filter(({ message }) => message === 'account without an organisation');
    expect(line?.fields).to.deep.include({ actor: who.email, action: 'user.factor-add', subject: 'passkey: Laptop' });
  });

  it('lets people in if the audit log or the outbox is unavailable, and logs what was lost', async () => {
    const { email } = await person();
    await signIn(email, PASSWORD, '203.0.113.1');
    const down = () => Promise.reject(new Error('unavailable'));
    context.faults.set('outbox.enqueue', down);
    expect((await signIn(email, PASSWORD, '198.51.100.1')).status).to.equal(303);
    context.faults.set('organisations.record', down);
    expect((await signIn(email, PASSWORD, '198.51.100.1')).status).to.equal(303);
    for (const message of ['account notice not mailed', 'audit entry lost'])
      expect(
        context.log.some((line) => line.message === message),
        message,
      ).to.equal(true);
  });

  it('is shown to owners, and filtered by kind and action', async () => {
    const owner = await signedIn(context);
    const { organisation, client } = owner;
    await signIn(owner.email, 'wrong', '203.0.113.1');
    await signIn(owner.email, 'wrong', '203.0.113.1');
    await entriesOf(organisation, '');
    await issueKey(context.stores.keys, organisation);
    await context.stores.organisations.record({
      organisation,
      actor: owner.email,
      action: 'user.role',
      subject: 'ben@people.example: viewer',
    });
    const texts = async (query: string) => (await client.get(`${PATH}${query}`)).text.replace(/\s+/g, ' ').replace(/<td [^>]*>/g, '<td>');
    const all = await texts('');
    for (const text of ['Signed in', 'Sign-in failed', 'Role changed', '203.0.113.0/24', '2 times, the last one'])
      expect(all).to.include(`>${text}`);
    const changes = await texts('?kind=changes');
    expect(changes).to.include('<td>Role changed').and.not.include('<td>Signed in').and.not.include('203.0.113.0/24');
    const member = await signedIn(context, { organisation, role: 'member' });
    expect((await member.client.get(PATH)).status).to.equal(403);
  });
});
