/**
 * The state of each watched namespace. A controller reconciles an object only while its namespace is readable. It is readable after
 * the first list of each of its caches, and not while the API server refuses to list it. It never delays the objects of others.
 */
import type { Logger } from '../../platform/logger.ts';
import { errorMessage } from '../../platform/errors.ts';
import { hasCode } from '../../platform/kubernetes/kubernetes.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import { fromKey } from './cache.ts';
import type { RuntimeMetrics } from './metrics.ts';

export interface Unreadable {
  since: Date;
  resource: string;
  message: string;
}

/** What is known of one namespace. An empty name stands for all namespaces. */
interface State {
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

export type NamespaceStates = ReturnType<typeof createNamespaceStates>;

export function createNamespaceStates({ clock, logger, metrics }: { clock: Clock; logger: Logger; metrics?: RuntimeMetrics }) {
  const states = new Map<string, State>();
  const listeners = new Set<() => void>();
  const isReadable = ({ unlisted, failing }: State) => unlisted.size === 0 && failing.size === 0;
  const isKnown = ({ unlisted, failing }: State) => unlisted.size === 0 || failing.size > 0;

  /** A cache of all namespaces covers the key too. */
  function unreadableStateOf(key: string): State | undefined {
    const { namespace } = fromKey(key);
    return [states.get(''), states.get(namespace)].find((state) => state !== undefined && !isReadable(state));
  }

  function changed(namespace: string, state: State) {
    metrics?.namespaceReadable(namespace, isReadable(state));
    for (const listener of [...listeners]) listener();
    if (!isReadable(state)) return;
    const releases = [...state.held.values()].flatMap((keys) => [...keys.values()]);
    state.held.clear();
    for (const release of releases) release();
  }

  function fail(namespace: string, state: State, resource: string, message: string) {
    const since = state.failing.get(resource)?.since ?? clock.now();
    const first = state.failing.size === 0;
    state.failing.set(resource, { since, resource, message });
    if (!first) return;
    logger.warn({ namespace, resource, reason: message }, 'cannot read namespace, its objects wait');
    changed(namespace, state);
  }

  function succeed(namespace: string, state: State, resource: string) {
    const before = isReadable(state);
    const failed = state.failing.delete(resource);
    state.unlisted.delete(resource);
    if (before || !isReadable(state)) return;
    if (failed) logger.info({ namespace, resource }, 'namespace is readable again');
    changed(namespace, state);
  }

  return {
    add(namespace: string, resource: string): void {
      const state = states.get(namespace) ?? { unlisted: new Set(), failing: new Map(), held: new Map() };
      states.set(namespace, state);
      state.unlisted.add(resource);
      metrics?.namespaceReadable(namespace, false);
    },
    /** Records that a resource was listed (`error` null), or that listing it failed for the nth time in a row. */
    report(namespace: string, resource: string, error: unknown, failures: number): void {
      const state = states.get(namespace)!;
      if (error === null) return succeed(namespace, state, resource);
      if (countsAsUnreadable(error, failures)) fail(namespace, state, resource, errorMessage(error));
    },
    isReadable: (key: string): boolean => unreadableStateOf(key) === undefined,
    /** Calls `release` once when the namespace of this key is readable. Keys are held once for each `owner`. */
    hold(owner: object, key: string, release: () => void): void {
      const state = unreadableStateOf(key);
      if (state === undefined) return release();
      const keys = state.held.get(owner) ?? new Map<string, () => void>();
      state.held.set(owner, keys.set(key, release));
    },
    /** Resolves when each namespace is readable or known to be unreadable, after `withinMs` in any case, or when `stop` aborts. */
    async settled(withinMs: number, stop: AbortSignal): Promise<void> {
      const known = Promise.withResolvers<void>();
      const check = () => void ([...states.values()].every(isKnown) && known.resolve());
      listeners.add(check);
      check();
      const over = new AbortController();
      await Promise.race([known.promise, sleep(clock, withinMs, AbortSignal.any([stop, over.signal]))]);
      over.abort();
      listeners.delete(check);
      if (stop.aborted) return;
      for (const [namespace, state] of states) {
        if (!isKnown(state)) fail(namespace, state, [...state.unlisted][0]!, `not listed within ${withinMs / 1000} s`);
      }
    },
    unreadable(): ReadonlyMap<string, Unreadable> {
      const failing = [...states].filter(([, state]) => state.failing.size > 0);
      return new Map(failing.map(([namespace, state]) => [namespace, [...state.failing.values()][0]!]));
    },
    /** Calls `listener` when a namespace becomes readable or unreadable. @returns a function that removes it */
    onChange(listener: () => void): () => void {
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
