/** The operator's Prometheus metrics. Labels are bounded: reasons and phases, never IDs; of queues only the first names, of schedules only up to a number. */
import { createMetricFactory, createStoreMetrics } from '../stores/process-metrics.ts';
import { REPAIRS, type SweepResult } from './maintenance/sweep.ts';
import { createQueueGauges } from './queue/metrics.ts';
import { createRuntimeMetrics } from './runtime/metrics.ts';
import { createScanMetrics } from './scan/metrics.ts';
import { createScheduleMetrics, createScheduleSeries } from './schedule/metrics.ts';

export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

/** Creates the metrics of one operator. `main.ts` adds those of the process. */
export function createOperatorMetrics() {
  const factory = createMetricFactory();
  const { counter, gauge } = factory;
  const live = gauge(
    'scans_live',
    'Number of scans that have not ended, without public scans and waiting manifests, as MAX_LIVE_SCANS limits them.',
  );
  const organisations = gauge(
    'organisations_readable',
    '1 if the operator can list Organisation resources, else 0. Only the leader reports it.',
  );
  const sweeps = counter('sweeps_total', 'Number of sweeper runs, by result.', { result: ['done', 'error'] });
  const repaired = counter('swept_total', 'Repairs and deletions by the sweeper.', { what: REPAIRS });
  const queues = createQueueGauges(factory);
  const runtime = createRuntimeMetrics(factory);
  const scans = createScanMetrics(factory);
  const scheduleSeries = createScheduleSeries(factory);
  return {
    ...scans,
    registry: factory.registry,
    stores: createStoreMetrics(factory),
    schedules: createScheduleMetrics(factory),
    scheduleSeries,
    runtime,
    live: (count: number) => live.set(count),
    queue: queues.set,
    /** The queue does not exist any more, and no scan names it. */
    queueGone: queues.remove,
    organisationsReadable: (value: boolean) => organisations.set(value ? 1 : 0),
    swept(result: SweepResult | null) {
      sweeps.inc({ result: result === null || result.failed > 0 ? 'error' : 'done' });
      for (const [what, count] of Object.entries(result ?? {})) if (count > 0) repaired.inc({ what }, count);
    },
    /** Resets the gauges, because the next leader reports them. */
    stoppedLeading() {
      live.reset();
      organisations.reset();
      for (const part of [runtime, scans, scheduleSeries]) part.stoppedLeading();
      queues.reset();
    },
  };
}
