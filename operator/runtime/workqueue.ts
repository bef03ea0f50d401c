/**
 * A workqueue that never gives a key to two workers and never loses a change that arrives while its key is processed.
 *
 * Follows client-go's `util/workqueue` (queue, delaying_queue, default_rate_limiters), v0.36. The `dirty` set holds the keys that
 * need work, `processing` the keys that workers hold. A key that is added while it is processed waits for `done`. After shutdown,
 * queued keys are still returned. Differences:
 * - the maximum back-off is a minute (client-go: 1,000 s, which delays keys long after an outage has ended) and has jitter
 * - there is no overall rate limit, because the connection pool limits the requests
 * - shares of keys take turns, and each holds a part of the workers at most: a write may take as long as an admission webhook
 *   of the share's namespace wants
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
  /** Returns what a key belongs to, such as its namespace. Asked when the key is queued. Default: all keys have one share. */
  shareOf?: (key: string) => string;
  /** The largest number of keys of one share that workers hold. Default: no limit. */
  perShare?: number;
}

/** A key that workers held for longer, in milliseconds, makes its share slow until another one took less. */
const SLOW_MS = 2_000;
/** A share counts as a neighbour of the others for this time after a worker took one of its keys, in milliseconds. */
const NEIGHBOUR_FOR_MS = 10_000;
/**
 * The part of `perShare` that a share gets while it is slow, so that many slow ones do not hold every worker, and beside a neighbour.
 * The neighbour's writes would wait at the API server behind all those that a burst has in progress.
 */
const MODEST_PART = 1 / 4;

export type WorkQueue = ReturnType<typeof createWorkqueue>;

export function createWorkqueue(options: QueueOptions) {
  const { clock, metrics, name = 'queue', baseDelayMs = 100, maxDelayMs = 60_000, random = Math.random } = options;
  const { shareOf = () => '', perShare = Infinity } = options;
  const ready = createLines();
  const dirty = new Set<string>();
  /** The share of each key that a worker holds, and since when. */
  const processing = new Map<string, { share: string; since: number }>();
  const held = new Map<string, number>();
  const slow = new Set<string>();
  /** When workers took keys of the last two shares. */
  let latest = { share: '', at: -Infinity };
  let former = latest;
  const scheduled = new Map<string, { due: number; cancel: () => void }>();
  const failed = new Map<string, number>();
  const waiting: ((key: string | null) => void)[] = [];
  const drained: (() => void)[] = [];
  let closed = false;

  function hasRoom(share: string): boolean {
    const neighbour = latest.share === share ? former : latest;
    const isModest = slow.has(share) || clock.monotonic() - neighbour.at < NEIGHBOUR_FOR_MS;
    const limit = isModest ? Math.max(1, Math.floor(perShare * MODEST_PART)) : perShare;
    // After shutdown no key is reconciled any more.
    return closed || (held.get(share) ?? 0) < limit;
  }

  function push(key: string) {
    ready.join(shareOf(key), key, clock.monotonic());
    wake();
    metrics?.queueDepth(name, ready.size);
  }

  /** Gives keys to the workers that wait. */
  function wake() {
    while (waiting.length > 0) {
      const key = take();
      if (key === null) return;
      waiting.shift()!(key);
    }
  }

  /** Returns the next key of the first share in turn that may have another worker; null if there is none. */
  function take(): string | null {
    const next = ready.next(hasRoom);
    if (next === null) return null;
    const { key, share, since } = next;
    dirty.delete(key);
    processing.set(key, { share, since: clock.monotonic() });
    held.set(share, (held.get(share) ?? 0) + 1);
    if (latest.share !== share) former = latest;
    latest = { share, at: clock.monotonic() };
    metrics?.queueDepth(name, ready.size);
    metrics?.queueWaited(name, (clock.monotonic() - since) / 1000);
    return key;
  }

  function putDown({ share, since }: { share: string; since: number }) {
    const left = held.get(share)! - 1;
    if (left > 0) held.set(share, left);
    else held.delete(share);
    slow[clock.monotonic() - since > SLOW_MS ? 'add' : 'delete'](share);
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
      const key = take();
      if (key !== null || closed) return Promise.resolve(key);
      return new Promise((resolve) => waiting.push(resolve));
    },
    /** Marks the key as processed. It is queued again if it was added in the meantime. */
    done(key: string): void {
      const work = processing.get(key);
      if (work === undefined) throw new Error(`the key ${JSON.stringify(key)} was marked done, but no worker holds it`);
      processing.delete(key);
      putDown(work);
      if (dirty.has(key)) push(key);
      else wake();
      resolveDrained();
    },
    /** Accepts no more keys. Resolves when all queued keys are done. */
    shutDown(): Promise<void> {
      closed = true;
      for (const { cancel } of scheduled.values()) cancel();
      scheduled.clear();
      wake();
      for (const worker of waiting.splice(0)) worker(null);
      return new Promise((resolve) => {
        drained.push(resolve);
        resolveDrained();
      });
    },
  };
}

/** Keys that wait for a worker, in a line for each share, with the time at which they were queued. */
function createLines() {
  /** In the order of their turns. */
  const lines = new Map<string, Map<string, number>>();
  let size = 0;
  return {
    get size(): number {
      return size;
    },
    join(share: string, key: string, now: number): void {
      size += 1;
      lines.set(share, (lines.get(share) ?? new Map<string, number>()).set(key, now));
    },
    /** Takes the first key of the first share that may have a worker. The share has its next turn after all others. */
    next(mayHave: (share: string) => boolean): { key: string; share: string; since: number } | null {
      for (const [share, line] of lines) {
        if (!mayHave(share)) continue;
        const [key, since] = line.entries().next().value!;
        line.delete(key);
        size -= 1;
        lines.delete(share);
        if (line.size > 0) lines.set(share, line);
        return { key, share, since };
      }
      return null;
    },
  };
}
