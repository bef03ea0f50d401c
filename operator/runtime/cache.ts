/**
 * What the cluster holds of one resource, kept up to date in memory, with a listener for each change.
 *
 * Follows client-go's `tools/cache` (Reflector and SharedInformer, v0.36): a paged list, then a watch from the list's
 * resourceVersion with bookmarks; a watch that ends is resumed from the last version seen; a 410 or an ERROR event
 * leads to a new list, whose differences from what was held are emitted as events, deletions too; failures back off
 * with jitter. Differs: that back-off ends at 5 s (client-go: 30 s, for which the cache stays behind a server that is
 * back); a watch on which nothing arrives for `idleMs` is dropped and resumed (client-go leaves that to HTTP/2 pings);
 * listeners are called synchronously and in order, so a slow one belongs behind a queue; objects are raw JSON and
 * frozen, since they are shared.
 */
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import {
  KubernetesError,
  WatchIdleError,
  type KubernetesConnection,
  type ResourceType,
  type WatchEvent,
} from '../../platform/kubernetes/kubernetes.ts';
import { sleep, type Clock } from './clock.ts';
import { createIndexer, type CacheEvent } from './indexer.ts';
import type { RuntimeMetrics, WatchRestart } from './metrics.ts';

export type { CacheEvent } from './indexer.ts';

export interface Cache<T extends KubernetesObject> {
  /** Lists and watches until the signal aborts. Once. */
  start(signal: AbortSignal): void;
  /** Resolves after the first whole list, when its objects are held and their `added` events are emitted; rejects if stopped before. */
  readonly synced: Promise<void>;
  /** Resolves when a started cache has come to rest after its signal aborted. */
  readonly stopped: Promise<void>;
  /** `namespace` is empty for what is not in a namespace. */
  get(namespace: string, name: string): T | undefined;
  list(): T[];
  /** What has `value` in the index `name` of the options. */
  byIndex(name: string, value: string): T[];
  /** Calls `listener` for each change from now on; what is held already is told as `added` at once. Returns how to end it. */
  onChange(listener: (event: CacheEvent<T>) => void): () => void;
}

export interface CacheOptions<T extends KubernetesObject> {
  connection: KubernetesConnection;
  resource: ResourceType;
  /** Default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  logger: Logger;
  clock: Clock;
  metrics?: RuntimeMetrics;
  /** What is held of each object (client-go's TransformFunc); name, namespace, uid and resourceVersion must stay. Default: all of it. */
  keep?: (object: T) => T;
  /** Look-ups for `byIndex`: the values under which an object is found. */
  indexes?: Record<string, (object: T) => string[]>;
  /** Repeats every object as `modified` this often. Default: never. */
  resyncMs?: number;
  /** Objects a page. Default 500. */
  pageSize?: number;
  /** Drops a watch that is silent for so long. Default 90,000: a server sends a bookmark about every minute. */
  idleMs?: number;
  /** Asks the server to end each watch after this, a random part more; spreads watches over servers. Default 300,000. */
  watchMs?: number;
  /** The first and the longest wait after a failure, in milliseconds. Defaults 800 and 5,000. */
  backOff?: { baseMs: number; maxMs: number };
  random?: () => number;
}

interface List<T> {
  metadata: { resourceVersion: string; continue?: string };
  apiVersion: string;
  kind: string;
  items: T[];
}

/** How a watch ended, and whether what it missed can still be had by watching on. */
interface End {
  reason: WatchRestart;
  relist: boolean;
  /** Nothing good came of it: the next try waits. */
  failed: boolean;
  /** Events came before the end: what failed before is over. */
  heard: boolean;
  error?: unknown;
}

export function createCache<T extends KubernetesObject>(options: CacheOptions<T>): Cache<T> {
  const { connection, clock, metrics, resource, random = Math.random, keep = (object: T) => object } = options;
  const { pageSize = 500, idleMs = 90_000, watchMs = 300_000, backOff = { baseMs: 800, maxMs: 5_000 } } = options;
  const logger = options.logger.child({ resource: resource.plural });
  const path = connection.path(resource, options.namespace);
  const selectors = { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
  const store = createIndexer<T>(options.indexes);
  const listeners = new Set<(event: CacheEvent<T>) => void>();
  const synced = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  // Who does not wait for it must not be ended by its rejection.
  synced.promise.catch(() => {});
  let started = false;
  let hasSynced = false;

  function tell(listener: (event: CacheEvent<T>) => void, event: CacheEvent<T>) {
    try {
      listener(event);
    } catch (error) {
      logger.error({ err: error, object: event.object.metadata.name }, 'a listener of the cache failed');
    }
  }

  function emit(events: CacheEvent<T>[]) {
    for (const event of events) for (const listener of [...listeners]) tell(listener, event);
  }

  /** Every page, as of one moment. @returns the resourceVersion to watch from */
  async function list(signal: AbortSignal): Promise<string> {
    const start = clock.monotonic();
    let objects: T[] = [];
    let limit: number | undefined = pageSize;
    let page: List<T> | null = null;
    do {
      const query: Record<string, string | number | undefined> = { ...selectors, limit, continue: page?.metadata.continue };
      try {
        page = await connection.request<List<T>>('GET', path, { query, signal, timeoutMs: 60_000 });
      } catch (error) {
        // The pages outlived their snapshot (the server compacts every five minutes): take all in one.
        if (!(error instanceof KubernetesError && error.code === 410 && page)) throw error;
        [objects, limit, page] = [[], undefined, null];
        continue;
      }
      // Items of built-in resources do not say what they are; those of a watch do.
      const [apiVersion, kind] = [page.apiVersion, page.kind.replace(/List$/, '')];
      for (const item of page.items) objects.push(keep({ ...item, apiVersion: item.apiVersion ?? apiVersion, kind: item.kind ?? kind }));
    } while (!page || page.metadata.continue);
    emit(store.replace(objects));
    metrics?.listed(resource.plural, objects.length, (clock.monotonic() - start) / 1000);
    return page.metadata.resourceVersion;
  }

  /** Takes in one event. @returns the version to go on from */
  function take(event: WatchEvent<T>): string {
    if (event.type === 'ERROR') {
      const status = event.object as unknown as { code?: number; reason?: string; message?: string };
      throw new KubernetesError(status.code ?? 500, status.reason ?? 'Unknown', status.message ?? 'the watch ended with an error');
    }
    if (event.type === 'DELETED') emit(store.remove(keep(event.object)));
    else if (event.type !== 'BOOKMARK') emit(store.put(keep(event.object)));
    const { resourceVersion } = event.object.metadata;
    if (!resourceVersion) throw new Error(`a watch event of ${resource.plural} has no resourceVersion`);
    return resourceVersion;
  }

  /** Watches from `version` to the watch's end. */
  async function watch(version: string, signal: AbortSignal): Promise<End & { version: string }> {
    const start = clock.monotonic();
    let heard = false;
    const barren = () => !heard && clock.monotonic() - start < 1000;
    const query = {
      ...selectors,
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: version,
      timeoutSeconds: Math.max(1, Math.round((watchMs * (1 + random())) / 1000)),
    };
    try {
      for await (const event of connection.watch<T>(path, { query, signal, idleMs })) {
        version = take(event);
        heard = true;
      }
      return { version, reason: 'closed', relist: false, failed: barren(), heard };
    } catch (error) {
      if (error instanceof WatchIdleError) return { version, reason: 'idle', relist: false, failed: !heard, heard, error };
      // Told to come back later, or cut off: nothing says that the version is gone. Any other refusal may mean that.
      const refused = error instanceof KubernetesError && error.code !== 429 && error.code !== 503;
      const expired = refused && error.code === 410;
      return { version, reason: expired ? 'expired' : 'error', relist: refused, failed: expired ? barren() : true, heard, error };
    }
  }

  async function follow(signal: AbortSignal) {
    let version: string | null = null;
    let failures = 0;
    const pause = (error: unknown) => {
      const delay = Math.min(backOff.maxMs, backOff.baseMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random());
      const asked = error instanceof KubernetesError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      return sleep(clock, Math.max(delay, asked), signal);
    };
    while (!signal.aborted) {
      let problem: unknown;
      try {
        version ??= await list(signal);
        if (!hasSynced) {
          hasSynced = true;
          synced.resolve();
        }
        const end: End & { version: string } = await watch(version, signal);
        if (signal.aborted) break;
        version = end.relist ? null : end.version;
        metrics?.watchRestarted(resource.plural, end.reason);
        logger.debug({ reason: end.reason, err: end.error }, 'watches again');
        failures = !end.failed ? 0 : end.heard ? 1 : failures + 1;
        problem = end.error;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        problem = error;
      }
      if (failures > 0) {
        // A lone hiccup is no news; what lasts is, once.
        if (failures === 3) logger.warn({ err: problem, failures }, 'cannot follow the resource, keeps trying');
        await pause(problem);
      }
    }
  }

  function resync(signal: AbortSignal) {
    if (!options.resyncMs) return;
    let cancel = () => {};
    const again = () => {
      emit(store.list().map((object) => ({ type: 'modified', object, previous: object })));
      cancel = clock.after(options.resyncMs!, again);
    };
    cancel = clock.after(options.resyncMs, again);
    signal.addEventListener('abort', () => cancel(), { once: true });
  }

  return {
    start(signal) {
      if (started) throw new Error(`the cache of ${resource.plural} is started already`);
      started = true;
      resync(signal);
      void follow(signal).then(() => {
        synced.reject(new Error(`the cache of ${resource.plural} was stopped before its first list`));
        stopped.resolve();
      }, stopped.reject);
    },
    synced: synced.promise,
    stopped: stopped.promise,
    get: (namespace, name) => store.get(namespace, name),
    list: () => store.list(),
    byIndex: (name, value) => store.byIndex(name, value),
    onChange(listener) {
      for (const object of store.list()) tell(listener, { type: 'added', object });
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
