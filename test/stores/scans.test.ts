import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { withDefaults } from '../../core/scan/options.ts';
import { createScans, ERASED } from '../../stores/scans/scans.ts';
import { useDatabase, useStore } from './database.ts';
import { optionsKeyOf } from '../../stores/scans/scan-row.ts';
import { scanRow } from '../support/scan-rows.ts';

const later = (): Date => new Date(Date.now() + 60_000);
const noViolations = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };

describe('read model of scans', () => {
  const database = useDatabase();
  const scans = useStore(database, createScans);

  it('stores a row once, and returns it unchanged', async () => {
    const row = scanRow();
    const stored = await scans.create(row);
    expect(stored).to.deep.equal({
      ...row,
      site: 'example.com',
      optionsKey: optionsKeyOf(row),
      version: 1,
      updatedAt: row.createdAt,
    });
    expect(await scans.create({ ...row, organisation: 'other' })).to.deep.equal(stored);
    expect(await scans.find(row.id)).to.deep.equal(stored);
  });

  it('returns a row only to its own organisation', async () => {
    const { id } = await scans.create(scanRow({ organisation: 'acme' }));
    expect((await scans.find(id, 'acme'))?.id).to.equal(id);
    expect(await scans.find(id, 'globex')).to.equal(null);
    expect(await scans.find(randomUUID())).to.equal(null);
  });

  it('accepts a pending row once, with its reserved pages, and never abandons it afterwards', async () => {
    const { id } = await scans.create(scanRow());
    const first = await scans.accept(id, { pagesReserved: 3 });
    expect(first).to.deep.include({ ok: true, won: true });
    const row = (await scans.find(id))!;
    expect(row).to.include({ submission: 'accepted', pagesReserved: 3 });
    expect(await scans.accept(id, { pagesReserved: 5 })).to.deep.equal({ ok: true, won: false, row });
    expect(await scans.abandon(id)).to.deep.equal({ ok: false, reason: 'accepted', row });
    await scans.discard(id);
    expect(await scans.find(id)).to.deep.equal(row);
  });

  it('abandons a pending row once, and never accepts it afterwards', async () => {
    const { id, organisation } = await scans.create(scanRow());
    expect(await scans.abandon(id)).to.deep.include({ ok: true, won: true });
    expect(await scans.abandon(id)).to.deep.include({ ok: true, won: false });
    expect(await scans.accept(id, { pagesReserved: 5 })).to.deep.equal({ ok: false, reason: 'abandoned' });
    expect(await scans.find(id)).to.include({ submission: 'abandoned', pagesReserved: 0 });
    expect(await scans.find(id, organisation), 'as its organisation sees it').to.equal(null);
  });

  it('decides nothing about a row that does not exist', async () => {
    expect(await scans.accept(randomUUID(), { pagesReserved: 5 })).to.deep.equal({ ok: false, reason: 'unknown' });
    expect(await scans.abandon(randomUUID())).to.deep.equal({ ok: false, reason: 'unknown' });
  });

  it('discards a pending row', async () => {
    const { id } = await scans.create(scanRow());
    await scans.discard(id);
    await scans.discard(id);
    expect(await scans.find(id)).to.equal(null);
  });

  it('has exactly one winner if processes accept and abandon a row at once', async () => {
    const other = createScans(database.another());
    for (let round = 0; round < 25; round += 1) {
      const { id } = await scans.create(scanRow());
      const [one, two, three, four] = await Promise.all([
        scans.accept(id, { pagesReserved: 5 }),
        other.abandon(id),
        other.accept(id, { pagesReserved: 5 }),
        scans.abandon(id),
      ]);
      const results = [one, two, three, four];
      expect(results.filter((result) => result.ok && result.won)).to.have.lengthOf(1);
      const { submission } = (await scans.find(id))!;
      for (const result of [one, three]) expect(result.ok).to.equal(submission === 'accepted');
      for (const result of [two, four]) expect(result.ok).to.equal(submission === 'abandoned');
    }
  });

  it('mirrors a change, raises the version once, and ignores the same change after that', async () => {
    const { id, updatedAt } = await scans.create(scanRow({ createdAt: new Date(0) }));
    const change = { phase: 'scanning', pages: { scanned: 1, failed: 0, total: 4 } } as const;
    const first = await scans.mirror(id, change);
    expect(first).to.deep.include({ changed: true });
    expect(first!.row).to.deep.include({ ...change, version: 2 });
    expect(first!.row.updatedAt).to.be.above(updatedAt);
    expect(await scans.mirror(id, change)).to.deep.equal({ row: first!.row, changed: false });
    expect(await scans.mirror(randomUUID(), change)).to.equal(null);
  });

  it('never changes a scan in a terminal phase', async () => {
    const { id } = await scans.create(scanRow());
    const finishedAt = new Date(1_800_000_000_000);
    const pages = { scanned: 2, failed: 1, total: 3 };
    const object = { key: 'k', bytes: 1, sha256: 'a'.repeat(64) };
    const end = {
      phase: 'done',
      pages,
      outcome: { score: 97.5, violations: noViolations, pages },
      passed: true,
      message: '$ is not an expression',
      reports: { export: object, pdf: object },
      finishedAt,
    } as const;
    const done = await scans.mirror(id, end);
    expect(done!.row).to.deep.include(end);
    const after = await scans.mirror(id, { phase: 'failed', message: 'late', pages: { scanned: 9, failed: 9, total: 9 } });
    expect(after).to.deep.equal({ row: done!.row, changed: false });
  });

  it('loses no change if two replicas mirror at once, and assigns each version once', async () => {
    const other = createScans(database.another());
    const { id } = await scans.create(scanRow());
    const changes = Array.from({ length: 30 }, (_, n) => ({ pages: { scanned: n, failed: 0, total: 30 } }));
    const results = await Promise.all(changes.map((change, n) => (n % 2 === 0 ? scans : other).mirror(id, change)));
    const versions = results.filter((result) => result!.changed).map((result) => result!.row.version);
    expect(new Set(versions).size).to.equal(versions.length);
    const row = (await scans.find(id))!;
    expect(row.pages).to.deep.equal({ scanned: 29, failed: 0, total: 30 });
    expect(row.version).to.equal(1 + versions.length);
    // Each version shows more progress than the one before.
    const shown = results.filter((result) => result!.changed).map((result) => result!.row).sort((a, b) => a.version - b.version); // prettier-ignore
    for (const [n, now] of shown.entries()) if (n > 0) expect(now.pages.scanned).to.be.above(shown[n - 1]!.pages.scanned);
  });

  it('returns pending, stale and expired rows, oldest first, up to the limit', async () => {
    const own = createScans(database.db);
    await database.db.collection('scans').deleteMany({});
    const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const [old, young, live] = [
      await own.create(scanRow({ createdAt: at(1) })),
      await own.create(scanRow({ createdAt: at(9) })),
      await own.create(scanRow({ createdAt: at(2) })),
    ];
    await own.accept(live.id, { pagesReserved: 5 });
    await database.db.collection<{ _id: string }>('scans').updateOne({ _id: live.id }, { $set: { updatedAt: at(2) } });
    const ended = await own.create(scanRow({ createdAt: at(0) }));
    await own.accept(ended.id, { pagesReserved: 5 });
    await own.mirror(ended.id, { phase: 'canceled', finishedAt: at(5) });

    const ids = (rows: { id: string }[]): string[] => rows.map((row) => row.id);
    expect(ids(await own.pending(at(5), 10))).to.deep.equal([old.id]);
    expect(ids(await own.pending(later(), 10))).to.deep.equal([old.id, young.id]);
    expect(ids(await own.pending(later(), 1))).to.deep.equal([old.id]);
    // A request that cancels a scan without a resource must not delay its end.
    await own.markCanceling(live.id);
    expect(ids(await own.stale(at(5), 10))).to.deep.equal([live.id]);
    expect(ids(await own.stale(at(1), 10))).to.deep.equal([]);
    const due = async (before: Date, now = later(), limit = 10) =>
      (await own.removable({ before, now, limit })).map(({ row, again }) => `${row.id}${again ? ' again' : ''}`);
    expect(await due(at(6))).to.deep.equal([ended.id]);
    expect(await due(at(5))).to.deep.equal([]);
    const newer = await own.create(scanRow({ submission: 'accepted', phase: 'failed', finishedAt: at(5.5) }));
    await own.notRemoved(ended.id, at(7));
    expect(await due(at(6), later(), 1), 'a row that failed hides no other').to.deep.equal([newer.id]);
    await own.notRemoved(newer.id, at(8));
    expect(await due(at(6)), 'by the oldest attempt').to.deep.equal([ended.id, newer.id]);
    expect(await due(at(6), at(7)), 'once in a sweep').to.deep.equal([]);

    for (const { id } of [live, ended, newer]) await own.reportsRemoved(id, at(60));
    expect(await due(at(6), at(60))).to.deep.equal([]);
    expect(await due(at(6))).to.have.members([`${ended.id} again`, `${newer.id} again`]);
    expect(await own.forget(later()), 'it may have reports').to.equal(0);
    for (const { id } of [live, ended]) await own.reportsRemoved(id);
    expect(await due(at(6))).to.deep.equal([`${newer.id} again`]);
    expect(await own.find(ended.id)).to.deep.include({ phase: 'canceled', reports: null });
    expect(await own.find(ended.id)).to.not.have.property('reportsRemoved');
    expect(await own.forget(at(5))).to.equal(0);
    expect(await own.forget(later())).to.equal(1);
    expect(await own.find(ended.id)).to.equal(null);
    expect((await own.find(live.id))?.id).to.equal(live.id);
  });

  it('counts live scans that hold credits, up to a limit', async () => {
    await database.db.collection('scans').deleteMany({});
    const [pending, abandoned, ended, live, other] = await Promise.all(Array.from({ length: 5 }, () => scans.create(scanRow())));
    await scans.abandon(abandoned!.id);
    for (const { id } of [ended!, live!, other!]) await scans.accept(id, { pagesReserved: 5 });
    await scans.mirror(ended!.id, { phase: 'failed' });
    // A manifest that waits for credits.
    await scans.create(scanRow({ origin: 'manifest', submission: 'accepted', pagesReserved: 0 }));
    await scans.create(scanRow({ organisation: 'anonymous', submission: 'accepted', pagesReserved: 1 }));
    expect((await scans.find(pending!.id))?.submission).to.equal('pending');
    expect(await scans.countLive(10)).to.equal(2);
    expect(await scans.countLive(1)).to.equal(1);
  });

  it('takes ended rows of a site from their organisation, at most so many at once', async () => {
    const fields = { organisation: randomUUID(), submission: 'accepted' } as const;
    const ended = { ...fields, phase: 'done', finishedAt: new Date() } as const;
    const options = withDefaults({ url: 'https://other.example/' });
    const kept = [
      scanRow({ ...ended, options }),
      scanRow({ ...ended, organisation: randomUUID() }),
      scanRow({ ...fields, phase: 'scanning' }),
    ];
    const newest = scanRow({ ...ended, createdAt: later() });
    const taken = [newest, scanRow({ ...ended, phase: 'failed' }), scanRow({ ...ended, test: true })];
    for (const row of [...kept, ...taken]) await scans.create(row);
    const erase = () => scans.eraseSite(fields.organisation, newest.site, 2);
    expect(await erase()).to.equal(2);
    expect(await scans.find(newest.id, fields.organisation), 'the newest is the last').to.not.equal(null);
    expect([await erase(), await erase()]).to.deep.equal([1, 0]);
    const organisations = (await Promise.all([...kept, ...taken].map(({ id }) => scans.find(id)))).map((row) => row?.organisation);
    expect(organisations).to.deep.equal([...kept.map(({ organisation }) => organisation), ERASED, ERASED, ERASED]);
  });

  it('removes only old abandoned rows', async () => {
    const at = (hour: number): Date => new Date(Date.UTC(2026, 0, 1, hour));
    const [old, young, pending] = [
      await scans.create(scanRow({ createdAt: at(1) })),
      await scans.create(scanRow({ createdAt: at(3) })),
      await scans.create(scanRow({ createdAt: at(1) })),
    ];
    for (const { id } of [old, young]) await scans.abandon(id);
    expect(await scans.removeAbandoned(at(2))).to.equal(1);
    expect(await scans.find(old.id)).to.equal(null);
    for (const { id } of [young, pending]) expect((await scans.find(id))?.id).to.equal(id);
  });
});
