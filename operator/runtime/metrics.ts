/** The metrics of the runtime. */
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { DROP_REASONS, type DropReason } from './events.ts';

/** `conflict` is a write that lost a race and is retried, not an error. `aborted` was aborted by a stop. */
export type ReconcileResult = 'success' | 'requeue' | 'conflict' | 'error' | 'aborted';
/** `closed`: the server ended the watch, which is normal. `expired`: a 410. `idle`: no data on the connection. */
const WATCH_RESTARTS = ['closed', 'expired', 'idle', 'error'] as const;
export type WatchRestart = (typeof WATCH_RESTARTS)[number];

export type RuntimeMetrics = Omit<ReturnType<typeof createRuntimeMetrics>, 'stoppedLeading'>;

/** For durations of requests and reconciles, in seconds. */
export const SHORT_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

export function createRuntimeMetrics({ counter, gauge, histogram }: MetricFactory) {
  const reconciles = histogram('reconcile_duration_seconds', 'Time per reconcile, by controller and result.', SHORT_SECONDS, {
    controller: [],
    result: [],
  });
  const depth = gauge('workqueue_depth', 'Number of keys that wait for a worker.', { queue: [] });
  const waited = histogram('workqueue_wait_seconds', 'Time that a key waits until a worker takes it.', SHORT_SECONDS, { queue: [] });
  const kept = gauge('watches', 'Number of watches that the operator keeps: one for each namespace, or one for all of them.', {
    resource: [],
  });
  const watches = counter('watch_restarts_total', 'Number of ended watches, by reason.', { resource: [], reason: [] });
  const lists = histogram('list_duration_seconds', 'Time to list a resource completely.', SHORT_SECONDS, { resource: [] });
  const readable = gauge(
    'namespace_readable',
    '1 if the operator can list the scans, Jobs and pods of a watched namespace (`*`: of all namespaces), else 0. Only the leader reports it.',
    { watched_namespace: [] },
  );
  const dropped = counter('events_dropped_total', 'Number of Kubernetes Events that were not recorded, by reason.', {
    reason: DROP_REASONS,
  });
  const leads = gauge('leader', '1 if this replica holds the lease, else 0.', { lease: [] });
  return {
    reconciled: (controller: string, result: ReconcileResult, seconds: number): void => reconciles.observe({ controller, result }, seconds),
    queueDepth: (queue: string, value: number): void => depth.set({ queue }, value),
    queueWaited: (queue: string, seconds: number): void => waited.observe({ queue }, seconds),
    watchKept: (resource: string): void => kept.inc({ resource }),
    watchGivenUp: (resource: string): void => kept.dec({ resource }),
    watchRestarted: (resource: string, reason: WatchRestart): void => watches.inc({ resource, reason }),
    listed(resource: string, seconds: number): void {
      lists.observe({ resource }, seconds);
      // A resource is listed before it is watched.
      for (const reason of WATCH_RESTARTS) watches.inc({ resource, reason }, 0);
    },
    /** An empty namespace stands for all namespaces. */
    namespaceReadable: (namespace: string, value: boolean): void => readable.set({ watched_namespace: namespace || '*' }, value ? 1 : 0),
    eventDropped: (reason: DropReason): void => dropped.inc({ reason }),
    leading: (lease: string, value: boolean): void => leads.set({ lease }, value ? 1 : 0),
    stoppedLeading() {
      depth.reset();
      readable.reset();
    },
  };
}
