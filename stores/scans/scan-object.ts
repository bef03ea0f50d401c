/** The scan object of the REST API, of its events and of webhooks. Pure. */
import type { BaselineOutcome } from '../../core/scan/baseline.ts';
import { coverageOf } from '../../core/scan/counts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { findings } from '../../core/scan/outcome.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { differencePath } from '../../core/web-paths.ts';
import { toSubmittedOptions } from '../../report/schema/options.ts';
import type { ScanRow } from './scan-row.ts';

/** Converts a row to the contract's scan result. It has no findings. */
export function scanObject(row: ScanRow) {
  return {
    scan_id: row.id,
    status: row.phase,
    ...findings(row.outcome),
    passed: isTerminal(row.phase) ? row.passed : null,
    report_url: row.reports === null ? null : `/v1/scans/${row.id}/report`,
    message: row.message,
    url: row.options.url,
    // Rows of earlier versions lack newer options.
    ...toSubmittedOptions(withDefaults(row.options)),
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
    known_issues: toKnown(row),
  };
}

/** The numbers of known issues; null if the site has none. */
function toKnown({ outcome }: Pick<ScanRow, 'outcome'>) {
  if (outcome?.known === undefined) return null;
  const { matched, unmatched, ending } = outcome.known;
  return { matched, unmatched, ending };
}

/** The baseline of a row, as a result shows it; null if it has none. */
function toBaseline({ id, baseline, outcome }: Pick<ScanRow, 'id' | 'baseline' | 'outcome'>) {
  if (baseline === undefined) return null;
  const { scanId, problem, difference }: Partial<BaselineOutcome> = outcome?.baseline ?? {};
  return {
    scan_id: scanId ?? baseline.scan ?? null,
    problem: problem ?? null,
    new: difference?.new ?? null,
    new_known: difference === undefined ? null : (difference.newKnown ?? 0),
    on_new_pages: difference?.onNewPages ?? null,
    fixed: difference?.fixed ?? null,
    unchanged: difference?.unchanged ?? null,
    not_tested: difference?.notTested ?? null,
    difference_url: differencePath(id),
  };
}
