/** The budget of --max-wait: the total time of a command for which the service may fail to serve it, and the waits within it. */
import { ServiceUnavailable } from '../errors.ts';

/**
 * The time counts from `start` on: requests without a useful response, and the waits between them. `served` stops it. The time
 * of a scan that runs, and of requests that succeed, is not counted.
 */
export interface Budget {
  readonly seconds: number;
  /** The service owes a response from now on. Has no effect if it does already. */
  start(): void;
  /** The service did its part. What was not yet counted is dropped. */
  served(): void;
  /** Counts the time since `start`, and continues. */
  count(): void;
  /** Seconds that are left; at least 0. */
  left(): number;
  used(): number;
  /**
   * The time limit of one step in milliseconds: `ms`, or a share of what is left if that is less. A budget of 0 s allows no
   * wait between attempts, but it does not limit the one attempt.
   */
  limit(ms: number, share?: number): number;
}

export function createBudget(seconds: number, monotonic: () => number): Budget {
  let counted = 0;
  let since: number | null = null;
  const used = (): number => (counted + (since === null ? 0 : monotonic() - since)) / 1000;
  const left = (): number => Math.max(0, seconds - used());
  return {
    seconds,
    start: () => void (since ??= monotonic()),
    served: () => void (since = null),
    count() {
      if (since === null) return;
      const at = monotonic();
      counted += at - since;
      since = at;
    },
    left,
    used,
    limit: (ms, share = 1) => (seconds === 0 ? ms : Math.max(1, Math.floor(Math.min(ms, left() * 1000 * share)))),
  };
}

/** Says that the budget is used up. @param asked the seconds of the last `Retry-After`, or null */
export function gaveUp(budget: Budget, attempts: number, asked: number | null): string {
  if (asked !== null && asked > budget.seconds) return `It asks to wait ${Math.ceil(asked)} s, longer than --max-wait ${budget.seconds}.`;
  const wait = asked === null ? '' : `; it asks to wait another ${Math.ceil(asked)} s`;
  return `Gave up after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} and ${Math.round(budget.used())} s without service (--max-wait ${budget.seconds})${wait}.`;
}

const FIRST_BACK_OFF_SECONDS = 0.5;
const LAST_BACK_OFF_SECONDS = 8;

/** What a wait needs. */
export interface Waiting {
  budget: Budget;
  signal: AbortSignal;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Called before each wait with its reason and length. */
  onWait?: (why: string, seconds: number) => void;
}

/** A failed attempt, of `attempts` until now. */
export interface FailedAttempt {
  why: string;
  attempts: number;
  /** The seconds of its `Retry-After`. */
  asked?: number | null;
  /** Whether a response said what became of the request. */
  answered?: boolean;
}

/** Waits before the next attempt: as long as was asked for, else longer each time. @throws ServiceUnavailable if the budget is used up */
export async function backOff(
  { budget, signal, sleep, onWait }: Waiting,
  { why, attempts, asked = null, answered = false }: FailedAttempt,
): Promise<void> {
  budget.count();
  const seconds = asked ?? Math.min(FIRST_BACK_OFF_SECONDS * 2 ** (attempts - 1), LAST_BACK_OFF_SECONDS);
  if (seconds > budget.left() || budget.left() === 0) throw new ServiceUnavailable(answered, `${why}.`, gaveUp(budget, attempts, asked));
  onWait?.(why, seconds);
  await sleep(seconds * 1000, signal);
  budget.count();
}

/** Aborts if `touch` is not called in time. */
export interface Watchdog {
  readonly signal: AbortSignal;
  /** Starts the time again; with `ms`, a new limit. */
  touch(ms?: number): void;
  stop(): void;
}

export function createWatchdog(ms: number): Watchdog {
  const controller = new AbortController();
  const bark = (): void => controller.abort(new DOMException('no data in time', 'TimeoutError'));
  let limit = ms;
  let timer = setTimeout(bark, limit);
  return {
    signal: controller.signal,
    touch(next = limit) {
      limit = next;
      clearTimeout(timer);
      timer = setTimeout(bark, limit);
    },
    stop: () => clearTimeout(timer),
  };
}
