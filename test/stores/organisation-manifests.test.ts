import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import type { ManifestVersion } from '../../stores/accounts/organisation-document.ts';
import { createOrganisations } from '../../stores/accounts/organisations.ts';
import { createCredits } from '../../stores/credits/credits.ts';
import { useDatabase } from './database.ts';

const named = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;
const CREATED = new Date('2026-11-01T12:00:00Z');
const version = (more: Partial<ManifestVersion> = {}): ManifestVersion => ({ uid: 'u1', createdAt: CREATED, generation: 1, ...more });
const later = (seconds: number) => new Date(CREATED.getTime() + seconds * 1000);
const SPEC = { displayName: 'Acme', plan: 'team', blocked: false };
const OUTDATED = { ok: false, reason: 'outdated' };
const IN_USE = { ok: false, reason: 'name_in_use' };
const REFUSED = { ok: false, reason: 'managed_by_admin' };

describe('organisations with two writers', () => {
  const database = useDatabase();
  /** The database as another process sees it. */
  let second: Db;
  before(async () => {
    second = database.another();
  });
  const store = () => createOrganisations(database.db);
  const other = () => createOrganisations(second);

  /** An organisation that a manifest manages. */
  async function managed(): Promise<string> {
    const id = named('acme');
    expect(await store().applyManifest(id, version(), SPEC)).to.deep.equal({ ok: true, before: null });
    return id;
  }
  /** An organisation that curbcut-admin manages. */
  async function administered(namespaces: string[] = []): Promise<string> {
    const id = named('hand');
    expect(await store().add({ id, displayName: 'By hand', plan: 'p', namespaces })).to.include({ ok: true });
    return id;
  }

  it('are created and changed by a manifest, which returns what it was before', async () => {
    const id = await managed();
    expect(await store().find(id)).to.deep.include({ id, ...SPEC, managedBy: 'manifest', deletedAt: null, namespaces: [] });
    const changed = await store().applyManifest(id, version({ generation: 2 }), { ...SPEC, blocked: true });
    expect(changed).to.have.nested.property('before.blocked', false);
    expect(await store().find(id)).to.deep.include({ blocked: true });
    expect(await store().findApplied([id], [])).to.have.nested.property('[0].manifest.generation', 2);
  });

  it('refuse every change of curbcut-admin while a manifest manages them', async () => {
    const id = await managed();
    const before = await store().find(id);
    const refused = { ok: false, reason: 'managed_by_manifest' };
    expect(await store().setBlocked(id, true)).to.deep.equal(refused);
    expect(await store().setNamespaces(id, [named('ns')])).to.deep.equal(refused);
    expect(await store().add({ id, displayName: 'x', plan: 'x', namespaces: [] })).to.deep.equal({ ok: false, reason: 'already_exists' });
    expect(await store().find(id)).to.deep.equal(before);
  });

  it('refuse every change of a manifest while curbcut-admin manages them', async () => {
    const id = await administered();
    const before = await store().find(id);
    expect(before?.managedBy).to.equal('admin');
    expect(await store().applyManifest(id, version(), SPEC)).to.deep.equal(REFUSED);
    expect(await store().claimNamespaces(id, version(), [named('ns')])).to.deep.equal(REFUSED);
    expect(await store().closeOrganisation(id, version())).to.deep.equal(REFUSED);
    expect(await store().find(id)).to.deep.equal(before);
  });

  it('are handed over in both directions, once', async () => {
    const id = await administered();
    expect(await store().handOver(id, 'manifest')).to.deep.include({ ok: true, changed: true });
    expect(await store().handOver(id, 'manifest')).to.deep.include({ ok: true, changed: false });
    expect(await store().applyManifest(id, version({ generation: 5 }), SPEC)).to.include({ ok: true });
    expect(await store().handOver(id, 'admin')).to.deep.include({ ok: true, changed: true });
    expect(await store().setBlocked(id, true)).to.deep.equal({ ok: true });
    await store().handOver(id, 'manifest');
    // The hand-over starts anew: a cluster that was restored from a backup has an older version.
    expect(await store().applyManifest(id, version({ generation: 2 }), SPEC)).to.include({ ok: true });
    expect(await store().handOver(named('nobody'), 'admin')).to.deep.equal({ ok: false, reason: 'not_found' });
  });

  it('belong to one of two writers that add them at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = named('race');
      const [added, applied] = await Promise.all([
        store().add({ id, displayName: 'By hand', plan: 'p', namespaces: [] }),
        other().applyManifest(id, version(), SPEC),
      ]);
      expect([added.ok, applied.ok].filter(Boolean)).to.have.length(1);
      expect(await store().find(id)).to.include(
        added.ok ? { managedBy: 'admin', displayName: 'By hand' } : { managedBy: 'manifest', ...SPEC },
      );
    }
  });

  it('change only by the writer that has them, also while they are handed over', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await administered();
      const [, blocked] = await Promise.all([store().handOver(id, 'manifest'), other().setBlocked(id, true)]);
      const { ok } = await store().applyManifest(id, version(), SPEC);
      expect(ok).to.equal(true);
      // Whether or not the last change of curbcut-admin was in time, the manifest's state is the last.
      expect(await store().find(id)).to.include({ blocked: false, managedBy: 'manifest' });
      expect(blocked).to.deep.equal(blocked.ok ? { ok: true } : { ok: false, reason: 'managed_by_manifest' });
    }
  });

  it('ignore versions of a manifest that are older than the last, as a former leader sends them', async () => {
    const id = await managed();
    await store().applyManifest(id, version({ generation: 4 }), { ...SPEC, blocked: true });
    const old = version({ generation: 3 });
    expect(await store().applyManifest(id, old, SPEC)).to.deep.equal(OUTDATED);
    expect(await store().claimNamespaces(id, old, [named('ns')])).to.deep.equal(OUTDATED);
    expect(await store().closeOrganisation(id, old)).to.deep.equal(OUTDATED);
    expect(await store().find(id)).to.deep.include({ blocked: true, deletedAt: null, namespaces: [] });
  });

  it('belong to one object of the name, whenever another was created, until they are restored', async () => {
    const id = await managed();
    for (const another of [version({ uid: 'u0', createdAt: later(-1), generation: 9 }), version({ uid: 'u2', createdAt: later(60) })]) {
      expect(await store().applyManifest(id, another, { ...SPEC, plan: 'theirs' })).to.deep.equal(IN_USE);
      expect(await store().claimNamespaces(id, another, [named('ns')])).to.deep.equal(IN_USE);
      expect(await store().closeOrganisation(id, another)).to.deep.equal(IN_USE);
    }
    expect(await store().find(id)).to.deep.include({ ...SPEC, deletedAt: null, namespaces: [] });
    expect([await store().restore(id), await store().restore(named('none'))]).to.deep.equal([true, false]);
    expect(await store().applyManifest(id, version({ uid: 'u2' }), SPEC)).to.include({ ok: true });
    expect(await store().applyManifest(id, version({ generation: 5 }), SPEC), 'the one before').to.deep.equal(IN_USE);
  });

  it('end in the state of the newest version, in whatever order the versions arrive', async () => {
    for (const generations of [
      [6, 5, 4, 3, 2],
      [4, 6, 2, 5, 3],
      [2, 6, 3, 5, 4],
    ]) {
      const id = await managed();
      await Promise.all(
        generations.map((generation, index) =>
          (index % 2 === 0 ? store() : other()).applyManifest(id, version({ generation }), { ...SPEC, plan: `plan-${generation}` }),
        ),
      );
      expect((await store().find(id))?.plan).to.equal('plan-6');
    }
  });

  it('are blocked, marked and kept when their manifest is deleted, and opened by the next once they are restored', async () => {
    const [id, namespace] = [await managed(), named('ns')];
    await store().claimNamespaces(id, version(), [namespace]);
    expect(await store().closeOrganisation(id, version({ generation: 2 }))).to.have.nested.property('before.blocked', false);
    const closed = await store().find(id);
    expect(closed).to.deep.include({ blocked: true, managedBy: 'manifest', namespaces: [namespace] });
    expect(closed?.deletedAt).to.be.instanceOf(Date);
    expect(await store().applyManifest(id, version(), SPEC), 'the version before the deletion').to.deep.equal(OUTDATED);
    await store().claimNamespaces(id, version({ generation: 2 }), []);
    expect(await store().findByNamespace(namespace)).to.equal(null);
    expect(await store().applyManifest(id, version({ uid: 'u2', createdAt: later(5) }), SPEC)).to.deep.equal(IN_USE);
    await store().restore(id);
    expect(await store().find(id)).to.deep.include({ blocked: true, deletedAt: null });
    await store().applyManifest(id, version({ uid: 'u2', createdAt: later(5) }), SPEC);
    expect(await store().find(id)).to.deep.include({ blocked: false, deletedAt: null });
  });

  it('stay blocked, but are no longer marked as deleted, if curbcut-admin takes over a deleted one', async () => {
    const id = await managed();
    await store().closeOrganisation(id, version({ generation: 2 }));
    expect(await store().handOver(id, 'admin')).to.have.nested.property('organisation.blocked', true);
    expect(await store().find(id)).to.deep.include({ blocked: true, deletedAt: null, managedBy: 'admin' });
    expect(await store().setBlocked(id, false)).to.deep.equal({ ok: true });
  });

  it('never share a namespace: one of two simultaneous claims wins, the other names the winner', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [a, b, namespace] = [await managed(), await managed(), named('ns')];
      const [first, second] = await Promise.all([
        store().claimNamespaces(a, version(), [namespace]),
        other().claimNamespaces(b, version(), [namespace]),
      ]);
      expect([first, second].filter(({ ok }) => ok)).to.have.length(1);
      const [winner, loser] = first.ok ? [a, second] : [b, first];
      expect(loser).to.deep.equal({ ok: false, reason: 'namespace_taken', namespace, organisation: winner });
      expect((await store().findByNamespace(namespace))?.id).to.equal(winner);
    }
  });

  it('are found by their IDs and by namespaces that they have', async () => {
    const [id, namespace] = [await managed(), named('ns')];
    const owner = await administered([namespace]);
    const found = await store().findApplied([id, named('nobody')], [namespace, named('free')]);
    expect(found.map((one) => one.id)).to.have.members([id, owner]);
    expect(found.find((one) => one.id === owner)).to.deep.include({ manifest: null, namespaces: [namespace] });
    expect(await store().findApplied([], [])).to.deep.equal([]);
  });

  it('cannot have the ID of the built-in organisation, or one that is no DNS label', async () => {
    for (const id of ['anonymous', 'a.b'])
      expect(await store().applyManifest(id, version(), SPEC).catch((reason: unknown) => reason)).to.be.instanceOf(RangeError); // prettier-ignore
  });

  describe('and their accounts', () => {
    it('are read together, with the number of scans that hold credits', async () => {
      const credits = createCredits(database.db, { relayDelayMs: 600_000 });
      const [a, b] = [named('a'), named('b')];
      await credits.open(a);
      await credits.grant(b, 'first', 10);
      for (const scanId of ['s1', 's2'])
        await credits.reserve({ organisation: b, scanId, pages: 3, partial: false, deadline: new Date(Date.now() + 60_000) });
      const accounts = await credits.accounts([a, b, named('nobody')]);
      expect([...accounts.keys()]).to.have.members([a, b]);
      expect(accounts.get(a)).to.deep.equal({ balance: 0, granted: 0, held: 0, spent: 0, liveScans: 0, sequence: 0 });
      expect(accounts.get(b)).to.deep.equal({ balance: 4, granted: 10, held: 6, spent: 0, liveScans: 2, sequence: 3 });
    });

    it('remember every grant for ever, also when its operation is only in the ledger', async () => {
      const credits = createCredits(database.db, { relayDelayMs: 600_000 });
      const id = named('acme');
      expect(await credits.grant(id, 'first', 10)).to.equal(true);
      await credits.relay(id);
      // Another operation removes those that are in the ledger from the account.
      await credits.grant(id, 'second', 1);
      const account = await database.db.collection<{ _id: string; ops: { id: string }[] }>('accounts').findOne({ _id: id });
      expect(account?.ops.map((op) => op.id)).to.deep.equal(['grant:second']);
      expect([...(await credits.grantIds([id])).get(id)!]).to.deep.equal(['first', 'second']);
      expect(await credits.grant(id, 'first', 10)).to.equal(false);
      expect(await credits.balance(id)).to.deep.include({ balance: 11, granted: 11 });
    });

    it('get a grant once from two leaders that grant it at the same time', async () => {
      const leaders = [database.db, second].map((db) => createCredits(db, { relayDelayMs: 600_000 }));
      for (let round = 0; round < 10; round += 1) {
        const id = named('acme');
        const granted = await Promise.all(leaders.map((credits) => credits.grant(id, 'first', 10)));
        expect(granted.filter(Boolean)).to.have.length(1);
        expect((await leaders[0]!.balance(id)).granted).to.equal(10);
      }
    });
  });
});
