/**
 * The loop that sends what is in the outbox, over one transport: it claims entries with a lease, starts each that may start, and records
 * what became of it. If this process dies, an entry is tried again when its lease has ended.
 */
import { type Clock, sleep } from '../../platform/clock.ts';
import { retry } from '../../platform/concurrency/retry.ts';
import type { Logger } from '../../platform/logger.ts';
import type { AttemptEnd, EntryState, OutboxEntry, QueuedFields } from '../../stores/outbox/entries.ts';
import type { Claim, ClaimFilter } from '../../stores/outbox/outbox.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OutboxMetrics } from './metrics.ts';

/** What the loop and its transports use. */
export interface DeliveryContext {
  stores: AllStores;
  metrics: OutboxMetrics;
  logger: Logger;
  clock: Clock;
  random?: () => number;
  /** The pause between two looks at the outbox, in milliseconds. Default 1,000. */
  pollMs?: number;
}

/** An entry under way, as fairness sees it. */
export type InFlight = Pick<QueuedFields, 'priority' | 'fairnessKey' | 'organisation'>;

/** What became of an entry. `withdrawn`: it ended without an attempt. `released`: it waits as if it had not been claimed. */
export type Answer = { afterwards?: Afterwards } & (
  | { is: 'ended'; state: EntryState; attempt: Partial<AttemptEnd> }
  | { is: 'withdrawn'; state: EntryState }
  | { is: 'retry'; at: Date; attempt: Partial<AttemptEnd> }
  | { is: 'released' }
);
/** What follows once it is recorded. */
type Afterwards = () => Promise<unknown>;

export interface Transport<E extends OutboxEntry> {
  priorities: readonly E['priority'][];
  /** Longer than any attempt and all attempts to record it, so that another replica repeats none that is under way. */
  leaseMs: number;
  /** Returns which entries to look for, the first ones first. @param claims entries claimed so far */
  claimOrder(inFlight: readonly InFlight[], claims: number): ClaimFilter[];
  /** Sends an entry once. If it rejects, the entry is tried again when its lease ends. */
  send(entry: E): Promise<Answer>;
  /** How long ago the oldest waiting entry became due, in seconds; 0 if there is none. */
  oldestDue: { set(seconds: number): void };
}

export const POLL_MS = 1_000;
const GAUGE_EVERY_MS = 10_000;
/** How long a stopping replica waits for deliveries. Their leases end by themselves. */
const DRAIN_MS = 15_000;

/** Runs until the signal aborts, and then until deliveries have ended, for a bounded time. @throws if the outbox cannot be read */
export async function deliver<E extends OutboxEntry>(
  transport: Transport<E>,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  const { clock, pollMs = POLL_MS } = context;
  const { outbox } = context.stores;
  const inFlight = new Map<Promise<void>, OutboxEntry>();
  let claims = 0;

  async function startNext(): Promise<boolean> {
    for (const filter of transport.claimOrder([...inFlight.values()], claims)) {
      if (signal.aborted) return false;
      const claim = await outbox.claim(filter, transport.leaseMs);
      if (claim === null) continue;
      claims += 1;
      const done = handle(transport, context, claim as Claim<E>).finally(() => inFlight.delete(done));
      inFlight.set(done, claim.entry);
      return true;
    }
    return false;
  }

  let gaugeAt = clock.monotonic();
  try {
    while (!signal.aborted) {
      if (clock.monotonic() >= gaugeAt) {
        gaugeAt = clock.monotonic() + GAUGE_EVERY_MS;
        const oldest = await outbox.oldestDue(transport.priorities);
        transport.oldestDue.set(oldest === null ? 0 : Math.max(0, (clock.now().getTime() - oldest.getTime()) / 1000));
      }
      while (await startNext());
      await Promise.race([sleep(clock, pollMs, signal), ...inFlight.keys()]);
    }
  } finally {
    await Promise.race([Promise.all(inFlight.keys()), sleep(clock, DRAIN_MS)]);
  }
}

/** Sends one entry and records what became of it. Never throws: an error concerns only this entry, whose lease ends by itself. */
async function handle<E extends OutboxEntry>(
  transport: Transport<E>,
  { stores: { outbox }, logger, clock }: DeliveryContext,
  claim: Claim<E>,
): Promise<void> {
  function record(answer: Answer): Promise<boolean> {
    if (answer.is === 'released') return outbox.release(claim);
    if (answer.is === 'withdrawn') return outbox.withdraw(claim, answer.state);
    return answer.is === 'retry' ? outbox.retry(claim, answer.at, answer.attempt) : outbox.end(claim, answer.state, answer.attempt);
  }
  try {
    const answer = await transport.send(claim.entry);
    await persistently(clock, () => record(answer));
    await answer.afterwards?.();
  } catch (err) {
    logger.warn({ entry: claim.entry._id, err }, 'delivery not recorded, retrying when its lease ends');
  }
}

/** How often, and after which pauses in milliseconds, an attempt is recorded while the database is down. */
export const RECORD = { attempts: 10, pauseMs: 2_000 };

/** Retries while the database is down, because a delivery that is not recorded is repeated. */
const persistently = <T>(clock: Clock, operation: () => Promise<T>): Promise<T> =>
  retry(operation, { attempts: RECORD.attempts, pauseMs: () => RECORD.pauseMs, pause: (ms) => sleep(clock, ms) });

/**
 * Returns a delay that doubles with each failure, from `firstMs` to `longestMs`. It varies by a fifth, so that what failed together
 * is not tried together.
 * @param failures at least 1
 * @param random from 0 to 1
 */
export function doublingDelay(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }, random: number): number {
  return Math.round(Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.8 + 0.4 * random));
}

/** Returns the names that occur at least so many times, each once. Pure. */
export function atLeast(times: number, names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => names.filter((one) => one === name).length >= times);
}
