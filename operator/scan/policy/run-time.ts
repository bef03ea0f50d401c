/** How much time a scan gets. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';

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
