/** The runtime's metrics, as hooks: the process connects them to Prometheus, tests count calls. */

/** `conflict` is a write that lost a race and is retried; it is not an error. `aborted` was cut short by a stop. */
export type ReconcileResult = 'success' | 'requeue' | 'conflict' | 'error' | 'aborted';
/** `closed` is the server's own end of a watch, which is normal; `expired` is a 410; `idle` a connection that went silent. */
export type WatchRestart = 'closed' | 'expired' | 'idle' | 'error';

export interface RuntimeMetrics {
  reconciled(controller: string, result: ReconcileResult, seconds: number): void;
  /** Keys that are waiting for a worker. */
  queueDepth(queue: string, depth: number): void;
  /** From when a key became ready until a worker took it. */
  queueWaited(queue: string, seconds: number): void;
  watchRestarted(resource: string, reason: WatchRestart): void;
  listed(resource: string, objects: number, seconds: number): void;
  leading(lease: string, leads: boolean): void;
}
