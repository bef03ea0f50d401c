/** The loop of a sender, such as that of mails: starts each delivery that may start, and waits for the next one. */
import { sleep, type Clock } from '../../platform/clock.ts';
import { retry } from '../../platform/concurrency/retry.ts';

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
/** How long a stopping operator waits for deliveries. Their leases end by themselves. */
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
