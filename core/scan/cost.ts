/**
 * What a scan costs (decisions, "Scan results" and "Also over REST"): one credit per tested page of a scan that is done or was
 * canceled. A scan that failed costs nothing.
 */
import type { PageProgress } from './counts.ts';
import type { Phase } from './phases.ts';

/** Pages to charge for a scan that has ended. */
export function pagesToCharge(phase: Phase, pages: Pick<PageProgress, 'scanned'> | undefined): number {
  return phase === 'done' || phase === 'canceled' ? (pages?.scanned ?? 0) : 0;
}
