/** A place that one task at a time may take. */

export interface Place {
  /** Takes the place if it is free. @returns whether it was */
  tryEnter(): boolean;
  /** Waits for the place, first come, first served. @throws the signal's reason */
  enter(signal: AbortSignal): Promise<void>;
  /** Gives the place to the next one that waits. */
  leave(): void;
}

export function createPlace(): Place {
  let taken = false;
  const waiting: (() => void)[] = [];
  return {
    tryEnter() {
      if (taken) return false;
      taken = true;
      return true;
    },
    async enter(signal) {
      signal.throwIfAborted();
      if (this.tryEnter()) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const abort = (): void => {
        const at = waiting.indexOf(resolve);
        // It has the place already, and leaves it.
        if (at === -1) return;
        waiting.splice(at, 1);
        reject(signal.reason as Error);
      };
      waiting.push(resolve);
      signal.addEventListener('abort', abort, { once: true });
      await promise.finally(() => signal.removeEventListener('abort', abort));
    },
    leave() {
      const next = waiting.shift();
      if (next === undefined) taken = false;
      else next();
    },
  };
}
