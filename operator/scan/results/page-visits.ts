/** The page visits of an export, for the metrics. Pure. */
import type { ReportPage } from '../../../core/report/schema.ts';

export interface PageVisit {
  /** `tested`, or the reason why not. */
  outcome: string;
  seconds: number;
}

/** No page takes this long: a pod that invents durations must not distort the sums. */
const SECONDS_MAX = 3600;

export function pageVisits(pages: readonly ReportPage[]): PageVisit[] {
  return pages.map((page) => ({
    outcome: page.tested ? 'tested' : page.reason,
    seconds: Math.min(page.duration_ms / 1000, SECONDS_MAX),
  }));
}
