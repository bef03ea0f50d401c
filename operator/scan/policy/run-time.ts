/** Computes the run time of scans. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';

/** The settings for the run time. */
export interface RunTime {
  /** Time from the creation of the Job to the running pod, in seconds. */
  pendingDeadlineSeconds: number;
  /** Time that does not depend on the pages (start, crawl, reports), in seconds. */
  baseSeconds: number;
  /** The maximum, in seconds. */
  maxSeconds: number;
  /** The number of tabs that test pages in parallel. */
  workers: number;
  /** The maximum time per page, in milliseconds. */
  pageBudgetMs: number;
}

/** The pod may still store its results this long after its deadline, so that a scan survives 15 minutes without the object store. */
export const UPLOAD_GRACE_SECONDS = 1200;
/** The Job's deadline is this much later than the pod's, so that the pod can store its results, end by itself and report it. */
export const JOB_MARGIN_SECONDS = UPLOAD_GRACE_SECONDS + 30;
/** The operator's deadline is this much later than the Job's, so that a Job that never finishes does not block the queue. */
export const OPERATOR_MARGIN_SECONDS = 30;

/** The pod of a canceled scan has this long to store the pages that it has tested. Every other pod ends within seconds. */
export const STOP_SECONDS = 45;
/** A canceled scan ends this long after its pod was told to stop, with a report or without one. Later than the pod, so that its report can be verified. */
export const CANCEL_SECONDS = STOP_SECONDS + 15;

/** Seconds from the creation of the Job to the pod's deadline: enough for every page to use its full budget. */
export function secondsToRun(pages: number, time: RunTime): number {
  const forPages = Math.ceil((pages * time.pageBudgetMs) / 1000 / time.workers);
  return time.pendingDeadlineSeconds + Math.min(time.maxSeconds, time.baseSeconds + forPages);
}

/** Seconds from the creation of the Job to the pod's deadline, according to the deadline of the Job. */
export function secondsGiven(activeDeadlineSeconds: number | undefined): number {
  return Math.max(1, (activeDeadlineSeconds ?? 0) - JOB_MARGIN_SECONDS);
}

/** The number of pages with reserved credits, which the pod may test. */
export function reservedPages(scan: AccessibilityScan): number {
  return scan.status?.pages?.reserved ?? 0;
}
