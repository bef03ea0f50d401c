/** What a scan costs (decisions, "Scan results"): one credit per tested page of a scan that is done, otherwise nothing. */
import type { PageProgress } from './counts.ts';
import type { Phase } from './phases.ts';

/** Pages to charge for a scan that has ended. */
export function pagesToCharge(phase: Phase, pages: Pick<PageProgress, 'scanned'> | undefined): number {
  return phase === 'done' ? (pages?.scanned ?? 0) : 0;
}
