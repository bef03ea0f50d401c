/** Waiting with an end: for a promise within a time, and for a state that events bring about. */

/** A wait that went over its time. */
export class TooLong extends Error {
  override readonly name = 'TooLong';
}

/** A promise's value, if it comes within `ms`. @throws TooLong; a rejection that comes later is nobody's */
export async function settledWithin<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  promise.catch(() => undefined);
  try {
    return await Promise.race([
      promise,
      new Promise<never>(
        (_resolve, reject) => (timer = setTimeout(() => reject(new TooLong(`not within ${Math.round(ms)} ms`)), Math.max(0, ms))),
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** A state that others change, and that can be waited for. */
export interface Watched {
  /** To be called after every change. */
  changed(): void;
  /** Waits until `holds` is true. @returns false if it was not within `ms` */
  until(holds: () => boolean, ms: number): Promise<boolean>;
}

export function createWatched(): Watched {
  const waiting = new Set<() => void>();
  return {
    changed() {
      for (const look of [...waiting]) look();
    },
    until(holds, ms) {
      if (holds()) return Promise.resolve(true);
      return new Promise((resolve) => {
        const end = (value: boolean): void => {
          clearTimeout(timer);
          waiting.delete(look);
          resolve(value);
        };
        const look = (): void => {
          if (holds()) end(true);
        };
        const timer = setTimeout(() => end(holds()), Math.max(0, ms));
        waiting.add(look);
      });
    },
  };
}
