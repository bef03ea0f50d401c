/** Measures each ingestion of a pod's results. */
import type { OperatorMetrics } from '../../metrics.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ResultUnwanted, type Ingestion } from './ingest.ts';

export function instrumentIngestion(ingestion: Ingestion, metrics: Pick<OperatorMetrics, 'ingested'>, clock: Clock): Ingestion {
  return {
    async ingest(...args) {
      const start = clock.monotonic();
      const seconds = () => (clock.monotonic() - start) / 1000;
      try {
        const ingested = await ingestion.ingest(...args);
        metrics.ingested(ingested.ok ? 'accepted' : 'refused', seconds());
        return ingested;
      } catch (error) {
        // A scan that is canceled while its results are verified is no error.
        if (!(error instanceof ResultUnwanted)) metrics.ingested('error', seconds());
        throw error;
      }
    },
  };
}
