/**
 * Workers that take keys from a workqueue and reconcile the object of each key.
 *
 * Follows controller-runtime's `internal/controller` (v0.24): success forgets the key's back-off, `requeueAfterMs`
 * schedules it, an error backs off, and a thrown value never ends a worker. Differences:
 * - a conflict (409) and a write to an object that is gone are re-queued without an error in the log, because they only mean
 *   that the cache lagged behind
 * - an error is logged when it first appears and when it is resolved, not at each attempt
 * - a stop lets running reconciles finish and skips queued keys, because the next leader lists everything anyway
 * - a reconcile that exceeds its time limit is aborted, because a hung one would block its key forever. Requests to Kubernetes
 *   and S3 and the verification of exports take the signal; MongoDB's socket time-out bounds its own commands
 */
import type { Logger } from '../../platform/logger.ts';
import { hasCode, KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { ReconcileResult, RuntimeMetrics } from './metrics.ts';
import { ObjectGone } from './resource-client.ts';
import type { WorkQueue } from './workqueue.ts';
/**
 * Reconciles one object. It must be idempotent, and it must stop when the signal aborts, because the process may no longer
 * be the leader.
 * @returns the delay until the next reconcile without an event; none if absent
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs?: number } | void>;

export interface ControllerOptions {
  name: string;
  queue: WorkQueue;
  workers: number;
  reconcile: Reconcile;
  logger: Logger;
  metrics?: RuntimeMetrics;
  clock?: Clock;
  /** Aborts when the lease is lost: running reconciles are aborted and no more start. The caller must still await `stop`. */
  signal?: AbortSignal;
  /** The time limit of a reconcile, which is then aborted and retried. Default 120,000. */
  timeoutMs?: number;
}

export function startController(options: ControllerOptions) {
  const { name, queue, metrics, clock = systemClock, timeoutMs = 120_000 } = options;
  const logger = options.logger.child({ controller: name });
  const aborted = new AbortController();
  /** The last error of each failing key, to log it only once. */
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

  async function reconcileWithLimit(key: string) {
    const overdue = new AbortController();
    const cancel = clock.after(timeoutMs, () => overdue.abort(new Error(`took longer than ${timeoutMs / 1000} s`)));
    try {
      return await options.reconcile(key, AbortSignal.any([aborted.signal, overdue.signal]));
    } finally {
      cancel();
    }
  }

  function onSuccess(key: string) {
    if (failing.delete(key)) logger.info({ key, failures: queue.failures(key) }, 'reconcile succeeded again');
    queue.forget(key);
  }

  function onFailure(key: string, error: unknown): ReconcileResult {
    if (aborted.signal.aborted) return 'aborted';
    if (error instanceof ObjectGone || hasCode(error, 409)) {
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

  async function reconcileKey(key: string): Promise<ReconcileResult> {
    try {
      const outcome = await reconcileWithLimit(key);
      onSuccess(key);
      if (outcome?.requeueAfterMs === undefined) return 'success';
      queue.addAfter(key, outcome.requeueAfterMs);
      return 'requeue';
    } catch (error) {
      return onFailure(key, error);
    }
  }

  async function work() {
    for (let key = await queue.get(); key !== null; key = await queue.get()) {
      if (!stopping) {
        const start = clock.monotonic();
        const result = await reconcileKey(key);
        metrics?.reconciled(name, result, (clock.monotonic() - start) / 1000);
      }
      queue.done(key);
    }
  }

  const workers = Promise.all(Array.from({ length: options.workers }, work));

  return {
    /** Starts no more reconciles, waits for running ones, and aborts those that have not finished after `graceMs`. */
    async stop(graceMs = 20_000): Promise<void> {
      halt();
      const cancel = clock.after(graceMs, () => aborted.abort(new Error('stopped')));
      await workers;
      cancel();
      options.signal?.removeEventListener('abort', abort);
    },
  };
}

/** The reconcile loop of a controller with a planner: gather facts, plan with a pure function, execute the actions, repeat until no action is left. */
export interface Plan<Action> {
  actions: readonly Action[];
  /** The delay until the next plan if no event arrives, in milliseconds; null waits for an event. */
  wakeAfterMs: number | null;
}

/** What follows the actions: `again` plans again at once; otherwise the key waits for an event or `requeueAfterMs`. */
export type Next = 'again' | { requeueAfterMs?: number };

export interface Planned<Facts, Action> {
  /** Returns the planner's input, or null if the object is gone and nothing is left to do. */
  gather(key: string, signal: AbortSignal): Promise<Facts | null>;
  /** Must be pure. */
  plan(facts: Facts): Plan<Action>;
  /** Each action must be idempotent, because the process may crash between any two. */
  execute(plan: Plan<Action>, facts: Facts, signal: AbortSignal): Promise<Next>;
}

/** The maximum number of consecutive plans for one key, so that one object does not occupy a worker forever. */
const ROUNDS_MAX = 8;
/** The delay after that many plans, so that other keys get a turn. */
const NEXT_TURN_MS = 10;

export const createPlannedReconcile = <Facts, Action>({ gather, plan, execute }: Planned<Facts, Action>): Reconcile =>
  repeated(async (key, signal) => {
    const facts = await gather(key, signal);
    if (facts === null) return {};
    const decided = plan(facts);
    if (decided.actions.length > 0) return execute(decided, facts, signal);
    return decided.wakeAfterMs === null ? {} : { requeueAfterMs: decided.wakeAfterMs };
  });

/** Reconciles a key until the step returns something else than `again`. */
export function repeated(step: (key: string, signal: AbortSignal) => Promise<Next>): Reconcile {
  return async (key, signal) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      signal.throwIfAborted();
      const next = await step(key, signal);
      if (next !== 'again') return next;
    }
    return { requeueAfterMs: NEXT_TURN_MS };
  };
}

/** What a controller keeps in memory about each object, by uid. */
export interface States<T> {
  /** Returns the state of an object. Callers mutate it. Only for objects that the cache holds, because their deletion forgets it. */
  of(uid: string): T;
  find(uid: string): T | undefined;
  forget(uid: string): void;
}

export function createStates<T>(create: () => T): States<T> {
  const states = new Map<string, T>();
  return {
    of(uid) {
      const state = states.get(uid) ?? create();
      states.set(uid, state);
      return state;
    },
    find: (uid) => states.get(uid),
    forget: (uid) => void states.delete(uid),
  };
}
