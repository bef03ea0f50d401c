/** What a scan counts: violations and pages. */

/** Violations by severity. One violation is one failing element of one rule on one page; `total` is the sum of the four. */
export interface Counts {
  total: number;
  critical: number;
  serious: number;
  moderate: number;
  minor: number;
}

/**
 * The progress of a scan, in pages. `failed` pages were attempted and could not be tested. `total` is the number of pages
 * known now; it may grow during the crawl.
 */
export interface PageProgress {
  scanned: number;
  failed: number;
  total: number;
}

/**
 * Coverage (decisions, "Scan results"): tested ÷ attempted pages, in percent. It is rounded down to one decimal, so that it
 * is 100 only if no attempted page is missing. Nothing attempted is 0.
 */
export function coverageOf({ scanned, failed }: Pick<PageProgress, 'scanned' | 'failed'>): number {
  const attempted = scanned + failed;
  return attempted === 0 ? 0 : Math.floor((1000 * scanned) / attempted) / 10;
}
