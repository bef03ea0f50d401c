/** Stops the pods of a canceled scan, so that they store the pages that they have tested. Idempotent. */
import type { Logger } from '../../../platform/logger.ts';
import type { Reports } from '../../../stores/reports.ts';
import type { Facts } from '../policy/facts.ts';
import type { Children } from './children.ts';

export interface StopDeps {
  children: Pick<Children, 'suspendJob'>;
  reports: Pick<Reports, 'markCanceled'>;
  logger: Logger;
}

export async function stopPods(
  { children, reports, logger }: StopDeps,
  { scanId, job }: Pick<Facts, 'scanId' | 'job'>,
  signal: AbortSignal,
): Promise<void> {
  // Without the mark, the pod takes its end for an eviction, and stores nothing. It must stop testing all the same.
  await reports.markCanceled(scanId, signal).catch((err: unknown) => {
    signal.throwIfAborted();
    logger.warn({ scan: scanId, err }, 'cancellation not marked; there will be no report');
  });
  await children.suspendJob(job!, signal);
}
