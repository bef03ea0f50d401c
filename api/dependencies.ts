/** What the front door stands on, and how it sees that one of these is down. */
import type { Logger } from '../platform/logger.ts';
import type { Probes } from '../platform/readiness.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { Resolver, TargetRules } from '../core/scan/targets.ts';
import type { Bus } from '../stores/nats.ts';
import type { Credits } from '../stores/credits/credits.ts';
import { dependencyIsDown } from '../stores/availability.ts';
import type { Idempotency } from '../stores/submissions/idempotency.ts';
import type { Keys } from '../stores/accounts/keys.ts';
import type { RateLimits } from '../stores/rate-limits/sliding-window.ts';
import type { Organisations } from '../stores/accounts/organisations.ts';
import type { QueueStates } from '../stores/submissions/queue-state.ts';
import type { Reports } from '../stores/reports.ts';
import type { ScanResources } from '../stores/submissions/scan-resources.ts';
import type { Scans } from '../stores/scans/scans.ts';
import type { Timings } from './scan-stream.ts';
import type { LimitName, LimitSize } from './rate-limits.ts';
import type { Metrics } from './metrics.ts';

/** The stores, each only as far as a request needs it. */
export interface ApiStores {
  organisations: Pick<Organisations, 'find' | 'record'>;
  keys: Pick<Keys, 'issue' | 'recognise' | 'list' | 'revoke' | 'touch'>;
  credits: Pick<Credits, 'balance' | 'reserve' | 'settle'>;
  scans: Pick<Scans, 'create' | 'accept' | 'discard' | 'find' | 'mirror'>;
  idempotency: Idempotency;
  rateLimits: RateLimits;
  queueStates: Pick<QueueStates, 'read'>;
  reports: Pick<Reports, 'downloadLink' | 'size'>;
  scanResources: Pick<ScanResources, 'submit' | 'exists'>;
}

export interface AppDependencies {
  stores: ApiStores;
  bus: Pick<Bus, 'connected' | 'followStatus'>;
  resolver: Resolver;
  clock: () => Date;
  logger: Logger;
  metrics: Metrics;
  /** Absent: nothing is traced. */
  tracer?: Tracer;
  probes: Probes;
}

export interface AppOptions {
  /** The service's base address as callers know it, for the OpenAPI document. */
  publicBaseUrl: string;
  /** Namespace of the scans that are submitted over HTTP. */
  namespace: string;
  targets: TargetRules;
  /** The most pages that one scan may ask for. */
  maxPagesLimit: number;
  /** Submissions are held back when so many scans are live. */
  maxLiveScans: number;
  /** Of Curbcut, for the OpenAPI document. */
  version: string;
  /** Default: the contract's four limits. */
  limits?: Partial<Record<LimitName, LimitSize>>;
  /** Default: those of the decisions. */
  streams?: Partial<Timings>;
  /** How long a dependency may take for one answer, in milliseconds. Default 6,000: longer than the stores' own limits. */
  dependencyTimeoutMs?: number;
  /** How long a request may take to arrive, in milliseconds. Default 30,000. */
  requestTimeoutMs?: number;
}

class Late extends Error {}

/** A dependency did not answer, or answered with an error of its own. Whether it did what was asked is unknown. */
export class DependencyDown extends Error {
  readonly dependency: string;
  constructor(dependency: string, cause: unknown) {
    super(`${dependency} failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'DependencyDown';
    this.dependency = dependency;
  }
}

/**
 * The same store, whose every outage, and every answer that takes longer than `timeoutMs`, is a `DependencyDown`.
 * One place for it, so that no route can forget it. Refusals and faults of ours pass as they are.
 */
export function guarded<T extends object>(
  dependency: string,
  store: T,
  options: { timeoutMs: number; onDown: (dependency: string) => void },
): T {
  const down = (cause: unknown): DependencyDown => {
    options.onDown(dependency);
    return new DependencyDown(dependency, cause);
  };
  const watch = async (answer: Promise<unknown>): Promise<unknown> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Late(`no answer within ${options.timeoutMs} ms`)), options.timeoutMs);
    });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      throw error instanceof Late || dependencyIsDown(error) ? down(error) : error;
    } finally {
      clearTimeout(timer);
    }
  };
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const answer: unknown = Reflect.apply(member, target, parameters);
        return answer instanceof Promise ? watch(answer) : answer;
      };
    },
  });
}

/** `rateLimits` is not guarded: it continues without its store. */
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

/** All stores guarded, each by the name of the server behind it. */
export function guardStores(stores: ApiStores, options: { timeoutMs: number; onDown: (dependency: string) => void }): ApiStores {
  const names = Object.keys(SERVERS) as (keyof typeof SERVERS)[];
  const watched = Object.fromEntries(names.map((name) => [name, guarded(SERVERS[name], stores[name], options)]));
  return { ...stores, ...watched };
}
