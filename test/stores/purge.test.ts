/** A purged organisation: nothing in the database has its name, and another one of the name begins with nothing. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { creditAccountOf } from '../../core/scan/counts.ts';
import { createPurge } from '../../stores/accounts/purge.ts';
import { openStores } from '../../stores/stores.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
import { scanRow } from '../support/scan-rows.ts';
import { useDatabase } from './database.ts';

describe('a purge', () => {
  const database = useDatabase();
  const version = { uid: 'u1', createdAt: new Date(), generation: 1 };
  const spec = { displayName: 'Acme', plan: 'team', blocked: false };

  /** The collections in which a document has the name, in any field. */
  async function mentions(name: string): Promise<string[]> {
    const found: string[] = [];
    for (const { name: collection } of await database.db.listCollections().toArray()) {
      const documents = await database.db.collection(collection).find().toArray();
      if (JSON.stringify(documents).includes(name)) found.push(collection);
    }
    return found;
  }

  it('leaves the numbers of the ledger, and nothing else', async () => {
    const stores = openStores(database.db);
    const { organisations, credits } = stores;
    const id = `acme-${randomUUID().slice(0, 8)}`;
    await organisations.applyManifest(id, version, spec);
    await credits.grant(id, 'first', 100);
    await issueKey(stores.keys, id);
    await addWebhook(stores, { organisation: id });
    await stores.users.add({ email: 'ada@people.example', organisation: id, password: 'seven blue bicycles', role: 'owner' });
    const row = scanRow({ organisation: id, submission: 'accepted', phase: 'done', finishedAt: new Date() });
    await stores.scans.create(row);
    await stores.sites.record([row]);
    await stores.sites.label(id, { site: row.site, name: 'Shop', hidden: false });
    await stores.idempotency.claim({ organisation: id, key: 'k', fingerprint: 'f', resourceId: row.id, leaseSeconds: 1 });
    const daily = { namespace: 'curbcut', name: `${id}-daily`, organisation: id, createdAt: new Date(), values: '' };
    await stores.dashboardSchedules.add(daily);
    await organisations.record({ organisation: id, actor: 'ada', action: 'key.issue', subject: id });
    await credits.reserve({ organisation: id, scanId: row.id, pages: 5, partial: false, deadline: new Date(Date.now() + 20_000) });
    expect(await organisations.purge(id)).to.deep.equal({ ok: false, reason: 'scans_live' });
    await credits.settle(id, row.id, 3);
    const ofTestKeys = { organisation: creditAccountOf({ organisation: id, test: true }), scanId: randomUUID() };
    await credits.reserve({ ...ofTestKeys, pages: 5, partial: false, deadline: new Date(Date.now() + 20_000) });
    expect(await organisations.purge(id), 'a live scan of a test key').to.deep.equal({ ok: false, reason: 'scans_live' });
    await credits.settle(ofTestKeys.organisation, ofTestKeys.scanId, 3);
    expect(await organisations.purge(id)).to.deep.equal({ ok: false, reason: 'open' });
    await organisations.closeOrganisation(id, version);
    const before = await mentions(id);
    expect(before).to.include.members([
      'organisations',
      'accounts',
      'keys',
      'webhooks',
      'memberships',
      'scans',
      'sites',
      'siteLabels',
      'idempotency',
      'audit',
    ]);

    expect(await organisations.purge(id)).to.deep.equal({ ok: true, scans: 1, schedules: [`curbcut/${id}-daily`] });
    expect(await mentions(id)).to.deep.equal([]);
    expect(
      (await stores.scans.removable({ before: new Date(0), now: new Date(), limit: 10 })).map((one) => one.row.id),
      'whose reports the operator deletes',
    ).to.deep.equal([row.id]);
    await stores.scans.remove(row.id);
    expect(await stores.scans.find(row.id)).to.equal(null);
    const kept = await database.db.collection('ledger').find({ scanId: row.id }).toArray();
    expect(kept.map(({ operation, pages }) => [operation as string, pages as number])).to.have.deep.members([
      ['reserve', 5],
      ['settle', 3],
    ]);
    expect(await organisations.purge(id)).to.deep.equal({ ok: false, reason: 'not_found' });

    expect(await organisations.applyManifest(id, { ...version, uid: 'u2' }, spec)).to.deep.equal({ ok: true, before: null });
    expect(await credits.grant(id, 'first', 7)).to.equal(true);
    expect(await credits.balance(id)).to.deep.equal({ balance: 7, granted: 7, held: 0, spent: 0 });
    expect(await credits.ledger(id, { limit: 10 })).to.have.lengthOf(1);
  });

  it('announces no scan of a test key that ends meanwhile', async () => {
    const { scans } = openStores(database.db);
    const row = await scans.create(scanRow({ organisation: `acme-${randomUUID().slice(0, 8)}`, submission: 'accepted', test: true }));
    await scans.eraseAll(row.organisation);
    // By an operator that had read the row before.
    await scans.mirror(row.id, { phase: 'failed', finishedAt: new Date() }, row);
    expect([...(await scans.unannounced(100)), ...(await scans.unlisted(100))].map(({ id }) => id)).to.not.include(row.id);
  });

  it('leaves the next organisation no entry that another process copied to the ledger meanwhile', async () => {
    const { organisations, credits } = openStores(database.db);
    const id = `acme-${randomUUID().slice(0, 8)}`;
    await organisations.applyManifest(id, version, spec);
    await organisations.closeOrganisation(id, version);
    const ledger = database.db.collection<{ _id: string; organisation: string }>('ledger');
    const crossed = (name: string) => {
      const collection = database.db.collection(name);
      const deleteMany = async (filter: object) => {
        await ledger.insertOne({ _id: `${id}/grant:first`, organisation: id });
        return collection.deleteMany(filter);
      };
      return name === 'keys' ? { deleteMany } : collection;
    };
    const late = { collection: crossed } as unknown as typeof database.db;
    const purged = await createPurge(late, { eraseScans: async () => 0, relay: credits.relay }).purge(id);
    expect(purged).to.include({ ok: true });
    expect(await ledger.countDocuments({ organisation: id })).to.equal(0);
  });

  it('says that it is not complete if the organisation was opened meanwhile, and names its schedules again', async () => {
    const stores = openStores(database.db);
    const { organisations } = stores;
    const id = `acme-${randomUUID().slice(0, 8)}`;
    await organisations.applyManifest(id, version, spec);
    await organisations.closeOrganisation(id, version);
    await stores.dashboardSchedules.add({ namespace: 'curbcut', name: 'daily', organisation: id, createdAt: new Date(), values: '' });
    const set = (blocked: boolean) =>
      database.db.collection<{ _id: string }>('organisations').updateOne({ _id: id }, { $set: { blocked } });
    const crossed = createPurge(database.db, { eraseScans: async () => 0, relay: () => set(false) });
    expect(await crossed.purge(id)).to.deep.equal({ ok: false, reason: 'reopened' });
    await set(true);
    expect(await organisations.purge(id)).to.deep.equal({ ok: true, scans: 0, schedules: ['curbcut/daily'] });
  });

  it('that another one has overtaken deletes nothing of the next organisation of the name', async () => {
    const stores = openStores(database.db);
    const { organisations, credits } = stores;
    const id = `acme-${randomUUID().slice(0, 8)}`;
    await organisations.applyManifest(id, version, spec);
    await organisations.closeOrganisation(id, version);
    /** The other one ends, and the next organisation begins, while this one reads the account. */
    const slow = createPurge(database.db, {
      eraseScans: async () => 0,
      async relay() {
        await organisations.purge(id);
        await organisations.applyManifest(id, { ...version, uid: 'u2' }, spec);
      },
    });
    expect(await slow.purge(id)).to.include({ ok: true });
    await credits.grant(id, 'first', 7);
    await issueKey(stores.keys, id);
    expect(await organisations.find(id)).to.include({ managedBy: 'manifest', blocked: false });
  });
});
