/** The audit log: what is stored once, what is counted together, and how long it is kept. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createKeys } from '../../stores/accounts/keys.ts';
import { NETWORKS_PER_KEY } from '../../stores/accounts/key-uses.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createSignInFailures } from '../../stores/accounts/sign-in-failures.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { issueKey } from '../support/issue-key.ts';
import { useDatabase } from './database.ts';

const DAY_MS = 86_400_000;
const NETWORK = '203.0.113.0/24';

describe('the audit log', () => {
  const database = useDatabase();
  let organisation = '';
  let now = new Date('2054-11-01T12:00:00Z');
  const clock = { now: () => now };
  const log = () => createOrganisations(database.db, clock);
  const stored = () => database.db.collection('audit').find({ organisation }).toArray();

  beforeEach(() => {
    now = new Date('2054-11-01T12:00:00Z');
    organisation = `org-${randomUUID().slice(0, 8)}`;
  });

  // ASVS 16.3.1 and 16.2.5: authentication is logged, and no more of a person than the log needs.
  it('keeps changes without a network, and entries about security with one for 90 days', async () => {
    await log().record({ organisation, actor: 'ann@example.com', action: 'user.role', subject: 'ben@example.com', network: NETWORK });
    await log().record({ organisation, actor: 'ann@example.com', action: 'user.sign-in', subject: null, network: NETWORK });
    const [change, signIn] = await stored();
    expect(change).to.not.have.any.keys('networks', 'expiresAt', 'kind');
    expect(signIn).to.deep.include({ kind: 'security', networks: [NETWORK], expiresAt: new Date(now.getTime() + 90 * DAY_MS) });
    const indexes = await database.db.collection('audit').indexes();
    expect(indexes.find(({ key }) => 'expiresAt' in key)).to.include({ expireAfterSeconds: 0 });
    for (const [kind, action] of [
      ['changes', 'user.role'],
      ['security', 'user.sign-in'],
    ] as const)
      expect((await log().auditPage(organisation, { kind, limit: 9 })).map((entry) => entry.action)).to.deep.equal([action]);
  });

  it('stores what happened once, whatever the number of requests, and keeps a repeated one about security longer', async () => {
    const entry = { organisation, actor: 'ann@example.com', subject: null, once: 'x' };
    const results = await Promise.all(Array.from({ length: 5 }, () => log().record({ ...entry, action: 'key.issue' })));
    expect(results.filter((isNew) => isNew)).to.have.lengthOf(1);
    expect(await log().record({ ...entry, action: 'key.revoke' }), 'another action').to.equal(true);
    expect(await log().record({ ...entry, action: 'key.issue', organisation: `${organisation}-2` }), 'another organisation').to.equal(true);
    expect(await stored()).to.have.lengthOf(2);

    await log().record({ ...entry, action: 'user.new-network', network: NETWORK });
    now = new Date(now.getTime() + 30 * DAY_MS);
    expect(await log().record({ ...entry, action: 'user.new-network', network: NETWORK })).to.equal(false);
    const kept = (await stored()).find(({ action }) => action === 'user.new-network');
    expect(kept?.['expiresAt']).to.deep.equal(new Date(now.getTime() + 90 * DAY_MS));
  });

  it('pages through entries of one moment, with those that are stored once', async () => {
    for (let index = 0; index < 9; index += 1)
      await log().record({
        organisation,
        actor: 'a',
        action: 'key.issue',
        subject: String(index),
        once: index % 2 ? String(index) : undefined,
      });
    const paged: (string | null)[] = [];
    let after: { at: Date; id: string } | null = null;
    for (;;) {
      const [entry]: Awaited<ReturnType<ReturnType<typeof log>['auditPage']>> = await log().auditPage(organisation, { limit: 1, after });
      if (entry === undefined) break;
      paged.push(entry.subject);
      after = entry;
    }
    expect(paged.toSorted()).to.deep.equal(Array.from({ length: 9 }, (_, index) => String(index)));
  });

  describe('of failed sign-ins', () => {
    const failures = () => createSignInFailures(database.db, clock);
    const person = async () => {
      const email = `${randomUUID().slice(0, 8)}@people.example`;
      await createUsers(database.db).add({ email, organisation, password: null });
      return email;
    };

    // ASVS 16.3.1: failed attempts are logged; ASVS 6.3: without a way to learn which accounts exist.
    it('has one entry an hour for an account, with the number of attempts, however many there are', async () => {
      const email = await person();
      const replicas = [failures(), failures()];
      for (let index = 0; index < 500; index += 1)
        replicas[index % 2]!.add({ email: index % 3 === 0 ? ` ${email.toUpperCase()}` : email, network: `203.0.${index % 50}.0/24` });
      expect(await stored(), 'not during the requests').to.have.lengthOf(0);
      await Promise.all(replicas.map((replica) => replica.flush()));
      now = new Date(now.getTime() + 60_000);
      replicas[0]!.add({ email, network: '198.51.100.0/24' });
      await replicas[0]!.flush();
      const [entry, ...others] = await log().audit(organisation, 9);
      expect(others).to.deep.equal([]);
      expect(entry).to.deep.include({ actor: email, action: 'user.sign-in-failed', count: 501, until: now });
      expect(entry!.networks.length).to.be.within(10, 11);
      now = new Date(now.getTime() + 3_600_000);
      replicas[0]!.add({ email, network: NETWORK });
      await replicas[0]!.flush();
      expect(await stored()).to.have.lengthOf(2);
    });

    it('has nothing of addresses without an account, or of texts that are no address', async () => {
      const before = await database.db.collection('audit').countDocuments();
      const replica = failures();
      for (let index = 0; index < 5_000; index += 1) replica.add({ email: `${index}@nobody.example`, network: NETWORK });
      replica.add({ email: 'x'.repeat(60_000), network: NETWORK });
      await replica.flush();
      expect(await database.db.collection('audit').countDocuments()).to.equal(before);
    });
  });

  describe('of keys', () => {
    const keys = () => createKeys(database.db, clock);
    const networksOf = async (id: string) =>
      (await database.db.collection<{ _id: string; networks?: string[] }>('keys').findOne({ _id: id }))!.networks;

    it('has one entry a day for the networks from which a key is used first', async () => {
      const { key } = await issueKey(keys(), organisation);
      const replicas = [keys(), keys()];
      const use = async (network: string, replica = replicas[0]!) => {
        replica.touch({ id: key.id, organisation, network });
        await replica.flush();
      };
      await use(NETWORK);
      await use(NETWORK, replicas[1]);
      await use('198.51.100.0/24', replicas[1]);
      await use('198.51.100.0/24');
      const entries = await log().audit(organisation, 9);
      expect(entries.map(({ actor, action, subject }) => [actor, action, subject])).to.deep.equal([
        [`key:${key.id}`, 'key.new-network', key.id],
      ]);
      expect(entries[0]!.networks).to.have.members([NETWORK, '198.51.100.0/24']);
      now = new Date(now.getTime() + DAY_MS);
      await use(NETWORK, keys());
      expect(await stored(), 'known').to.have.lengthOf(1);
      await use('192.0.2.0/24');
      expect(await stored()).to.have.lengthOf(2);
    });

    it('remembers a bounded number of networks per key', async () => {
      const { key } = await issueKey(keys(), organisation);
      const replica = keys();
      for (let index = 0; index < NETWORKS_PER_KEY + 20; index += 1)
        replica.touch({ id: key.id, organisation, network: `10.0.${index}.0/24` });
      await replica.flush();
      expect(await networksOf(key.id)).to.have.lengthOf(NETWORKS_PER_KEY);
      const [entry, ...others] = await log().audit(organisation, 9);
      expect(others).to.deep.equal([]);
      expect(entry!.networks).to.have.lengthOf(10);
    });

    it('records a new network again if it could not be written', async () => {
      const { key } = await issueKey(keys(), organisation);
      const mongo = database.another();
      const replica = createKeys(mongo, clock);
      const { client } = mongo as never as { client: { close(): Promise<void> } };
      await client.close();
      replica.touch({ id: key.id, organisation, network: NETWORK });
      await replica.flush();
      expect(await stored()).to.have.lengthOf(0);
      const other = keys();
      other.touch({ id: key.id, organisation, network: NETWORK });
      await other.flush();
      expect(await stored()).to.have.lengthOf(1);
    });
  });
});
