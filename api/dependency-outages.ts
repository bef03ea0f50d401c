/** Detects that a dependency is down, in one place for all routes. */
import { errorMessage } from '../platform/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../platform/time-limits.ts';
import { dependencyIsDown } from '../stores/availability.ts';
import type { ApiStores } from './dependencies.ts';

/** A dependency did not answer, or answered with an error of its own. Whether it did what was asked is unknown. */
export class DependencyDown extends Error {
  readonly dependency: string;
  constructor(dependency: string, cause: unknown) {
    super(`${dependency} failed: ${errorMessage(cause)}`, { cause });
    this.name = 'DependencyDown';
    this.dependency = dependency;
  }
}

interface OutageOptions {
  timeoutMs: number;
  onDown: (dependency: string) => void;
}

/**
 * The same store, except that every outage and every answer that takes longer than `timeoutMs` rejects with
 * `DependencyDown`. Other errors pass unchanged.
 */
export function detectOutages<T extends object>(dependency: string, store: T, options: OutageOptions): T {
  const watch = async (method: string, answer: Promise<unknown>): Promise<unknown> => {
    try {
      return await withTimeLimit(answer, options.timeoutMs, `${dependency}: ${method}`);
    } catch (error) {
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

/** The server behind each store. `rateLimits` is missing because it continues without its server. */
const SERVERS: Readonly<Record<Exclude<keyof ApiStores, 'rateLimits'>, string>> = {
  organisations: 'mongodb',
  keys: 'mongodb',
  credits: 'mongodb',
  scans: 'mongodb',
  idempotency: 'mongodb',
  queueStates: 'mongodb',
  reports: 'objects',
  scanResources: 'kubernetes',
};

/** All stores with outage detection, each under the name of its server. */
export function detectStoreOutages(stores: ApiStores, options: OutageOptions): ApiStores {
  const names = Object.keys(SERVERS) as (keyof typeof SERVERS)[];
  return { ...stores, ...Object.fromEntries(names.map((name) => [name, detectOutages(SERVERS[name], stores[name], options)])) };
}
