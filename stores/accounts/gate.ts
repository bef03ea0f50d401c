/** Bounds how many costly operations run at once in this process, and how many wait. */

/** Too many operations wait. A retry in a few seconds can succeed. */
export class TooBusy extends Error {
  constructor() {
    super('too many operations are waiting');
    this.name = 'TooBusy';
  }
}

export interface Gate {
  /** Runs an operation when there is room. @throws TooBusy if too many wait */
  run<T>(operation: () => Promise<T>): Promise<T>;
}

export function createGate({ atOnce, waiting }: { atOnce: number; waiting: number }): Gate {
  let running = 0;
  const queue: (() => void)[] = [];
  return {
    async run(operation) {
      if (running >= atOnce) {
        if (queue.length >= waiting) throw new TooBusy();
        // The operation that ends hands its place over, so `running` does not change.
        await new Promise<void>((resolve) => queue.push(resolve));
      } else running += 1;
      try {
        return await operation();
      } finally {
        const next = queue.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
