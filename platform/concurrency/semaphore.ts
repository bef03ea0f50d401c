/**
 * A counting semaphore that is fair between keys, such as organisations. Keys with waiters get free permits in turn, so that a
 * key with many waiters delays another key by at most one permit of its own.
 */

/** How many there may be of all keys together, and of one key. */
export interface Bound {
  total: number;
  perKey: number;
}

export interface SemaphoreLimits {
  /** Permits that are held at the same time. */
  held: Bound;
  /** Permits that are held or waited for. Default: no limit. */
  pending?: Bound;
}

/** Whose limit of pending permits is reached: the key's own, or that of all keys. */
export type SemaphoreLimit = 'key' | 'total';

/** `release` may be called more than once; only the first call counts. */
export interface Permit {
  ok: true;
  release(): void;
}

/** Too many permits are pending, or none was free in time. A retry in a few seconds can succeed. */
export class TooBusy extends Error {
  override readonly name = 'TooBusy';
  readonly limit: SemaphoreLimit;
  constructor(limit: SemaphoreLimit, options?: ErrorOptions) {
    super('too many operations are waiting', options);
    this.limit = limit;
  }
}

/** `L`: never for a semaphore that refuses nothing, because it has no limit of pending permits. */
export interface Semaphore<L extends SemaphoreLimit = never> {
  /** Takes a permit if the key can have one at once. Null if it would have to wait or be refused. */
  tryAcquire(key: string): Permit | null;
  /**
   * Waits for a permit. The signal bounds the wait. It has no effect on a permit that was given.
   * @returns a refusal, at once, if too many are pending @throws the signal's reason if it aborts first
   */
  acquire(key: string, signal: AbortSignal): Promise<Permit | Refused<L>>;
  /** Runs work with a permit. The signal bounds the wait for it. Default: no bound. @throws TooBusy if it is refused, or does not come in time */
  run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export type Refused<L extends SemaphoreLimit> = L extends never ? never : { ok: false; limit: L };

/** The limits of a semaphore that one task at a time may hold, with a fair line of any length. */
export const ONE_AT_A_TIME = { held: { total: 1, perKey: 1 } } as const;

const NEVER = new AbortController().signal;

/** @param limits each at least 1 */
export function createSemaphore(limits: SemaphoreLimits & { pending: Bound }): Semaphore<SemaphoreLimit>;
export function createSemaphore(limits: { held: Bound }): Semaphore;
export function createSemaphore({ held, pending }: SemaphoreLimits): Semaphore<SemaphoreLimit> {
  const holders = new Counts();
  const lines = new Lines();

  const hasRoom = (key: string): boolean => holders.total < held.total && holders.of(key) < held.perKey;

  function permit(key: string): Permit {
    holders.add(key);
    let released = false;
    return {
      ok: true,
      release() {
        if (released) return;
        released = true;
        holders.remove(key);
        lines.wakeNext(hasRoom);
      },
    };
  }

  /** The limit that one more holder or waiter would exceed. */
  function limitFor(key: string): SemaphoreLimit | null {
    if (pending === undefined) return null;
    if (holders.of(key) + lines.of(key) >= pending.perKey) return 'key';
    return holders.total + lines.total >= pending.total ? 'total' : null;
  }

  const semaphore: Semaphore<SemaphoreLimit> = {
    // A permit is given to a waiter as soon as one may have it. So a request that finds a free permit overtakes none of them.
    tryAcquire: (key) => (limitFor(key) === null && hasRoom(key) ? permit(key) : null),
    async acquire(key, signal) {
      signal.throwIfAborted();
      const limit = limitFor(key);
      if (limit !== null) return { ok: false, limit };
      if (hasRoom(key)) return permit(key);
      const { promise, resolve, reject } = Promise.withResolvers<Permit>();
      const wake = (): void => resolve(permit(key));
      const abort = (): void => {
        // Without a place in the line it has the permit already, and releases it.
        if (lines.leave(key, wake)) reject(signal.reason as Error);
      };
      lines.join(key, wake);
      signal.addEventListener('abort', abort, { once: true });
      return promise.finally(() => signal.removeEventListener('abort', abort));
    },
    async run(key, work, signal = NEVER) {
      const granted = await semaphore.acquire(key, signal).catch((cause: unknown) => {
        throw new TooBusy('total', { cause });
      });
      if (!granted.ok) throw new TooBusy(granted.limit);
      try {
        return await work();
      } finally {
        granted.release();
      }
    },
  };
  return semaphore;
}

/** Waiters of each key, first come, first served. Keys are in the order of their turns. */
class Lines {
  total = 0;
  readonly #byKey = new Map<string, Set<() => void>>();
  of(key: string): number {
    return this.#byKey.get(key)?.size ?? 0;
  }
  join(key: string, waiter: () => void): void {
    this.total += 1;
    this.#byKey.set(key, (this.#byKey.get(key) ?? new Set()).add(waiter));
  }
  /** @returns false if the waiter does not wait any more */
  leave(key: string, waiter: () => void): boolean {
    const line = this.#byKey.get(key);
    if (line?.delete(waiter) !== true) return false;
    this.total -= 1;
    if (line.size === 0) this.#byKey.delete(key);
    return true;
  }
  /** Wakes a waiter of the first key in turn that may have a permit. The key has its next turn after all others. */
  wakeNext(mayHave: (key: string) => boolean): void {
    for (const [key, line] of this.#byKey) {
      if (!mayHave(key)) continue;
      const [wake] = line;
      this.leave(key, wake!);
      if (line.size > 0) {
        this.#byKey.delete(key);
        this.#byKey.set(key, line);
      }
      wake!();
      return;
    }
  }
}

/** Counts by key, without keys whose count is 0. */
class Counts {
  total = 0;
  readonly #byKey = new Map<string, number>();
  of(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }
  add(key: string): void {
    this.total += 1;
    this.#byKey.set(key, this.of(key) + 1);
  }
  remove(key: string): void {
    this.total -= 1;
    if (this.of(key) > 1) this.#byKey.set(key, this.of(key) - 1);
    else this.#byKey.delete(key);
  }
}
