/** What a scan counts: violations and pages. */

/** Violations by severity. One violation is one failing element of one rule on one page; `total` is the sum of the four. */
export interface Counts {
  total: number;
  critical: number;
  serious: number;
  moderate: number;
  minor: number;
}

/** The progress of a scan, in pages. `total` is the number of pages known now; it may grow during the crawl. */
export interface PageProgress {
  scanned: number;
  failed: number;
  total: number;
}
