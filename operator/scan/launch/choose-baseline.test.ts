import { expect } from 'chai';
import { contextOf } from '../../../test/support/operator-context.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { NewestDone } from '../../../stores/scans/scan-search.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { chooseBaseline } from './preflight.ts';

const NOW = new Date('2026-03-02T10:00:05Z');
const reports = { export: { key: 'e', bytes: 1, sha256: 'a' }, pdf: { key: 'p', bytes: 1, sha256: 'b' } };
const own = scanRow({ id: 'own', organisation: 'acme', createdAt: new Date('2026-03-02T10:00:00Z') });
const rows: ScanRow[] = [
  own,
  scanRow({ ...own, id: 'applied', origin: 'manifest', resource: { namespace: 'shop', name: 'gate' } }),
  scanRow({ id: 'main', organisation: 'acme', phase: 'done', reports, finishedAt: new Date(NOW.getTime() - 80 * 86_400_000) }),
  scanRow({ id: 'expiring', organisation: 'acme', phase: 'done', reports, finishedAt: new Date(NOW.getTime() - 89.5 * 86_400_000) }),
  scanRow({ id: 'expired', organisation: 'acme', phase: 'done', reports: null }),
  scanRow({ id: 'failed', organisation: 'acme', phase: 'failed', reports: null }),
  scanRow({ id: 'partial', organisation: 'acme', phase: 'canceled', reports, finishedAt: NOW }),
  scanRow({ id: 'tried', organisation: 'acme', phase: 'done', reports, test: true, finishedAt: NOW }),
  scanRow({ ...own, id: 'try', test: true }),
  scanRow({ id: 'check', organisation: 'acme', phase: 'done', reports, baseline: { scan: 'main', check: {} }, finishedAt: NOW }),
  scanRow({ id: 'foreign', organisation: 'other', phase: 'done', reports }),
];

/** Chooses with a store that answers the search with a row. @returns the choice and what was searched */
async function choose(choice: BaselineChoice, newest: string | null = null, scan = 'own') {
  const searches: [string, NewestDone][] = [];
  const context = contextOf({
    settings: { retentionDays: 90 },
    clock: { now: () => NOW },
    stores: {
      scans: {
        find: async (id, organisation) =>
          rows.find((row) => row.id === id && (organisation ?? row.organisation) === row.organisation) ?? null,
        async newestDoneWith(organisation, search) {
          searches.push([organisation, search]);
          return rows.find(({ id }) => id === newest) ?? null;
        },
      },
    },
  });
  const found = await chooseBaseline(context, scan, choice);
  return { found, searches };
}

describe('the choice of a baseline', () => {
  const cases: [what: string, choice: BaselineChoice, found: object][] = [
    ['a scan', { scan: 'main' }, { scanId: 'main', optional: false }],
    ['an optional one', { scan: 'main', optional: true }, { scanId: 'main', optional: true }],
    ['a scan without stored reports', { scan: 'expired' }, { scanId: 'expired', optional: false, problem: 'not_stored' }],
    [
      'a scan whose reports will be deleted within a day',
      { scan: 'expiring' },
      { scanId: 'expiring', optional: false, problem: 'not_stored' },
    ],
    ['a scan without a result', { scan: 'failed' }, { optional: false, problem: 'not_found' }],
    ['a canceled scan, although it has a partial report', { scan: 'partial' }, { optional: false, problem: 'not_found' }],
    ['a scan of another organisation', { scan: 'foreign' }, { optional: false, problem: 'not_found' }],
    ['a scan of a test key', { scan: 'tried' }, { optional: false, problem: 'not_found' }],
    ['a check of a page', { scan: 'check' }, { optional: false, problem: 'not_found' }],
    [
      'what a check names',
      { scan: 'main', check: { cause: '0'.repeat(16) } },
      { scanId: 'main', optional: false, check: { cause: '0'.repeat(16) } },
    ],
    ['the scan itself', { scan: 'own' }, { optional: false, problem: 'not_found' }],
  ];
  for (const [what, choice, expected] of cases)
    it(`may be ${what}`, async () => expect((await choose(choice)).found).to.deep.equal(expected));

  it('is the newest done scan of before, of its site with the metadata, of a named site, or of a schedule', async () => {
    const before = own.createdAt;
    const metadata = { branch: 'main' };
    const site = new URL(own.options.url).host;
    expect(await choose({ metadata }, 'main')).to.deep.equal({
      found: { scanId: 'main', optional: false },
      searches: [['acme', { metadata, site, before }]],
    });
    expect((await choose({ metadata, site: 'www.example.com' })).searches).to.deep.equal([
      ['acme', { metadata, site: 'www.example.com', before }],
    ]);
    expect((await choose({ schedule: 'nightly' })).searches).to.deep.equal([['acme', { schedule: 'nightly', site, before }]]);
    expect((await choose({ schedule: 'nightly' }, null, 'applied')).searches).to.deep.equal([
      ['acme', { schedule: 'nightly', namespace: 'shop', site, before }],
    ]);
    expect((await choose({ metadata }, 'tried', 'try')).searches).to.deep.equal([['acme', { metadata, site, before, test: true }]]);
    expect((await choose({ scan: 'tried' }, null, 'try')).found).to.deep.equal({ scanId: 'tried', optional: false });
    expect((await choose({ schedule: 'nightly' })).found).to.deep.equal({ optional: false, problem: 'not_found' });
  });
});
