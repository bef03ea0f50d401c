/** The page visits of an export, for the metrics. Pure. */
import type { ReportPage } from '../../../report/schema/schema.ts';

export interface PageVisit {
  /** `tested`, or the reason why the page was not tested. */
  outcome: string;
  seconds: number;
}

/** Longer than any page takes. The cap keeps forged durations from distorting the sums. */
const SECONDS_MAX = 3600;

export function pageVisits(pages: readonly ReportPage[]): PageVisit[] {
  return pages.map((page) => ({
    outcome: page.tested ? 'tested' : page.reason,
    seconds: Math.min(page.duration_ms / 1000, SECONDS_MAX),
  }));
}
