import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createScans, ScanGivenUp, type Scans } from '../../stores/scans/scans.ts';
import { openDatabase, type TestDatabase } from './database.ts';
import { scanRow } from '../support/scan-rows.ts';

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (reason: unknown) => reason); // prettier-ignore
const later = (): Date => new Date(Date.now() + 60_000);
const noViolations = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };

describe('read model of scans', () => {
  let database: TestDatabase;
  let scans: Scans;

  before(async () => {
    database = await openDatabase();
    scans = createScans(database.db);
  });
  after(() => database.close());

  it('stores a row once, and returns it unchanged', async () => {
    const row = scanRow();
    const stored = await scans.create(row);
    expect(stored).to.deep.equal({ ...row, version: 1, updatedAt: row.createdAt });
    expect(await scans.create({ ...row, organisation: 'other' })).to.deep.equal(stored);
    expect(await scans.find(row.id)).to.deep.equal(stored);
  });

  it('returns a row only to its own organisation', async () => {
    const { id } = await scans.create(scanRow({ organisation: 'acme' }));
    expect((await scans.find(id, 'acme'))?.id).to.equal(id);
    expect(await scans.find(id, 'globex')).to.equal(null);
    expect(await scans.find(randomUUID())).to.equal(null);
  });

  it('discards a pending row, never an accepted one', async () => {
    const pending = await scans.create(scanRow());
    const accepted = await scans.create(scanRow());
    await scans.accept(accepted.id);
    await scans.accept(accepted.id);
    expect(await scans.discard(pending.id)).to.equal(true);
    expect(await scans.discard(pending.id)).to.equal(true);
    expect(await scans.discard(accepted.id)).to.equal(false);
    expect(await scans.find(pending.id)).to.equal(null);
    expect((await scans.find(accepted.id))?.submission).to.equal('accepted');
    expect(await failure(scans.accept(pending.id))).to.be.instanceOf(ScanGivenUp);
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

  it('returns abandoned, stale and expired rows, oldest first, up to the limit', async () => {
    const own = createScans(database.db);
    await database.db.collection('scans').deleteMany({});
    const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));
    const [old, young, live] = [
      await own.create(scanRow({ createdAt: at(1) })),
      await own.create(scanRow({ createdAt: at(9) })),
      await own.create(scanRow({ createdAt: at(2) })),
    ];
    await own.accept(live.id);
    const ended = await own.create(scanRow({ createdAt: at(0) }));
    await own.accept(ended.id);
    await own.mirror(ended.id, { phase: 'canceled', finishedAt: at(5) });

    const ids = (rows: { id: string }[]): string[] => rows.map((row) => row.id);
    expect(ids(await own.abandoned(at(5), 10))).to.deep.equal([old.id]);
    expect(ids(await own.abandoned(later(), 10))).to.deep.equal([old.id, young.id]);
    expect(ids(await own.abandoned(later(), 1))).to.deep.equal([old.id]);
    expect(ids(await own.stale(at(5), 10))).to.deep.equal([live.id]);
    expect(ids(await own.stale(at(1), 10))).to.deep.equal([]);
    expect(ids(await own.expired(at(6), 10))).to.deep.equal([ended.id]);
    expect(ids(await own.expired(at(5), 10))).to.deep.equal([]);

    await own.forget(live.id);
    await own.forget(ended.id);
    expect(await own.find(ended.id)).to.equal(null);
    expect((await own.find(live.id))?.id).to.equal(live.id);
  });
});
