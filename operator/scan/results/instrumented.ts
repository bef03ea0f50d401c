/** Measures each look at a pod's results. */
import type { OperatorMetrics } from '../../metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Ingestion } from './ingest.ts';

export function instrumentIngestion(ingestion: Ingestion, metrics: OperatorMetrics, clock: Clock): Ingestion {
  return {
    async ingest(stored, expected) {
      const start = clock.monotonic();
      const seconds = () => (clock.monotonic() - start) / 1000;
      try {
        const taken = await ingestion.ingest(stored, expected);
        metrics.ingested(taken.accepted ? 'accepted' : 'refused', seconds());
        return taken;
      } catch (error) {
        metrics.ingested('error', seconds());
        throw error;
      }
    },
  };
}
