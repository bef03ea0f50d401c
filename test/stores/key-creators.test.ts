/** Who created API keys, and the end of the keys of a person. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { KEY_SCOPES, keyCreator, type KeyCreator, permissionsOf } from '../../core/accounts.ts';
import { createKeys, type ApiKey } from '../../stores/accounts/keys.ts';
import { createMemberships } from '../../stores/accounts/memberships.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { issueKey } from '../support/issue-key.ts';
import { useDatabase } from './database.ts';

const ANN: KeyCreator = { createdBy: 'ann@example.com', rootCreator: 'ann@example.com' };
const BEN: KeyCreator = { createdBy: 'ben@example.com', rootCreator: 'ben@example.com' };

describe('creators of API keys', () => {
  const database = useDatabase();
  let organisation = '';
  let now = new Date('2054-11-01T12:00:00Z');
  const keys = () => createKeys(database.db, { now: () => now });
  const names = (list: readonly ApiKey[]) => list.map(({ name }) => name).toSorted();
  /** The creator of the keys that a key creates. */
  const by = ({ id: keyId, ...key }: ApiKey) => keyCreator({ kind: 'key', keyId, ...key });

  beforeEach(async () => {
    organisation = `org-${randomUUID().slice(0, 8)}`;
    await createOrganisations(database.db).add({ id: organisation, displayName: 'x', plan: 'team', namespaces: [] });
  });

  it('are stored, and found again', async () => {
    const { key } = await issueKey(keys(), organisation, { creator: ANN });
    const child = await issueKey(keys(), organisation, { creator: by(key) });
    expect((await keys().find(organisation, key.id))?.createdBy).to.equal('ann@example.com');
    expect(await keys().find(organisation, child.key.id)).to.deep.include({ createdBy: `key:${key.id}`, rootCreator: 'ann@example.com' });
    expect((await keys().recognise(child.secret))?.key.rootCreator).to.equal('ann@example.com');
  });

  it('bound what keys may do by the role of the person, and by the last one after the person has left', async () => {
    const memberships = createMemberships(database.db);
    await memberships.add(organisation, 'ann@example.com', 'owner');
    await memberships.add(organisation, 'ben@example.com', 'owner');
    const own = await issueKey(keys(), organisation, { creator: ANN });
    const child = await issueKey(keys(), organisation, { creator: by(own.key), scopes: ['scans:write', 'scans:read'] });
    const admins = await issueKey(keys(), organisation);
    /** What bounds the keys, when they are used and in the list. */
    const limits = async () => {
      const used = await Promise.all([own, child, admins].map(async ({ secret }) => (await keys().recognise(secret))!.key.limit));
      const listed = await Promise.all([own, child, admins].map(async ({ key }) => (await keys().find(organisation, key.id))!.limit));
      expect(listed, 'listed').to.deep.equal(used);
      return used;
    };
    const scopes = async () => {
      const used = await Promise.all([own, child, admins].map(async ({ secret }) => (await keys().recognise(secret))!.key.scopes.length));
      const all = await keys().list(organisation, { limit: 10 });
      expect(
        [own, child, admins].map(({ key }) => all.find(({ id }) => id === key.id)!.scopes.length),
        'listed',
      ).to.deep.equal(used);
      return used;
    };
    const all = KEY_SCOPES.length;
    expect(await scopes()).to.deep.equal([all, 2, all]);
    await memberships.change(organisation, 'ann@example.com', 'viewer');
    expect(await scopes(), 'a demotion').to.deep.equal([2, 1, all]);
    await memberships.remove(organisation, 'ann@example.com', { lastOwner: false });
    expect(await scopes(), 'a removal').to.deep.equal([2, 1, all]);
    const viewer = { role: 'viewer', left: true };
    expect(await limits(), 'a removal').to.deep.equal([viewer, viewer, null]);
    expect((await keys().createdBy(organisation, 'ann@example.com')).map(({ limit }) => limit)).to.deep.equal([viewer, viewer]);
    await memberships.add(organisation, 'ann@example.com', 'member');
    expect(await scopes(), 'a return').to.deep.equal([permissionsOf('member').length, 2, all]);
    const member = { role: 'member', left: false };
    expect(await limits(), 'a return').to.deep.equal([member, member, null]);
  });

  it('are replaced by who adopts a live key, whose role then bounds it, unless it was adopted or revoked meanwhile', async () => {
    const memberships = createMemberships(database.db);
    await memberships.add(organisation, 'ann@example.com', 'member');
    await memberships.add(organisation, 'ben@example.com', 'owner');
    await memberships.add(organisation, 'cid@example.com', 'owner');
    const { key, secret } = await issueKey(keys(), organisation, { creator: ANN });
    const child = await issueKey(keys(), organisation, { creator: by(key) });
    await memberships.remove(organisation, 'ann@example.com', { lastOwner: false });
    const adopt = (id: string, to: string, of = organisation) => keys().adopt(of, id, 'ann@example.com', to);
    expect(await adopt(key.id, 'ben@example.com', 'acme'), 'of another organisation').to.equal(null);
    const both = await Promise.all(['ben@example.com', 'cid@example.com'].map((to) => adopt(key.id, to)));
    const adopted = both.filter((one) => one !== null);
    expect(adopted).to.have.lengthOf(1);
    const adopter = adopted[0]!.rootCreator;
    const recognised = (await keys().recognise(secret))!.key;
    expect(recognised).to.deep.include({ rootCreator: adopter, createdBy: 'ann@example.com', limit: { role: 'owner', left: false } });
    expect(recognised.scopes).to.deep.equal(KEY_SCOPES);
    expect((await keys().find(organisation, child.key.id))!.limit, 'a child').to.deep.equal({ role: 'member', left: true });
    expect((await keys().createdBy(organisation, 'ann@example.com')).map(({ id }) => id)).to.deep.equal([child.key.id]);
    await memberships.change(organisation, adopter, 'viewer');
    expect((await keys().recognise(secret))!.key.scopes, 'a demotion of the adopter').to.deep.equal(permissionsOf('viewer'));
    await keys().revoke(organisation, child.key.id);
    expect(await adopt(child.key.id, 'ben@example.com'), 'revoked').to.equal(null);
  });

  it('bind the least to a key that is adopted by someone who was just removed', async () => {
    const { key } = await issueKey(keys(), organisation, { creator: ANN });
    await keys().adopt(organisation, key.id, 'ann@example.com', 'gone@example.com');
    expect((await keys().find(organisation, key.id))!.limit).to.deep.equal({ role: 'viewer', left: true });
  });

  it('bound also keys that the key of a person creates who has left, or leaves meanwhile', async () => {
    const memberships = createMemberships(database.db);
    await memberships.add(organisation, 'ann@example.com', 'member');
    const { secret } = await issueKey(keys(), organisation, { creator: ANN });
    const recognised = async () => (await keys().recognise(secret))!.key;
    const childOf = async ({ limit, ...key }: ApiKey) =>
      (await issueKey(keys(), organisation, { creator: by({ ...key, ...(limit && { cap: limit.role }) } as ApiKey) })).key.id;
    const before = await recognised();
    await memberships.remove(organisation, 'ann@example.com', { lastOwner: false });
    for (const child of [await childOf(before), await childOf(await recognised())])
      expect((await keys().find(organisation, child))!.limit).to.deep.equal({ role: 'member', left: true });
  });

  it('keep no more than the last role of a person who is demoted while she is removed', async () => {
    const memberships = createMemberships(database.db);
    for (const { createdBy } of [ANN, BEN]) await memberships.add(organisation, createdBy, 'owner');
    const { key } = await issueKey(keys(), organisation, { creator: ANN });
    /** Another owner demotes her after her role was read and before she is removed. */
    const crossed = (name: string) => {
      const collection = database.db.collection(name);
      const updateMany = async (...update: Parameters<typeof collection.updateMany>) => {
        await memberships.change(organisation, ANN.createdBy, 'viewer');
        return collection.updateMany(...update);
      };
      return name === 'keys' ? { updateMany } : collection;
    };
    const remove = createMemberships({ collection: crossed } as unknown as typeof database.db).remove;
    expect(await remove(organisation, ANN.createdBy, { lastOwner: false })).to.deep.equal({ ok: true, before: 'viewer' });
    expect((await keys().find(organisation, key.id))!.scopes).to.deep.equal(permissionsOf('viewer'));
    expect(await remove(organisation, BEN.createdBy, { lastOwner: false })).to.deep.equal({ ok: false, reason: 'last_owner' });
  });

  it('find the live keys of a person, with those that these keys created, in one organisation', async () => {
    const { key } = await issueKey(keys(), organisation, { name: 'own', creator: ANN });
    const child = await issueKey(keys(), organisation, { name: 'child', creator: by(key) });
    await issueKey(keys(), organisation, { name: 'grandchild', creator: by(child.key) });
    await issueKey(keys(), organisation, { name: 'expired', creator: ANN, expiresAt: new Date(now.getTime() + 1) });
    await issueKey(keys(), organisation, { name: 'of ben', creator: BEN });
    await issueKey(keys(), 'acme', { name: 'elsewhere', creator: ANN });
    now = new Date(now.getTime() + 1);
    // A revoked key of the chain hides nothing behind it.
    await keys().revoke(organisation, child.key.id);
    expect(names(await keys().createdBy(organisation, 'ann@example.com'))).to.deep.equal(['grandchild', 'own']);
  });

  // ASVS 7.4.2: when an account is disabled or deleted, its sessions end; here also what the person left behind.
  it('revoke the keys of a person on every replica, and no others', async () => {
    const own = await issueKey(keys(), organisation, { name: 'own', creator: ANN });
    const child = await issueKey(keys(), organisation, { name: 'child', creator: by(own.key) });
    const bens = await issueKey(keys(), organisation, { name: 'of ben', creator: BEN });
    const elsewhere = `org-${randomUUID().slice(0, 8)}`;
    await issueKey(keys(), elsewhere, { name: 'elsewhere', creator: ANN });
    const other = createKeys(database.another(), { now: () => now });
    expect(names(await keys().revokeCreatedBy(organisation, 'ann@example.com'))).to.deep.equal(['child', 'own']);
    const recognised = await other.recogniseAll([own.secret, child.secret, bens.secret]);
    expect([...recognised.keys()]).to.deep.equal([bens.secret]);
    expect(await keys().createdBy(elsewhere, 'ann@example.com')).to.have.lengthOf(1);
    expect(await keys().revokeCreatedBy(organisation, 'ann@example.com'), 'again').to.deep.equal([]);
  });

  it('leave no key, also if a key of the person creates others meanwhile', async () => {
    const own = await issueKey(keys(), organisation, { creator: ANN });
    const other = createKeys(database.another(), { now: () => now });
    /** Creates keys until the key is revoked, as a request with it does. */
    async function create(): Promise<void> {
      for (;;) {
        const holder = await other.recognise(own.secret);
        if (holder === null) return;
        await issueKey(other, organisation, { creator: by(holder.key) });
      }
    }
    const creations = Promise.all([create(), create(), create()]);
    await keys().revokeCreatedBy(organisation, 'ann@example.com');
    await creations;
    // Stored after the last look. The requests that stored them revoke them (`api/accounts/key-management.ts`).
    const late = await keys().createdBy(organisation, 'ann@example.com');
    expect(late.length, 'at most one for each request that was under way').to.be.below(4);
  });
});
