/**
 * Workers that take keys from a queue and reconcile the object of each.
 *
 * Follows controller-runtime's `internal/controller` (v0.24): success forgets the key's back-off, `requeueAfterMs`
 * schedules it, an error backs off, a thrown value never ends a worker. Differences: a conflict (409) is re-queued without
 * an error in the log, because it means only that the cache was behind; an error is logged when it first appears and when it
 * is over, not at each attempt; a stop lets running reconciles finish and leaves queued keys undone, since the next
 * leader lists everything anyway; a reconcile that outlives its time is aborted, because a hung one would hold its key
 * for ever.
 */
import type { Logger } from '../../platform/logger.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { systemClock, type Clock } from './clock.ts';
import type { ReconcileResult, RuntimeMetrics } from './metrics.ts';
import type { WorkQueue } from './workqueue.ts';

/**
 * Reconciles one object. It must be safe to repeat, and stop when the signal aborts: the process
 * may no longer be the leader then.
 * @returns when to reconcile again without an event, if at all
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs?: number } | void>;

export interface ControllerOptions {
  name: string;
  queue: WorkQueue;
  /** How many keys are reconciled at the same time. */
  workers: number;
  reconcile: Reconcile;
  logger: Logger;
  metrics?: RuntimeMetrics;
  clock?: Clock;
  /** Its abort (the lease is lost) aborts running reconciles and starts no more; `stop` is still to be awaited. */
  signal?: AbortSignal;
  /** A reconcile that takes longer is aborted and tried again. Default 120,000. */
  timeoutMs?: number;
}

export interface Controller {
  /**
   * Starts nothing more, waits for running reconciles, and aborts those that are not finished after `graceMs`
   * (default 20,000). Resolves when none is running.
   */
  stop(graceMs?: number): Promise<void>;
}

export function startController(options: ControllerOptions): Controller {
  const { name, queue, metrics, clock = systemClock, timeoutMs = 120_000 } = options;
  const logger = options.logger.child({ controller: name });
  const aborted = new AbortController();
  /** The last error of each failing key, so that it is logged once. */
  const failing = new Map<string, string>();
  let stopping = false;

  function halt() {
    stopping = true;
    void queue.shutDown();
  }
  function abort() {
    halt();
    aborted.abort(options.signal?.reason);
  }
  if (options.signal?.aborted) abort();
  options.signal?.addEventListener('abort', abort, { once: true });

  async function attempt(key: string) {
    const overdue = new AbortController();
    const cancel = clock.after(timeoutMs, () => overdue.abort(new Error(`took longer than ${timeoutMs / 1000} s`)));
    try {
      return await options.reconcile(key, AbortSignal.any([aborted.signal, overdue.signal]));
    } finally {
      cancel();
    }
  }

  function recover(key: string) {
    if (failing.delete(key)) logger.info({ key, failures: queue.failures(key) }, 'reconcile succeeded again');
    queue.forget(key);
  }

  function refuse(key: string, error: unknown): ReconcileResult {
    if (aborted.signal.aborted) return 'aborted';
    if (error instanceof KubernetesError && error.code === 409) {
      logger.debug({ key, reason: error.reason }, 'write conflict, retrying');
      queue.addRateLimited(key);
      return 'conflict';
    }
    const message = String(error);
    const fields = { key, err: error, failures: queue.failures(key) + 1 };
    if (failing.get(key) === message) logger.debug(fields, 'reconcile still failing');
    else logger.error(fields, 'reconcile failed, retrying');
    failing.set(key, message);
    const wait = error instanceof KubernetesError ? error.retryAfterSeconds : null;
    if (wait !== null) queue.addAfter(key, wait * 1000);
    else queue.addRateLimited(key);
    return 'error';
  }

  async function visit(key: string): Promise<ReconcileResult> {
    try {
      const outcome = await attempt(key);
      recover(key);
      if (outcome?.requeueAfterMs === undefined) return 'success';
      queue.addAfter(key, outcome.requeueAfterMs);
      return 'requeue';
    } catch (error) {
      return refuse(key, error);
    }
  }

  async function work() {
    for (let key = await queue.get(); key !== null; key = await queue.get()) {
      if (!stopping) {
        const start = clock.monotonic();
        const result = await visit(key);
        metrics?.reconciled(name, result, (clock.monotonic() - start) / 1000);
      }
      queue.done(key);
    }
  }

  const workers = Promise.all(Array.from({ length: options.workers }, work));

  return {
    async stop(graceMs = 20_000) {
      halt();
      const cancel = clock.after(graceMs, () => aborted.abort(new Error('stopped')));
      await workers;
      cancel();
      options.signal?.removeEventListener('abort', abort);
    },
  };
}
