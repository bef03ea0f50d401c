/**
 * A workqueue that never gives a key to two workers and never loses a change that arrives while its key is processed.
 *
 * Follows client-go's `util/workqueue` (queue, delaying_queue, default_rate_limiters), v0.36. The `dirty` set holds the keys that
 * need work, `processing` the keys that workers hold. A key that is added while it is processed waits for `done`. After shutdown,
 * queued keys are still returned. Differences:
 * - the maximum back-off is a minute (client-go: 1,000 s, which delays keys long after an outage has ended) and has jitter
 * - there is no overall rate limit, because the connection pool limits the requests
 * - shutdown drops scheduled keys
 */
import type { Clock } from '../../platform/clock.ts';
import type { RuntimeMetrics } from './metrics.ts';

export interface QueueOptions {
  clock: Clock;
  name?: string;
  metrics?: RuntimeMetrics;
  /** The first back-off, in milliseconds. Default 100. */
  baseDelayMs?: number;
  /** The maximum back-off, in milliseconds. Default 60,000. */
  maxDelayMs?: number;
  /** Returns 0 to 1. Adds jitter to the upper half of each back-off, so that keys that failed together do not retry together. */
  random?: () => number;
}

export type WorkQueue = ReturnType<typeof createWorkqueue>;

export function createWorkqueue(options: QueueOptions) {
  const { clock, metrics, name = 'queue', baseDelayMs = 100, maxDelayMs = 60_000, random = Math.random } = options;
  /** Keys that wait for a worker, in order, with the time at which they were queued. */
  const ready = new Map<string, number>();
  const dirty = new Set<string>();
  const processing = new Set<string>();
  const scheduled = new Map<string, { due: number; cancel: () => void }>();
  const failed = new Map<string, number>();
  const waiting: ((key: string | null) => void)[] = [];
  const drained: (() => void)[] = [];
  let closed = false;

  function push(key: string) {
    ready.set(key, clock.monotonic());
    const worker = waiting.shift();
    if (worker) worker(take());
    else metrics?.queueDepth(name, ready.size);
  }

  function take(): string {
    const [key, since] = ready.entries().next().value as [string, number];
    ready.delete(key);
    dirty.delete(key);
    processing.add(key);
    metrics?.queueDepth(name, ready.size);
    metrics?.queueWaited(name, (clock.monotonic() - since) / 1000);
    return key;
  }

  /** Queues the key. Several calls before a worker takes it count as one. */
  function add(key: string): void {
    if (closed || dirty.has(key)) return;
    dirty.add(key);
    if (!processing.has(key)) push(key);
  }

  /** Adds the key after `ms` milliseconds; the earliest of several calls wins. */
  function addAfter(key: string, ms: number): void {
    if (closed) return;
    if (!(ms > 0)) return add(key);
    const due = clock.monotonic() + ms;
    const earlier = scheduled.get(key);
    if (earlier && earlier.due <= due) return;
    earlier?.cancel();
    const wake = () => {
      const left = due - clock.monotonic();
      // A timer is limited to 24 days and may fire slightly early, so check the due time.
      if (left > 0) return void (entry.cancel = clock.after(left, wake));
      scheduled.delete(key);
      add(key);
    };
    const entry = { due, cancel: clock.after(ms, wake) };
    scheduled.set(key, entry);
  }

  function resolveDrained() {
    if (!closed || ready.size > 0 || processing.size > 0) return;
    for (const resolve of drained.splice(0)) resolve();
  }

  return {
    add,
    addAfter,
    /** Adds the key after its back-off, which doubles with each call until `forget`. */
    addRateLimited(key: string): void {
      const count = failed.get(key) ?? 0;
      failed.set(key, count + 1);
      const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(count, 50));
      addAfter(key, delay * (0.5 + random() / 2));
    },
    forget: (key: string) => void failed.delete(key),
    failures: (key: string) => failed.get(key) ?? 0,
    /** Waits for the next key; null if the queue is shut down and empty. Call `done` for every key. */
    get(): Promise<string | null> {
      if (ready.size > 0) return Promise.resolve(take());
      if (closed) return Promise.resolve(null);
      return new Promise((resolve) => waiting.push(resolve));
    },
    /** Marks the key as processed. It is queued again if it was added in the meantime. */
    done(key: string): void {
      if (!processing.delete(key)) throw new Error(`the key ${JSON.stringify(key)} was marked done, but no worker holds it`);
      if (dirty.has(key)) push(key);
      resolveDrained();
    },
    /** Accepts no more keys. Resolves when all queued keys are done. */
    shutDown(): Promise<void> {
      closed = true;
      for (const { cancel } of scheduled.values()) cancel();
      scheduled.clear();
      for (const worker of waiting.splice(0)) worker(null);
      return new Promise((resolve) => {
        drained.push(resolve);
        resolveDrained();
      });
    },
  };
}
