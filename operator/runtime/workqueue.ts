/**
 * A work queue that never gives one key to two workers and never loses a change that arrives while its key is being
 * worked on.
 *
 * Follows client-go's `util/workqueue` (queue, delaying_queue, default_rate_limiters), v0.36: the `dirty` set holds
 * what needs work, `processing` what a worker has; a key that is added while it is being worked on waits for `done`.
 * `addAfter` keeps the earliest of several times. Differences: the back-off is capped at a minute (client-go: 1,000 s, so
 * a key could sleep a quarter of an hour after an outage that is over), spread by jitter, and there is no bucket over
 * all keys: the connection's pool bounds what reaches the server. A shut-down queue gives out what it holds (client-go's
 * ShutDown does too) and drops what is only scheduled.
 */
import type { Clock } from './clock.ts';
import type { RuntimeMetrics } from './metrics.ts';

export interface WorkQueue {
  /** Queues the key; once, however often it is called before a worker takes it. */
  add(key: string): void;
  /** Adds the key after `ms` milliseconds; the earliest of several calls wins. */
  addAfter(key: string, ms: number): void;
  /** Adds the key after its back-off, which doubles with each call until `forget`. */
  addRateLimited(key: string): void;
  /** The key succeeded: its next back-off starts from the beginning. */
  forget(key: string): void;
  /** How often the key was added rate limited since it was last forgotten. */
  failures(key: string): number;
  /** The next key, as soon as there is one; null if the queue is shut down and empty. Call `done` for every key. */
  get(): Promise<string | null>;
  /** The worker is finished with the key; if it was added meanwhile it is queued again. */
  done(key: string): void;
  /** Accepts no more keys; resolves when every key that workers hold is done. */
  shutDown(): Promise<void>;
  /** Keys that are waiting for a worker. */
  readonly depth: number;
}

export interface QueueOptions {
  clock: Clock;
  name?: string;
  metrics?: RuntimeMetrics;
  /** The first back-off, in milliseconds. Default 100. */
  baseDelayMs?: number;
  /** The longest back-off, in milliseconds. Default 60,000. */
  maxDelayMs?: number;
  /** From 0 up to 1: spreads each back-off over its upper half, so that keys that failed together do not return together. */
  random?: () => number;
}

export function createWorkqueue(options: QueueOptions): WorkQueue {
  const { clock, metrics, name = 'queue', baseDelayMs = 100, maxDelayMs = 60_000, random = Math.random } = options;
  /** Keys ready for a worker in order, with the time they became so. */
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

  function add(key: string) {
    if (closed || dirty.has(key)) return;
    dirty.add(key);
    if (!processing.has(key)) push(key);
  }

  function addAfter(key: string, ms: number) {
    if (closed) return;
    if (!(ms > 0)) return add(key);
    const due = clock.monotonic() + ms;
    const earlier = scheduled.get(key);
    if (earlier && earlier.due <= due) return;
    earlier?.cancel();
    const wake = () => {
      const left = due - clock.monotonic();
      // A timer holds 24 days and may fire a little early; the due time decides.
      if (left > 0) return void (entry.cancel = clock.after(left, wake));
      scheduled.delete(key);
      add(key);
    };
    const entry = { due, cancel: clock.after(ms, wake) };
    scheduled.set(key, entry);
  }

  function settleDrain() {
    if (!closed || ready.size > 0 || processing.size > 0) return;
    for (const resolve of drained.splice(0)) resolve();
  }

  return {
    add,
    addAfter,
    addRateLimited(key) {
      const count = failed.get(key) ?? 0;
      failed.set(key, count + 1);
      const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(count, 50));
      addAfter(key, delay * (0.5 + random() / 2));
    },
    forget: (key) => void failed.delete(key),
    failures: (key) => failed.get(key) ?? 0,
    get() {
      if (ready.size > 0) return Promise.resolve(take());
      if (closed) return Promise.resolve(null);
      return new Promise((resolve) => waiting.push(resolve));
    },
    done(key) {
      if (!processing.delete(key)) throw new Error(`the key ${JSON.stringify(key)} is done, but no worker holds it`);
      if (dirty.has(key)) push(key);
      settleDrain();
    },
    shutDown() {
      closed = true;
      for (const { cancel } of scheduled.values()) cancel();
      scheduled.clear();
      for (const worker of waiting.splice(0)) worker(null);
      return new Promise((resolve) => {
        drained.push(resolve);
        settleDrain();
      });
    },
    get depth() {
      return ready.size;
    },
  };
}
