/** The search of scans, against a plain filter over an array. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Collection } from 'mongodb';
import { withDefaults } from '../../core/scan/options.ts';
import { LIVE_PHASES, PHASES } from '../../core/scan/phases.ts';
import { createScans, type ScanRow, type Scans } from '../../stores/scans/scans.ts';
import type { ScanDocument } from '../../stores/scans/scan-document.ts';
import { searchScans, VERDICTS, type ScanSearch } from '../../stores/scans/scan-search.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { scanRow } from '../support/scan-rows.ts';
import { useDatabase } from './database.ts';

const SITES = ['https://example.com/', 'https://Example.com/shop?a=(1)', 'https://www.example.com/', 'http://localhost:8080/a+b'];
const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));

describe('scan search', () => {
  const database = useDatabase();
  let scans: Scans;
  let documents: Collection<ScanDocument>;
  before(async () => {
    scans = createScans(database.db);
    documents = database.db.collection<ScanDocument>('scans');
  });

  const rowOf = (organisation: string, minute: number, over: Partial<ScanRow> = {}, url = SITES[0]!): Promise<ScanRow> =>
    scans.create(scanRow({ organisation, submission: 'accepted', createdAt: at(minute), options: withDefaults({ url }), ...over }));

  /** What a search must find. */
  function isMeant(row: ScanRow, { phases, verdict, site, text, origin, since, until }: Omit<ScanSearch, 'limit'>): boolean {
    const verdictOf = row.passed === null ? (row.phase === 'done' ? 'none' : null) : row.passed ? 'passed' : 'missed';
    return (
      row.submission === 'accepted' &&
      (phases === undefined || phases.includes(row.phase)) &&
      (since === undefined || row.createdAt >= since) &&
      (until === undefined || row.createdAt < until) &&
      (verdict === undefined || verdict === verdictOf) &&
      (site === undefined || site === row.site) &&
      (origin === undefined || origin === row.origin) &&
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

  it('has an index of organisation, filter and time for every filter that may select few of many scans', async () => {
    const keys = (await documents.indexes()).map(({ key }) => JSON.stringify(key));
    for (const field of ['site', 'passed', 'phase'])
      expect(keys).to.include(JSON.stringify({ organisation: 1, [field]: 1, createdAt: -1, _id: -1 }));
    expect(keys).to.include(JSON.stringify({ organisation: 1, 'options.url': 1, phase: 1, createdAt: -1, _id: -1 }));
  });

  it('also lists rows of earlier versions, which have no site', async () => {
    const organisation = randomUUID();
    const { id } = await rowOf(organisation, 1, { phase: 'done' });
    await documents.updateOne({ _id: id }, { $unset: { site: true } });
    expect((await scans.search(organisation, { limit: 5 })).rows.map((row) => row.id)).to.deep.equal([id]);
    expect((await scans.search(organisation, { limit: 5, site: 'example.com' })).rows).to.deep.equal([]);
    expect((await scans.trend(organisation, SITES[0]!, 5)).map((row) => row.id)).to.deep.equal([id]);
  });

  it('never shows public scans to an organisation', async () => {
    const organisation = randomUUID();
    await rowOf(ANONYMOUS, 1, { queue: 'public', phase: 'done' });
    const own = await rowOf(organisation, 2, { phase: 'done' });
    expect((await scans.search(organisation, { limit: 5 })).rows.map(({ id }) => id)).to.deep.equal([own.id]);
    expect((await scans.trend(organisation, SITES[0]!, 5)).map(({ id }) => id)).to.deep.equal([own.id]);
    expect(await scans.previousDone(own)).to.equal(null);
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
      expect(ids(await scans.trend(organisation, SITES[0]!, 2))).to.deep.equal([done[2]!.id, done[1]!.id]);
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
      expect((await scans.previousDone(await rowOf(organisation, 5)))?.id).to.equal(comparable.id);
    });
  });
});
