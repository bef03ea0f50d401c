/** The clock, passed in so that tests control it. Follows k8s.io/utils/clock. */

export interface Clock {
  /** Milliseconds since the epoch, for timestamps; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some fixed moment, for measuring; never jumps. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Node's timers take at most 31 bits of milliseconds; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, ms), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** A time as Kubernetes writes it: RFC 3339 in UTC, without fractions of a second. */
export function timestamp(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** Waits `ms` milliseconds, or less if the signal aborts: it then resolves early and does not throw. */
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
