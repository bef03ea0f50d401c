/** The words of the domain: what a scan is, what it is asked to do, and what it found. */

/** Phases in the order a scan goes through them, then the three that end it. */
export const PHASES = ['queued', 'crawling', 'scanning', 'aggregating', 'generating', 'done', 'failed', 'canceled'] as const;
export type Phase = (typeof PHASES)[number];

/** Severities of a rule, worst first (axe-core's `impact`). */
export const IMPACTS = ['critical', 'serious', 'moderate', 'minor'] as const;
export type Impact = (typeof IMPACTS)[number];

export const WCAG_LEVELS = ['A', 'AA', 'AAA'] as const;
export type WcagLevel = (typeof WCAG_LEVELS)[number];

export const WCAG_VERSIONS = ['2.1', '2.2'] as const;
export type WcagVersion = (typeof WCAG_VERSIONS)[number];

/** Languages in which findings and reports can be given. */
export const LOCALES = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Locale = (typeof LOCALES)[number];

/** What a scan must meet to pass. An absent threshold is not checked. */
export interface Thresholds {
  /** The score must be at least this, 0 to 100. */
  minScore?: number;
  /** The violations over all pages must be at most this many. */
  maxViolations?: number;
  /** No violation may be of this severity or worse. */
  failOnSeverity?: Impact;
}

/** Which pages of a site belong to a scan. */
export interface CrawlRules {
  /** Only pages whose path and query match one of these globs (`*` within a segment, `**` across); empty: every page. */
  include: string[];
  /** Never pages whose path and query match one of these globs. */
  exclude: string[];
  /** Whether the site's sitemaps add pages. */
  sitemap: boolean;
  /** Whether robots.txt is obeyed. */
  respectRobots: boolean;
}

/** Everything that decides what a scan does. All defaults are filled in. */
export interface ScanOptions {
  url: string;
  maxPages: number;
  wcagLevel: WcagLevel;
  wcagVersion: WcagVersion;
  thresholds: Thresholds;
  crawl: CrawlRules;
  locale: Locale;
}

/** Violations by severity. One violation is one failing element of one rule on one page; `total` is the four's sum. */
export interface Counts {
  total: number;
  critical: number;
  serious: number;
  moderate: number;
  minor: number;
}

/** How far a scan is, in pages. `total` is what is known to be in the scan now; it may grow while crawling. */
export interface PageProgress {
  scanned: number;
  failed: number;
  total: number;
}

/** What a finished scan found. */
export interface Outcome {
  /** 0 to 100, one decimal. */
  score: number;
  violations: Counts;
  pages: PageProgress;
}

/** One stored report object. */
export interface ReportObject {
  key: string;
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

/** The two objects that a scan leaves behind. */
export interface ReportObjects {
  export: ReportObject;
  pdf: ReportObject;
}

/** The defaults of a submission (contract, "CI scan submission"). */
export const SCAN_DEFAULTS = {
  maxPages: 5,
  wcagLevel: 'AA',
  wcagVersion: '2.1',
  locale: 'en',
  crawl: { include: [], exclude: [], sitemap: true, respectRobots: true },
} as const satisfies Partial<Omit<ScanOptions, 'crawl'>> & {
  crawl: { include: readonly string[]; exclude: readonly string[]; sitemap: boolean; respectRobots: boolean };
};

/** True where at least one threshold is set, so that a verdict is due. */
export function hasThresholds(thresholds: Thresholds): boolean {
  return thresholds.minScore !== undefined || thresholds.maxViolations !== undefined || thresholds.failOnSeverity !== undefined;
}
