/** Detects that a dependency is down, in one place for all routes. */
import { errorMessage } from '../../platform/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../platform/time-limits.ts';
import { TooBusy } from '../../platform/concurrency/semaphore.ts';
import { dependencyIsDown, poolIsExhausted } from '../../stores/availability.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { ApiStores } from '../dependencies.ts';
import type { CalledDependency } from '../metrics.ts';

/** A dependency did not answer or failed internally. Whether it performed the operation is unknown. */
export class DependencyDown extends Error {
  readonly dependency: CalledDependency;
  constructor(dependency: CalledDependency, cause: unknown) {
    super(`${dependency} failed: ${errorMessage(cause)}`, { cause });
    this.name = 'DependencyDown';
    this.dependency = dependency;
  }
}

/** A submission failed, and so did its end: the scan may run and be charged, or be abandoned later. */
export class SubmissionUnconfirmed extends Error {
  constructor(cause: unknown) {
    super(`the outcome of the submission is unknown: ${errorMessage(cause)}`, { cause });
    this.name = 'SubmissionUnconfirmed';
  }
}

interface OutageOptions {
  /** Null: the store bounds its own waits. */
  timeoutMs: number | null;
  onDown: (dependency: CalledDependency) => void;
}

/**
 * Wraps a store so that a call rejects with `DependencyDown` if the store is unavailable or does not answer within
 * `timeoutMs` milliseconds, and with `TooBusy` if no connection becomes free. Other errors are rethrown unchanged.
 */
export function detectOutages<T extends object>(dependency: CalledDependency, store: T, options: OutageOptions): T {
  const watch = async (method: string, answer: Promise<unknown>): Promise<unknown> => {
    try {
      if (options.timeoutMs === null) return await answer;
      return await withTimeLimit(answer, options.timeoutMs, `${dependency}: ${method}`);
    } catch (error) {
      // The database may be well: all connections of this process are in use.
      if (poolIsExhausted(error)) throw new TooBusy('total', { cause: error });
      if (!(error instanceof TimeLimitExceeded || dependencyIsDown(error))) throw error;
      options.onDown(dependency);
      throw new DependencyDown(dependency, error);
    }
  };
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const answer: unknown = Reflect.apply(member, target, parameters);
        return answer instanceof Promise ? watch(String(property), answer) : answer;
      };
    },
  });
}

/** The servers of the stores that are not in MongoDB. */
const SERVERS: Readonly<Record<Exclude<keyof ApiStores, keyof AllStores>, CalledDependency>> = {
  reports: 'objects',
  scanResources: 'kubernetes',
  scheduleResources: 'kubernetes',
};

/** Wraps every store in `detectOutages`, with the name of its server. */
export function detectStoreOutages(stores: ApiStores, options: OutageOptions): ApiStores {
  const wrapped = Object.entries(stores).map(([name, store]) => {
    // Without its server it counts locally, which must not be cut short. It fails if this process has no free connection.
    const timeoutMs = name === 'rateLimits' ? null : options.timeoutMs;
    return [
      name,
      detectOutages(name in SERVERS ? SERVERS[name as keyof typeof SERVERS] : 'mongodb', store as object, { ...options, timeoutMs }),
    ];
  });
  return Object.fromEntries(wrapped);
}
