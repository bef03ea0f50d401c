/** The scan object of the REST API, of its events and of webhooks. Pure. */
import { coverageOf } from '../../core/scan/counts.ts';
import { comparisonResult, knownResult, scoreAndCounts, type ScanResult } from '../../core/scan/result.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { differencePath } from '../../core/web-paths.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { toSubmittedOptions } from '../../core/scan/submitted-options.ts';
import type { ScanRow } from './scan-row.ts';

/** Rows that an earlier version stored lack its later options. */
const { crawl: CRAWL_DEFAULTS } = withDefaults({ url: 'https://www.example.com/' });

/** Converts a row to the contract's scan result. It has no findings. */
export function scanObject(row: ScanRow): ScanResult {
  return {
    scan_id: row.id,
    status: row.phase,
    ...scoreAndCounts(row.outcome),
    passed: isTerminal(row.phase) ? row.passed : null,
    report_url: row.reports === null ? null : `/v1/scans/${row.id}/report`,
    message: row.message,
    url: row.options.url,
    ...toSubmittedOptions({ ...row.options, crawl: { ...CRAWL_DEFAULTS, ...row.options.crawl } }),
    metadata: row.metadata ?? {},
    submitted_at: row.createdAt.toISOString(),
    started_at: row.startedAt?.toISOString() ?? null,
    finished_at: row.finishedAt?.toISOString() ?? null,
    pages_requested: row.pagesRequested,
    pages_reserved: row.pagesReserved,
    pages_tested: row.pages.scanned,
    pages_charged: row.pagesCharged ?? null,
    coverage: row.outcome && coverageOf(row.outcome.pages),
    baseline: toBaseline(row),
    auth: row.auth ?? null,
    test: row.test === true,
    known_issues: knownResult(row.outcome),
  };
}

/** The baseline of a row, as a result shows it; null if it has none. */
function toBaseline({ id, baseline, outcome }: Pick<ScanRow, 'id' | 'baseline' | 'outcome'>): ScanResult['baseline'] {
  if (baseline === undefined) return null;
  return { ...comparisonResult(outcome?.baseline ?? {}, baseline), difference_url: differencePath(id) };
}
