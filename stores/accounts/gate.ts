/** Bounds how many costly operations run at once in this process, and how many wait. */
import { createSemaphore } from '../../platform/concurrency/semaphore.ts';

/** Too many operations wait. A retry in a few seconds can succeed. */
export class TooBusy extends Error {
  constructor(options?: ErrorOptions) {
    super('too many operations are waiting', options);
    this.name = 'TooBusy';
  }
}

export interface Gate {
  /**
   * Runs an operation when there is room. Names get their turns.
   * @param name of those on whose behalf it runs
   * @throws TooBusy if too many operations wait, too many of this name run and wait, or it waited too long
   */
  run<T>(operation: () => Promise<T>, name?: string): Promise<T>;
}

interface GateOptions {
  atOnce: number;
  waiting: number;
  /** How many operations of one name run and wait. Default: any number. */
  perName?: number;
}

/** A request would have ended. */
const WAIT_MS = 20_000;

export function createGate({ atOnce, waiting, perName = Infinity }: GateOptions): Gate {
  const semaphore = createSemaphore({
    held: { total: atOnce, perKey: atOnce },
    pending: { total: atOnce + waiting, perKey: perName },
  });
  return {
    async run(operation, name = '') {
      const permit = await semaphore.acquire(name, AbortSignal.timeout(WAIT_MS)).catch((error: unknown) => {
        throw new TooBusy({ cause: error });
      });
      if (!permit.ok) throw new TooBusy();
      try {
        return await operation();
      } finally {
        permit.release();
      }
    },
  };
}
