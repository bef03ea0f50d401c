/** Runs the repairs of a sweep one by one, so that a repair that fails does not stop the others. */
import type { Logger } from '../../platform/logger.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';

export interface Isolation {
  /** Repairs each item, in order. Logs and counts failures. @throws the signal's reason if it aborts */
  each<T>(items: readonly T[], fieldsOf: (item: T) => object, repair: (item: T) => Promise<void>): Promise<void>;
  /** Failed repairs, without those that are counted in `unreadable`. */
  readonly failed: number;
  /** Repairs that the API server did not permit, because the namespace is not readable. */
  readonly unreadable: number;
}

export function createIsolation(logger: Logger, signal: AbortSignal): Isolation {
  let failed = 0;
  let unreadable = 0;
  return {
    async each(items, fieldsOf, repair) {
      for (const item of items) {
        signal.throwIfAborted();
        try {
          await repair(item);
        } catch (error) {
          signal.throwIfAborted();
          const forbidden = error instanceof KubernetesError && (error.code === 401 || error.code === 403);
          if (forbidden) unreadable += 1;
          else failed += 1;
          logger[forbidden ? 'debug' : 'warn']({ ...fieldsOf(item), err: error }, 'sweep cannot repair, retrying with the next sweep');
        }
      }
    },
    get failed() {
      return failed;
    },
    get unreadable() {
      return unreadable;
    },
  };
}
