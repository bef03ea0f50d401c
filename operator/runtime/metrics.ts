/** The metrics of the runtime. The operator connects them to Prometheus; tests count calls. */
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { DROP_REASONS, type DropReason } from './events.ts';

/** `conflict` is a write that lost a race and is retried, not an error. `aborted` was aborted by a stop. */
export type ReconcileResult = 'success' | 'requeue' | 'conflict' | 'error' | 'aborted';
/** `closed`: the server ended the watch, which is normal. `expired`: a 410. `idle`: no data on the connection. */
export type WatchRestart = 'closed' | 'expired' | 'idle' | 'error';

export interface RuntimeMetrics {
  reconciled(controller: string, result: ReconcileResult, seconds: number): void;
  /** The number of keys that wait for a worker. */
  queueDepth(queue: string, depth: number): void;
  /** The time that a key waited until a worker took it. */
  queueWaited(queue: string, seconds: number): void;
  watchRestarted(resource: string, reason: WatchRestart): void;
  listed(resource: string, seconds: number): void;
  /** Whether the objects of a watched namespace can be listed. An empty namespace stands for all namespaces. */
  namespaceReadable(namespace: string, readable: boolean): void;
  /** Called for each Kubernetes Event that was not recorded. */
  eventDropped(reason: DropReason): void;
  leading(lease: string, leads: boolean): void;
}

/** Typed so that the compiler names a value that is missing. */
const WATCH_RESTARTS: Readonly<Record<WatchRestart, true>> = { closed: true, expired: true, idle: true, error: true };
/** For durations of requests and reconciles, in seconds. */
export const SHORT_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

export function createRuntimeMetrics({ counter, gauge, histogram }: MetricFactory): RuntimeMetrics & { stoppedLeading(): void } {
  const reconciles = histogram('reconcile_duration_seconds', 'Time per reconcile, by controller and result.', SHORT_SECONDS, {
    controller: [],
    result: [],
  });
  const depth = gauge('workqueue_depth', 'Number of keys that wait for a worker.', { queue: [] });
  const waited = histogram('workqueue_wait_seconds', 'Time that a key waits until a worker takes it.', SHORT_SECONDS, { queue: [] });
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
    reconciled: (controller, result, seconds) => reconciles.observe({ controller, result }, seconds),
    queueDepth: (queue, value) => depth.set({ queue }, value),
    queueWaited: (queue, seconds) => waited.observe({ queue }, seconds),
    watchRestarted: (resource, reason) => watches.inc({ resource, reason }),
    listed(resource, seconds) {
      lists.observe({ resource }, seconds);
      // A resource is listed before it is watched.
      for (const reason of Object.keys(WATCH_RESTARTS)) watches.inc({ resource, reason }, 0);
    },
    namespaceReadable: (namespace, value) => readable.set({ watched_namespace: namespace || '*' }, value ? 1 : 0),
    eventDropped: (reason) => dropped.inc({ reason }),
    leading: (lease, value) => leads.set({ lease }, value ? 1 : 0),
    stoppedLeading() {
      depth.reset();
      readable.reset();
    },
  };
}
