/**
 * The one way to read the time. The time of day is `now: () => Date`. Durations and deadlines within a process are differences of
 * `monotonic: () => number` or of `performance.now()`. Code whose timers tests control takes a Clock.
 */

/** A clock that tests can control. Follows k8s.io/utils/clock. */
export interface Clock {
  /** The time of day, for timestamps. May jump when the system clock is set. */
  now: () => Date;
  /** Milliseconds since an arbitrary start, for durations. Never jumps. */
  monotonic: () => number;
  /** Calls `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The maximum delay of a Node.js timer. A longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, ms), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Formats a Kubernetes Time: RFC 3339 in UTC without fractions of a second. */
export function timestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/**
 * Returns the milliseconds until something that happens every `everyMs` is due; 0 or less if it is due now. It is due if its
 * last time is in the future: the clock was set back, and to wait for that time again would suspend it.
 */
export function dueIn(last: Date | null, everyMs: number, now: Date): number {
  return last === null || last > now ? 0 : last.getTime() + everyMs - now.getTime();
}

/** Waits `ms` milliseconds. If the signal aborts, it resolves early and does not throw. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal?.addEventListener('abort', finish, { once: true });
  });
}
