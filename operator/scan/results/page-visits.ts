/** What became of an export's pages, for the metrics. Pure. */
import type { ReportPage } from '../../../core/report/schema.ts';

export interface PageVisit {
  /** `tested`, or why not. */
  outcome: string;
  seconds: number;
}

/** No page has so many seconds: a pod that makes up its times must not spoil the sums. */
const SECONDS_MAX = 3600;

export function pageVisits(pages: readonly ReportPage[]): PageVisit[] {
  return pages.map((page) => ({
    outcome: page.tested ? 'tested' : page.reason,
    seconds: Math.min(page.duration_ms / 1000, SECONDS_MAX),
  }));
}
