/** What the senders of mails and webhooks share: the loop that starts each delivery that may start, and when one is tried again. */
import { type Clock, sleep } from '../../platform/clock.ts';
import { retry } from '../../platform/concurrency/retry.ts';
import { RETRIED_FOR_MS } from '../../core/webhooks/webhooks.ts';

export interface DeliveryLoop<A> {
  /**
   * Claims and starts a delivery that may start now.
   * @returns what it is about, for later calls, and when it is over, which never rejects; null if none may start
   */
  start(inFlight: readonly A[]): Promise<{ about: A; done: Promise<void> } | null>;
  oldestDue(): Promise<Date | null>;
  /** How long ago the oldest waiting delivery became due, in seconds; 0 if there is none. */
  onOldestDue(seconds: number): void;
  clock: Clock;
  /** The pause between two looks at the queue, in milliseconds. Default 1,000. */
  pollMs?: number;
}

export const POLL_MS = 1_000;
const GAUGE_EVERY_MS = 10_000;
/** How long a stopping replica waits for deliveries. Their leases end by themselves. */
const DRAIN_MS = 15_000;

/** Runs until the signal aborts, and then until deliveries have ended, for a bounded time. @throws if the queue cannot be read */
export async function runDeliveries<A>(signal: AbortSignal, loop: DeliveryLoop<A>): Promise<void> {
  const { clock, pollMs = POLL_MS } = loop;
  const inFlight = new Map<Promise<void>, A>();

  async function startNext(): Promise<boolean> {
    if (signal.aborted) return false;
    const started = await loop.start([...inFlight.values()]);
    if (started === null) return false;
    const done = started.done.finally(() => inFlight.delete(done));
    inFlight.set(done, started.about);
    return true;
  }

  let gaugeAt = clock.monotonic();
  try {
    while (!signal.aborted) {
      if (clock.monotonic() >= gaugeAt) {
        gaugeAt = clock.monotonic() + GAUGE_EVERY_MS;
        const oldest = await loop.oldestDue();
        loop.onOldestDue(oldest === null ? 0 : Math.max(0, (clock.now().getTime() - oldest.getTime()) / 1000));
      }
      while (await startNext());
      await Promise.race([sleep(clock, pollMs, signal), ...inFlight.keys()]);
    }
  } finally {
    await Promise.race([Promise.all(inFlight.keys()), sleep(clock, DRAIN_MS)]);
  }
}

/** How often, and after which pauses in milliseconds, an attempt is recorded while the database is down. */
export const RECORD = { attempts: 10, pauseMs: 2_000 };

/** Records an attempt. Retries while the database is down, because a delivery that is not recorded is repeated. */
export const persistently = <T>(clock: Clock, operation: () => Promise<T>): Promise<T> =>
  retry(operation, { attempts: RECORD.attempts, pauseMs: () => RECORD.pauseMs, pause: (ms) => sleep(clock, ms) });

/**
 * Returns a delay that doubles with each failure, from `firstMs` to `longestMs`. It varies by a fifth, so that what failed together
 * is not tried together.
 * @param failures at least 1
 * @param random from 0 to 1
 */
function doublingDelay(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }, random: number): number {
  return Math.round(Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.8 + 0.4 * random));
}

const MAIL_RETRY = { firstMs: 60_000, longestMs: 4 * 3_600_000 };
/** The delays between these attempts add up to about a day. */
export const ATTEMPTS_MAX = 13;

/**
 * Returns the delay before the next attempt in milliseconds, or null if the mail is given up. Delays double from a minute to
 * four hours.
 * @param attempts attempts so far
 * @param random from 0 to 1
 */
export function retryDelay(attempts: number, random: number): number | null {
  return attempts >= ATTEMPTS_MAX ? null : doublingDelay(attempts, MAIL_RETRY, random);
}

const PAUSE = { firstMs: 5_000, longestMs: 300_000 };

/** Returns how long nothing is sent after `failures` failures of the mail server in a row, in milliseconds. */
export const pauseDelay = (failures: number, random: number): number => doublingDelay(failures, PAUSE, random);

/** From 10 seconds to 6 hours: about 20 attempts in three days. */
const WEBHOOK_RETRY = { firstMs: 10_000, longestMs: 6 * 3_600_000 };

/** Returns the time of the next attempt, or null if the delivery is given up. @param random from 0 to 1 */
export function nextAttempt(attempts: number, createdAt: Date, now: Date, random: number): Date | null {
  const next = new Date(now.getTime() + doublingDelay(attempts, WEBHOOK_RETRY, random));
  return isLate(createdAt, next) ? null : next;
}

/** Whether a delivery is too old for an attempt. */
export const isLate = (createdAt: Date, at: Date): boolean => at.getTime() - createdAt.getTime() > RETRIED_FOR_MS;

/** Returns the names that occur at least so many times, each once. Pure. */
export function atLeast(times: number, names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => names.filter((one) => one === name).length >= times);
}
