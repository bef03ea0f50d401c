/** Hooks for the runtime's metrics. The operator connects them to Prometheus; tests count calls. */
import type { DropReason } from './events/event-sender.ts';

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
  listed(resource: string, objects: number, seconds: number): void;
  /** Whether the objects of a watched namespace can be listed. An empty namespace stands for all namespaces. */
  namespaceReadable(namespace: string, readable: boolean): void;
  /** Called for each Kubernetes Event that was not recorded. */
  eventDropped(reason: DropReason): void;
  leading(lease: string, leads: boolean): void;
}
