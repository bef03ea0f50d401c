/** What a scan's spec asks for, with every default filled in, and how much time that gives it. */
import type { AccessibilityScan, AccessibilityScanSpec } from '../../../core/protocol/custom-resources.ts';
import { SCAN_DEFAULTS, type ScanOptions } from '../../../core/scan/options.ts';

/** The scan's options. The defaults are the schema's too; they are filled in here for objects that were stored under an older one. */
export function scanOptionsOf(spec: AccessibilityScanSpec): ScanOptions {
  const { crawl } = spec;
  return {
    url: spec.url,
    maxPages: spec.maxPages ?? SCAN_DEFAULTS.maxPages,
    wcagLevel: spec.wcagLevel ?? SCAN_DEFAULTS.wcagLevel,
    wcagVersion: spec.wcagVersion ?? SCAN_DEFAULTS.wcagVersion,
    thresholds: { ...spec.thresholds },
    crawl: {
      include: [...(crawl?.include ?? SCAN_DEFAULTS.crawl.include)],
      exclude: [...(crawl?.exclude ?? SCAN_DEFAULTS.crawl.exclude)],
      sitemap: crawl?.sitemap ?? SCAN_DEFAULTS.crawl.sitemap,
      respectRobots: crawl?.respectRobots ?? SCAN_DEFAULTS.crawl.respectRobots,
    },
    locale: spec.locale ?? SCAN_DEFAULTS.locale,
  };
}

/** How long scans may take. */
export interface RunTime {
  /** From admission to the running pod, in seconds. */
  pendingDeadlineSeconds: number;
  /** What every scan gets for starting, crawling and reporting, in seconds. */
  baseSeconds: number;
  /** What no scan gets more of, in seconds. */
  maxSeconds: number;
  /** Tabs that test pages side by side. */
  workers: number;
  /** The time that one page may take, in milliseconds. */
  pageBudgetMs: number;
}

/** The Job's deadline is so much later than the one that its pod knows, so that the pod can end by itself and say so. */
export const JOB_MARGIN_SECONDS = 30;
/** And the operator's own is so much later again: a Job that nobody ends must not hold its place for ever. */
export const OPERATOR_MARGIN_SECONDS = 30;

/** Seconds from admission until the pod must have ended: enough for every page to use up its whole budget. */
export function secondsToRun(pages: number, time: RunTime): number {
  const forPages = Math.ceil((pages * time.pageBudgetMs) / 1000 / time.workers);
  return time.pendingDeadlineSeconds + Math.min(time.maxSeconds, time.baseSeconds + forPages);
}

/** Pages for which credits are held: what the pod may test. */
export function reservedPages(scan: AccessibilityScan): number {
  return scan.status?.pages?.reserved ?? 0;
}
