/** How much time a scan gets. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';

/** How long scans may take. */
export interface RunTime {
  /** From admission to the running pod, in seconds. */
  pendingDeadlineSeconds: number;
  /** The part that does not depend on the pages: start, crawl and reports. In seconds. */
  baseSeconds: number;
  /** The maximum, in seconds. */
  maxSeconds: number;
  /** Tabs that test pages in parallel. */
  workers: number;
  /** The time that one page may take, in milliseconds. */
  pageBudgetMs: number;
}

/** How much later the Job's deadline is than the pod's, so that the pod can end by itself and report it. */
export const JOB_MARGIN_SECONDS = 30;
/** How much later the operator's own deadline is: a Job that never finishes must not keep its place forever. */
export const OPERATOR_MARGIN_SECONDS = 30;

/** Seconds from admission until the pod must have ended: enough for every page to use its whole budget. */
export function secondsToRun(pages: number, time: RunTime): number {
  const forPages = Math.ceil((pages * time.pageBudgetMs) / 1000 / time.workers);
  return time.pendingDeadlineSeconds + Math.min(time.maxSeconds, time.baseSeconds + forPages);
}

/** Pages that credits are reserved for, and that the pod may test. */
export function reservedPages(scan: AccessibilityScan): number {
  return scan.status?.pages?.reserved ?? 0;
}
