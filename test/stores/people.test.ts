import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';
import { createKeys, type KeyPage } from '../../stores/accounts/keys.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createQueueStates } from '../../stores/submissions/queue-state.ts';
import { createMembers } from '../../stores/accounts/members.ts';
import { createUsers } from '../../stores/accounts/users.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { issueKey, TEST_CREATOR } from '../support/issue-key.ts';
import { monitored, recordCommands } from '../support/mongo-commands.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useDatabase } from './database.ts';

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (reason: unknown) => reason); // prettier-ignore
const named = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;

describe('organisations, keys and users', () => {
  // A burst waits for a free connection as long as a loaded machine needs.
  const database = useDatabase({ waitQueueTimeoutMS: '0' });

  describe('keys', () => {
    let now = new Date('2054-11-01T12:00:00Z');
    const keys = () => createKeys(database.db, { now: () => now });
    before(() => createOrganisations(database.db).add({ id: 'acme', displayName: 'Acme', plan: 'team', namespaces: [] }));

    it('recognises an issued key together with its organisation, and does not store the secret', async () => {
      const { key, secret } = await issueKey(keys(), 'acme', { name: 'ci' });
      const organisations = createOrganisations(database.db);
      expect(key).to.deep.include({ organisation: 'acme', name: 'ci', last4: secret.slice(-4), createdAt: now, lastUsedAt: null });
      expect(await keys().recognise(secret)).to.deep.equal({ key, organisation: await organisations.find('acme') });
      await organisations.setBlocked('acme', true);
      expect((await keys().recognise(secret))?.organisation.blocked).to.equal(true);
      await organisations.setBlocked('acme', false);
      const kept = JSON.stringify(await database.db.collection('keys').find().toArray());
      expect(kept).to.not.include(secret).and.not.include(secret.slice(9, 41));
    });

    it('rejects a key that is malformed, unknown, expired or revoked', async () => {
      const other = createKeys(database.another(), { now: () => now });
      const { key, secret } = await issueKey(keys(), 'acme', { expiresAt: new Date('2054-11-01T13:00:00Z') });
      expect(await keys().recognise(`${secret}0`)).to.equal(null);
      expect(await keys().recognise(secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0'))).to.equal(null);
      await database.db.collection<{ _id: string }>('keys').updateOne({ _id: key.id }, { $set: { hash: 'of another' } });
      expect(await keys().recognise(secret)).to.equal(null);

      const fresh = await issueKey(keys(), 'acme', { expiresAt: new Date('2054-11-01T13:00:00Z') });
      expect((await other.recognise(fresh.secret))?.key.id).to.equal(fresh.key.id);
      now = new Date('2054-11-01T13:00:00Z');
      expect(await keys().recognise(fresh.secret)).to.equal(null);

      const revoked = await issueKey(keys(), 'acme');
      expect((await other.recognise(revoked.secret))?.key.id).to.equal(revoked.key.id);
      expect((await keys().revoke('acme', revoked.key.id))?.id).to.equal(revoked.key.id);
      expect(await other.recognise(revoked.secret), 'on every replica at once').to.equal(null);
    });

    it('lists the keys of an organisation in pages, newest first, by status', async () => {
      const organisation = named('org');
      const issued = [];
      for (const name of ['one', 'two', 'three', 'four']) {
        // The last two are issued in the same millisecond.
        if (name !== 'four') now = new Date(now.getTime() + 1000);
        issued.push(
          (await issueKey(keys(), organisation, { name, expiresAt: name === 'one' ? new Date(now.getTime() + 1500) : null })).key,
        );
      }
      expect(await keys().revoke('globex', issued[1]!.id), 'another organisation’s').to.equal(null);
      expect((await keys().revoke(organisation, issued[1]!.id))?.revokedAt).to.deep.equal(now);
      expect(await keys().revoke(organisation, issued[1]!.id), 'again').to.equal(null);
      const names = async (page: Partial<KeyPage>) => (await keys().list(organisation, { limit: 10, ...page })).map((key) => key.name);
      const all = await names({});
      expect(all.slice(0, 2)).to.have.members(['three', 'four']);
      expect(all.slice(2)).to.deep.equal(['two', 'one']);
      expect(await names({ status: 'live' })).to.deep.equal(all.slice(0, 2));
      expect(await names({ status: 'revoked' })).to.deep.equal(['two']);
      expect(await names({ status: 'expired' })).to.deep.equal(['one']);

      const paged: string[] = [];
      let after: KeyPage['after'] = null;
      for (;;) {
        const [key] = await keys().list(organisation, { limit: 1, after });
        if (key === undefined) break;
        paged.push(key.name);
        after = { at: key.createdAt, id: key.id };
      }
      expect(paged).to.deep.equal(all);
    });

    it('limits the live keys of an organisation, also if replicas issue keys at the same time', async () => {
      const organisation = named('org');
      const other = createKeys(database.another(), { now: () => now });
      const expires = new Date(now.getTime() + 1000);
      const issue = (index: number, expiresAt: Date | null = null) =>
        (index % 2 === 0 ? keys() : other).issue({ organisation, name: String(index), expiresAt, creator: TEST_CREATOR });
      const count = (outcomes: { ok: boolean }[]) => outcomes.filter(({ ok }) => ok).length;
      const first = await Promise.all(Array.from({ length: LIVE_KEYS_MAX + 20 }, (_, index) => issue(index, index % 2 ? expires : null)));
      expect(count(first)).to.equal(LIVE_KEYS_MAX);
      expect(first.find(({ ok }) => !ok)).to.deep.equal({ ok: false, reason: 'too_many_keys' });
      const live = () => keys().list(organisation, { status: 'live', limit: 1000 });
      expect(await live()).to.have.length(LIVE_KEYS_MAX);

      // A revoked key makes room for one, expired keys for as many as they are.
      await keys().revoke(organisation, (await live()).find((key) => key.expiresAt === null)!.id);
      expect(count(await Promise.all(Array.from({ length: 5 }, (_, index) => issue(index))))).to.equal(1);
      now = expires;
      const free = LIVE_KEYS_MAX - (await live()).length;
      expect(free).to.be.above(20);
      expect(count(await Promise.all(Array.from({ length: free + 5 }, (_, index) => issue(index))))).to.equal(free);
      expect(await live()).to.have.length(LIVE_KEYS_MAX);
    });

    it('issues one key for an ID, whatever the number of requests', async () => {
      const organisation = named('org');
      const id = randomUUID();
      const request = { organisation, name: 'once', expiresAt: null, id, creator: TEST_CREATOR };
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => keys().issue(request)));
      expect(outcomes.filter(({ ok }) => ok)).to.have.lengthOf(1);
      for (const outcome of outcomes) if (!outcome.ok) expect(outcome.reason).to.equal('already_issued');
      await keys().revoke(organisation, id);
      expect(await keys().issue(request)).to.deep.equal({ ok: false, reason: 'already_issued' });
      expect(await keys().list(organisation, { limit: 10 })).to.have.lengthOf(1);
    });

    it('rejects a key whose organisation does not exist', async () => {
      const orphan = await issueKey(keys(), named('nobody'));
      expect(await keys().recognise(orphan.secret)).to.equal(null);
    });

    it('records the uses of all keys in one command, and of each key at most once per minute', async () => {
      const mongo = connectMongo({ url: monitored(database.url), logger: silentLogger });
      const commands = recordCommands(mongo.db);
      const updates = () => commands.filter((command) => command === 'update keys').length;
      const counted = createKeys(mongo.db, { now: () => now, monotonic: () => now.getTime() });
      const organisation = named('org');
      const issue = () => issueKey(counted, organisation);
      const [one, other] = [await issue(), await issue()];
      const noted = async () => (await counted.list(organisation, { limit: 10 })).map(({ lastUsedAt }) => lastUsedAt);
      const first = now;
      for (const { key } of [one, other, one]) counted.touch({ id: key.id, organisation: 'acme', network: '203.0.113.0/24' });
      expect(await noted(), 'not during the request').to.deep.equal([null, null]);
      await counted.flush();
      expect(await noted()).to.deep.equal([first, first]);
      expect(updates(), 'one for both keys, and one for the network of each').to.equal(3);

      now = new Date(first.getTime() + 59_000);
      counted.touch({ id: one.key.id, organisation: 'acme', network: '203.0.113.0/24' });
      await counted.flush();
      expect(updates()).to.equal(3);
      const replica = keys();
      replica.touch({ id: one.key.id, organisation: 'acme', network: '203.0.113.0/24' });
      await replica.flush();
      expect(await noted(), 'not by another replica either').to.deep.equal([first, first]);

      now = new Date(first.getTime() + 60_001);
      counted.touch({ id: one.key.id, organisation: 'acme', network: '203.0.113.0/24' });
      await counted.flush();
      expect((await noted()).filter((at) => at!.getTime() === now.getTime())).to.have.length(1);
      await mongo.close();
    });

    it('issues no key to the organisation of public scans', async () => {
      expect(await failure(issueKey(keys(), 'anonymous'))).to.be.instanceOf(RangeError);
    });
  });

  describe('organisations', () => {
    const organisations = () => createOrganisations(database.db);
    const tryAdd = (id: string, namespaces: string[] = []) =>
      organisations().add({ id, displayName: id.toUpperCase(), plan: 'free', namespaces });
    const add = async (id: string, namespaces: string[] = []) => {
      const added = await tryAdd(id, namespaces);
      if (!added.ok) throw new Error(added.reason);
      return added.organisation;
    };
    const exists = { ok: false, reason: 'already_exists' };

    it('adds an organisation once, and any number without namespaces', async () => {
      const [a, b] = [named('a'), named('b')];
      const added = await add(a);
      expect(added).to.deep.include({ id: a, displayName: a.toUpperCase(), plan: 'free', blocked: false, namespaces: [] });
      await add(b);
      expect(await organisations().find(a)).to.deep.equal(added);
      expect(await tryAdd(a)).to.deep.equal(exists);
      expect(await tryAdd('anonymous')).to.deep.equal(exists);
      expect(await failure(add('Not a label'))).to.be.instanceOf(RangeError);
      expect((await organisations().list()).map((one) => one.id)).to.include.members([a, b]);
      expect(await organisations().find(named('nobody'))).to.equal(null);
    });

    it('blocks an organisation', async () => {
      const { id } = await add(named('a'));
      expect(await organisations().setBlocked(id, true)).to.deep.equal({ ok: true });
      expect((await organisations().find(id))?.blocked).to.equal(true);
      expect(await organisations().setBlocked(named('nobody'), true)).to.deep.equal({ ok: false, reason: 'not_found' });
    });

    it('charges a namespace to only one organisation', async () => {
      const [web, shop, blog] = [named('web'), named('shop'), named('blog')];
      const a = await add(named('a'), [web, shop, web]);
      const b = await add(named('b'), [blog]);
      expect((await organisations().findByNamespace(shop))?.id).to.equal(a.id);
      expect(await organisations().findByNamespace(named('nobodys'))).to.equal(null);

      const taken = { ok: false, reason: 'namespace_taken', organisation: a.id };
      expect(await organisations().setNamespaces(b.id, [blog, web])).to.deep.equal({ ...taken, namespace: web });
      expect((await organisations().find(b.id))?.namespaces).to.deep.equal([blog]);
      expect(await tryAdd(named('c'), [shop])).to.deep.equal({ ...taken, namespace: shop });

      expect(await organisations().setNamespaces(a.id, [])).to.deep.equal({ ok: true });
      expect(await organisations().setNamespaces(b.id, [blog, web, shop])).to.deep.equal({ ok: true });
      expect((await organisations().findByNamespace(web))?.id).to.equal(b.id);
      expect(await organisations().setNamespaces(named('nobody'), [])).to.deep.equal({ ok: false, reason: 'not_found' });
    });
  });

  describe('users', () => {
    const users = () => createUsers(database.db);
    const members = () => createMembers(database.db);
    const add = async (user: Parameters<ReturnType<typeof createUsers>['add']>[0]) => {
      const added = await users().add(user);
      if (!added.ok) throw new Error(added.reason);
      return added.user;
    };

    it('verifies the password, and ignores case and spaces in the address', async () => {
      const email = `${named('ann')}@example.com`;
      const added = await add({ email: ` ${email.toUpperCase()}`, organisation: 'acme', password: 'correct horse' });
      expect(added.email).to.equal(email);
      expect(await users().verify(email, 'correct horse')).to.deep.include(added);
      expect(await users().verify(email, 'battery staple')).to.equal(null);
      expect(await users().verify('nobody@example.com', 'nobody at all')).to.equal(null);
      const again = await users().add({ email, organisation: 'globex', password: 'correct horse' });
      expect(again).to.deep.equal({ ok: false, reason: 'already_exists', email });
    });

    it('resets a password, lists and removes users', async () => {
      const organisation = named('org');
      const email = `${named('bob')}@example.com`;
      await add({ email, organisation, password: 'first password' });
      expect(await users().resetPassword(email, 'second password')).to.equal(true);
      expect(await users().verify(email, 'first password')).to.equal(null);
      expect((await users().verify(email, 'second password'))?.email).to.equal(email);
      expect((await members().list(organisation)).map((user) => user.email)).to.deep.equal([email]);
      expect(await members().deleteAccount(email)).to.deep.equal({ ok: false, reason: 'last_owner', organisations: [organisation] });
      expect(await members().deleteAccount(email, { lastOwner: true })).to.deep.equal({ ok: true, organisations: [organisation] });
      expect(await members().deleteAccount(email)).to.deep.equal({ ok: false, reason: 'not_found' });
      expect(await members().list(organisation)).to.deep.equal([]);
      expect(await users().resetPassword(email, 'third password')).to.equal(false);
    });
  });

  it('mirrors the queue, which is open and empty before the first mirror', async () => {
    const states = createQueueStates(database.db);
    expect(await states.read()).to.deep.equal({ paused: false, live: 0, updatedAt: new Date(0) });
    await Promise.all([states.write({ paused: true, live: 3 }), states.write({ paused: true, live: 3 })]);
    const state = await states.read();
    expect(state).to.deep.include({ paused: true, live: 3 });
    expect(state.updatedAt.getTime()).to.be.above(0);
  });
});
