/**
 * The state of each watched namespace. A controller reconciles an object only while its namespace is readable: after the
 * first list of each cache of the namespace, and not while the API server refuses to list it. A namespace that cannot be
 * read never delays the objects of others.
 */
import type { Logger } from '../../platform/logger.ts';
import { errorMessage } from '../../platform/errors.ts';
import { hasCode } from '../../platform/kubernetes/kubernetes.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import { fromKey } from './cache.ts';
import type { RuntimeMetrics } from './metrics.ts';

/** Why a namespace cannot be read. */
export interface Unreadable {
  since: Date;
  resource: string;
  message: string;
}

export interface Lanes {
  /** Adds a resource that is cached in a namespace. An empty namespace stands for all namespaces. */
  add(namespace: string, resource: string): void;
  /** Records that a resource was listed (`error` null), or that listing it failed for the nth time in a row. */
  report(namespace: string, resource: string, error: unknown, failures: number): void;
  /** Whether the namespace of this key is readable. */
  isOpen(key: string): boolean;
  /** Calls `release` once when the namespace of this key is readable. Keys are held once for each `owner`. */
  hold(owner: object, key: string, release: () => void): void;
  /** Resolves when each namespace is readable or known to be unreadable, after `withinMs` in any case, or when `stop` aborts. */
  settled(withinMs: number, stop: AbortSignal): Promise<void>;
  /** The namespaces that cannot be read now; an empty name stands for all namespaces. */
  unreadable(): ReadonlyMap<string, Unreadable>;
  /** Calls `listener` when a namespace becomes readable or unreadable. @returns a function that removes it */
  onChange(listener: () => void): () => void;
}

interface Lane {
  /** The resources whose first list has not arrived. */
  unlisted: Set<string>;
  failing: Map<string, Unreadable>;
  /** The releases of held keys, by owner and key. */
  held: Map<object, Map<string, () => void>>;
}

/** Failures in a row after which a namespace counts as unreadable although the API server did not refuse the request. */
const FAILURES = 3;

/** Whether a failed list, the nth in a row, means that the resource cannot be read. */
export function countsAsUnreadable(error: unknown, failures: number): boolean {
  return hasCode(error, 401, 403, 404) || failures >= FAILURES;
}

export function createLanes({ clock, logger, metrics }: { clock: Clock; logger: Logger; metrics?: RuntimeMetrics }): Lanes {
  const lanes = new Map<string, Lane>();
  const listeners = new Set<() => void>();
  const isReadable = ({ unlisted, failing }: Lane) => unlisted.size === 0 && failing.size === 0;
  const isKnown = ({ unlisted, failing }: Lane) => unlisted.size === 0 || failing.size > 0;

  /** A cache of all namespaces covers the key too. */
  function closedLaneOf(key: string): Lane | undefined {
    const { namespace } = fromKey(key);
    return [lanes.get(''), lanes.get(namespace)].find((lane) => lane !== undefined && !isReadable(lane));
  }

  function changed(namespace: string, lane: Lane) {
    metrics?.namespaceReadable(namespace, isReadable(lane));
    for (const listener of [...listeners]) listener();
    if (!isReadable(lane)) return;
    const releases = [...lane.held.values()].flatMap((keys) => [...keys.values()]);
    lane.held.clear();
    for (const release of releases) release();
  }

  function fail(namespace: string, lane: Lane, resource: string, message: string) {
    const since = lane.failing.get(resource)?.since ?? clock.now();
    const first = lane.failing.size === 0;
    lane.failing.set(resource, { since, resource, message });
    if (!first) return;
    logger.warn({ namespace, resource, reason: message }, 'cannot read namespace, its objects wait');
    changed(namespace, lane);
  }

  function succeed(namespace: string, lane: Lane, resource: string) {
    const before = isReadable(lane);
    const failed = lane.failing.delete(resource);
    lane.unlisted.delete(resource);
    if (before || !isReadable(lane)) return;
    if (failed) logger.info({ namespace, resource }, 'namespace is readable again');
    changed(namespace, lane);
  }

  return {
    add(namespace, resource) {
      const lane = lanes.get(namespace) ?? { unlisted: new Set(), failing: new Map(), held: new Map() };
      lanes.set(namespace, lane);
      lane.unlisted.add(resource);
      metrics?.namespaceReadable(namespace, false);
    },
    report(namespace, resource, error, failures) {
      const lane = lanes.get(namespace)!;
      if (error === null) return succeed(namespace, lane, resource);
      if (countsAsUnreadable(error, failures)) fail(namespace, lane, resource, errorMessage(error));
    },
    isOpen: (key) => closedLaneOf(key) === undefined,
    hold(owner, key, release) {
      const lane = closedLaneOf(key);
      if (lane === undefined) return release();
      const keys = lane.held.get(owner) ?? new Map<string, () => void>();
      lane.held.set(owner, keys.set(key, release));
    },
    async settled(withinMs, stop) {
      const known = Promise.withResolvers<void>();
      const check = () => void ([...lanes.values()].every(isKnown) && known.resolve());
      listeners.add(check);
      check();
      const over = new AbortController();
      await Promise.race([known.promise, sleep(clock, withinMs, AbortSignal.any([stop, over.signal]))]);
      over.abort();
      listeners.delete(check);
      if (stop.aborted) return;
      for (const [namespace, lane] of lanes) {
        if (!isKnown(lane)) fail(namespace, lane, [...lane.unlisted][0]!, `not listed within ${withinMs / 1000} s`);
      }
    },
    unreadable() {
      const failing = [...lanes].filter(([, lane]) => lane.failing.size > 0);
      return new Map(failing.map(([namespace, lane]) => [namespace, [...lane.failing.values()][0]!]));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Remembers which namespaces of an optional kind were listed. */
export function trackLists(namespaces: readonly string[]) {
  const [listed, failing] = [new Set<string>(), new Set<string>()];
  return {
    onListed(error: unknown, _failures: number, namespace: string): void {
      if (error === null) listed.add(namespace);
      failing[error === null ? 'delete' : 'add'](namespace);
    },
    /** Whether an object that the cache does not hold does not exist; or nothing says so, because the namespace is not watched any more. */
    isListed: (namespace: string): boolean =>
      namespaces.length === 0 ? listed.has('') : listed.has(namespace) || !namespaces.includes(namespace),
    isFailing: (): boolean => failing.size > 0,
  };
}
