/** The search of scans, against a plain filter over an array. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Collection } from 'mongodb';
import { withDefaults } from '../../core/scan/options.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import { LIVE_PHASES, PHASES } from '../../core/scan/phases.ts';
import { createScans, type ScanRow } from '../../stores/scans/scans.ts';
import { newRow, type ScanDocument } from '../../stores/scans/scan-row.ts';
import { searchScans, VERDICTS, type ScanSearch } from '../../stores/scans/scan-search.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { createSites } from '../../stores/scans/sites.ts';
import { scanRow } from '../support/scan-rows.ts';
import { useDatabase, useStore } from './database.ts';

const SITES = ['https://example.com/', 'https://Example.com/shop?a=(1)', 'https://www.example.com/', 'http://localhost:8080/a+b'];
const METADATA: (Metadata | undefined)[] = [
  undefined,
  { branch: 'main', commit: 'c1' },
  { branch: 'main', 'a.b': '=1' },
  { branch: 'fix/main', 'a.b': '=1' },
  {},
];
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));

describe('scan search', () => {
  const database = useDatabase();
  const scans = useStore(database, createScans);
  const sites = useStore(database, createSites);
  let documents: Collection<ScanDocument>;
  before(async () => {
    documents = database.db.collection<ScanDocument>('scans');
  });

  const rowOf = (organisation: string, minute: number, over: Partial<ScanRow> = {}, url = SITES[0]!): Promise<ScanRow> =>
    scans.create(scanRow({ organisation, submission: 'accepted', createdAt: at(minute), options: withDefaults({ url }), ...over }));

  /** What a search must find. */
  function isMeant(row: ScanRow, { phases, verdict, site, text, origin, since, until, metadata = {} }: Omit<ScanSearch, 'limit'>): boolean {
    const verdictOf = row.passed === null ? (row.phase === 'done' ? 'none' : null) : row.passed ? 'passed' : 'missed';
    return (
      row.submission === 'accepted' &&
      (phases === undefined || phases.includes(row.phase)) &&
      (since === undefined || row.createdAt >= since) &&
      (until === undefined || row.createdAt < until) &&
      (verdict === undefined || verdict === verdictOf) &&
      (site === undefined || site === row.site) &&
      (origin === undefined || origin === row.origin) &&
      Object.entries(metadata).every(([key, value]) => row.metadata?.[key] === value) &&
      row.options.url.toLowerCase().includes((text ?? '').trim().toLowerCase())
    );
  }

  it('finds exactly the scans that meet every filter, newest first, in pages of any size', async () => {
    const organisation = randomUUID();
    const rows = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        rowOf(
          organisation,
          Math.floor(index / 3),
          {
            phase: PHASES[(index * 7) % PHASES.length]!,
            passed: [null, true, false][index % 3]!,
            origin: index % 4 === 0 ? 'manifest' : 'api',
            metadata: METADATA[index % METADATA.length],
            submission: index % 11 === 0 ? 'abandoned' : 'accepted',
          },
          SITES[index % SITES.length],
        ),
      ),
    );
    await rowOf('another', 5);
    const order = rows.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
    const search = fc.record(
      {
        phases: fc.constantFrom<ScanSearch['phases']>(LIVE_PHASES, ['done'], ['failed', 'canceled']),
        since: fc.integer({ min: 0, max: 40 }).map(at),
        until: fc.integer({ min: 0, max: 40 }).map(at),
        verdict: fc.constantFrom(...VERDICTS),
        site: fc.constantFrom('example.com', 'www.example.com', 'localhost:8080', 'never.example'),
        text: fc.constantFrom('', 'EXAMPLE', '(1)', 'a+b', '.*', ' shop ', '\\'),
        origin: fc.constantFrom('api' as const, 'manifest' as const),
        metadata: fc.constantFrom<Metadata[]>({}, { branch: 'main' }, { branch: 'main', 'a.b': '=1' }, { 'a.b': '=1' }, { no: 'x' }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(search, fc.integer({ min: 1, max: 50 }), fc.constantFrom(1, 10, 1000), async (filters, limit, examinedMax) => {
        const found: string[] = [];
        let after: ScanSearch['after'] = null;
        for (let pages = 0; ; pages += 1) {
          expect(pages).to.be.below(300);
          const page = await searchScans(documents, organisation, { ...filters, after, limit }, examinedMax);
          expect(page.rows.length).to.be.at.most(limit);
          found.push(...page.rows.map(({ id }) => id));
          if (page.next === null) break;
          after = page.next;
        }
        expect(found).to.deep.equal(order.filter((row) => isMeant(row, filters)).map(({ id }) => id));
      }),
      { numRuns: 60 },
    );
  });

  it('looks at a limited number of scans per query, and says where to continue', async () => {
    const organisation = randomUUID();
    for (let minute = 0; minute < 30; minute += 1) await rowOf(organisation, minute, {}, minute === 0 ? SITES[1] : SITES[0]);
    const first = await searchScans(documents, organisation, { text: 'shop', limit: 10 }, 20);
    expect(first.rows).to.deep.equal([]);
    expect(first.next?.at).to.deep.equal(at(10));
    const second = await searchScans(documents, organisation, { text: 'shop', limit: 10, after: first.next }, 20);
    expect(second.rows).to.have.length(1);
    expect(second.next).to.equal(null);
  });

  it('also lists rows of earlier versions, which have no site', async () => {
    const organisation = randomUUID();
    const row = await rowOf(organisation, 1, { phase: 'done' });
    await documents.updateOne({ _id: row.id }, { $unset: { site: true } });
    expect((await scans.search(organisation, { limit: 5 })).rows.map(({ id }) => id)).to.deep.equal([row.id]);
    expect((await scans.search(organisation, { limit: 5, site: 'example.com' })).rows).to.deep.equal([]);
    expect((await scans.trend(row, 5)).map((one) => one.id)).to.deep.equal([row.id]);
  });

  it('never shows public scans to an organisation', async () => {
    const organisation = randomUUID();
    await rowOf(ANONYMOUS, 1, { queue: 'public', phase: 'done' });
    const own = await rowOf(organisation, 2, { phase: 'done' });
    expect((await scans.search(organisation, { limit: 5 })).rows.map(({ id }) => id)).to.deep.equal([own.id]);
    expect((await scans.trend(own, 5)).map(({ id }) => id)).to.deep.equal([own.id]);
    expect(await scans.previousDone(own)).to.equal(null);
  });

  it('keeps the metadata of a row, whatever the keys and values', async () => {
    const organisation = randomUUID();
    const metadata = { branch: 'feature/a=b', 'dotted.key': '$x', constructor: 'é 😀', '1': '=' };
    const { id } = await rowOf(organisation, 1, { metadata });
    expect((await scans.find(id))?.metadata).to.deep.equal(metadata);
    for (const pair of Object.entries(metadata))
      expect((await scans.search(organisation, { limit: 5, metadata: Object.fromEntries([pair]) })).rows).to.have.length(1);
    const without = await rowOf(organisation, 2, { metadata: {} });
    expect(without).to.not.have.property('metadata');
  });

  describe('the newest scan with metadata', () => {
    const site = 'example.com';
    const main = { branch: 'main' };

    it('is done, of the same site, has every pair, and was submitted before the time', async () => {
      const organisation = randomUUID();
      const done = { phase: 'done', metadata: { ...main, commit: 'a' } } as const;
      const old = await rowOf(organisation, 1, done);
      const newer = await rowOf(organisation, 2, { ...done, metadata: { ...main, commit: 'b' } });
      await rowOf(organisation, 3, { ...done, phase: 'failed' });
      await rowOf(organisation, 4, { ...done, phase: 'scanning' });
      await rowOf(organisation, 5, { ...done, submission: 'abandoned' });
      await rowOf(organisation, 6, { ...done, metadata: { branch: 'other' } });
      await rowOf(organisation, 7, done, SITES[2]);
      await rowOf('another', 8, done);
      const newest = async (metadata: Metadata, minute: number) =>
        (await scans.newestDoneWith(organisation, { site, metadata, before: at(minute) }))?.id ?? null;
      expect(await newest(main, 9)).to.equal(newer.id);
      expect(await newest(main, 2)).to.equal(old.id);
      expect(await newest(main, 1)).to.equal(null);
      expect(await newest({ ...main, commit: 'a' }, 9)).to.equal(old.id);
      expect(await newest({ ...main, commit: 'c' }, 9)).to.equal(null);
    });

    it('finds the newest done scan of a schedule', async () => {
      const organisation = randomUUID();
      const done = { phase: 'done', schedule: 'nightly' } as const;
      const old = await rowOf(organisation, 1, done);
      await rowOf(organisation, 2, { ...done, phase: 'failed' });
      await rowOf(organisation, 3, { ...done, schedule: 'weekly' });
      await rowOf(randomUUID(), 3, done);
      // Of a schedule for another site that had the name.
      await rowOf(organisation, 4, done, SITES[2]);
      const { site } = old;
      const newest = (schedule: string, minute: number) => scans.newestDoneWith(organisation, { schedule, site, before: at(minute) });
      expect((await newest('nightly', 9))?.id).to.equal(old.id);
      expect(await newest('nightly', 1)).to.equal(null);
      expect(await newest('hourly', 9)).to.equal(null);
      const { namespace } = old.resource;
      expect((await scans.newestDoneWith(organisation, { schedule: 'nightly', site, namespace, before: at(9) }))?.id).to.equal(old.id);
      expect(await scans.newestDoneWith(organisation, { schedule: 'nightly', site, namespace: 'elsewhere', before: at(9) })).to.equal(null);
    });
  });

  describe('trend and the previous scan', () => {
    it('are the last done scans of the same URL, newest first', async () => {
      const organisation = randomUUID();
      const done = [
        await rowOf(organisation, 1, { phase: 'done' }),
        await rowOf(organisation, 2, { phase: 'done' }),
        await rowOf(organisation, 3, { phase: 'done' }),
      ];
      await rowOf(organisation, 4, { phase: 'failed' });
      await rowOf(organisation, 5, { phase: 'done', submission: 'abandoned' });
      await rowOf(organisation, 6, { phase: 'done' }, SITES[2]);
      const ids = (rows: ScanRow[]) => rows.map(({ id }) => id);
      expect(ids(await scans.trend(done[2]!, 2))).to.deep.equal([done[2]!.id, done[1]!.id]);
      expect((await scans.previousDone(done[2]!))?.id).to.equal(done[1]!.id);
      expect(await scans.previousDone(done[0]!)).to.equal(null);
    });

    it('compare only scans with the same rules and choice of pages', async () => {
      const organisation = randomUUID();
      const url = SITES[0]!;
      const comparable = await rowOf(organisation, 1, {
        phase: 'done',
        options: withDefaults({ url, locale: 'pl', thresholds: { minScore: 5 } }),
      });
      await rowOf(organisation, 2, { phase: 'done', options: withDefaults({ url, wcagVersion: '2.2' }) });
      await rowOf(organisation, 3, { phase: 'done', options: withDefaults({ url, maxPages: 9 }) });
      await rowOf(organisation, 4, { phase: 'done', options: withDefaults({ url, crawl: { exclude: ['/a'] } }) });
      await rowOf(organisation, 5, { phase: 'done', auth: { secret: 'shop' } });
      const { optionsKey: signedIn } = newRow(comparable, { secretRef: { name: 'shop' } });
      const manifest = await rowOf(organisation, 6, { phase: 'done', origin: 'manifest', optionsKey: signedIn });
      const last = await rowOf(organisation, 7, { phase: 'done' });
      expect(await scans.previousDone(manifest)).to.equal(null);
      expect((await scans.previousDone(last))?.id).to.equal(comparable.id);
      expect((await scans.trend(last, 5)).map(({ id }) => id)).to.deep.equal([last.id, comparable.id]);
    });

    it('leave out checks of a page, which belong to the scan that they check, and to no site', async () => {
      const organisation = randomUUID();
      const metadata = { branch: 'main' };
      const scan = await rowOf(organisation, 1, { phase: 'done', metadata });
      const check = (minute: number, over: Partial<ScanRow> = {}) =>
        rowOf(organisation, minute, { phase: 'done', metadata, baseline: { scan: scan.id, check: {} }, ...over });
      const checks = [await check(2), await check(3)];
      await check(4, { phase: 'failed' });
      await check(5, { baseline: { scan: scan.id } });
      const later = await rowOf(organisation, 6, { phase: 'failed' });
      const newest = (await scans.newestDoneWith(organisation, { site: 'example.com', metadata, before: at(5) }))?.id;
      expect([
        newest,
        (await scans.trend(later, 9)).length,
        (await scans.checksOf(organisation, scan.id)).map(({ id }) => id),
      ]).to.deep.equal([scan.id, 2, [checks[1]!.id, checks[0]!.id]]);
      await sites.record([scan, ...checks]);
      await sites.without([scan.id]);
      expect((await sites.search(organisation, { limit: 9 })).sites.map(({ groups }) => groups[0]!.done)).to.not.include(checks[1]!.id);
    });
  });
});
