/**
 * An in-memory cache of the objects of one resource, kept up to date by list and watch, with change events.
 *
 * Follows client-go's SharedInformer (v0.36): a new list is compared with the held objects, and the differences, including
 * deletions, are emitted as events. Differences: listeners are called synchronously and in order, so put slow work behind a
 * queue; objects are raw JSON and frozen, because they are shared.
 */
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import { createIndexer, type CacheEvent } from './indexer.ts';
import { runReflector, type ReflectorOptions } from './reflector.ts';

export type { CacheEvent } from './indexer.ts';

export interface Cache<T extends KubernetesObject> {
  /** Lists and watches until the signal aborts. Call it once. */
  start(signal: AbortSignal): void;
  /** Resolves when the first list is stored and its `added` events are emitted; rejects if stopped before. */
  readonly synced: Promise<void>;
  /** Resolves when all work has ended after the signal aborted. */
  readonly stopped: Promise<void>;
  /** `namespace` is empty for cluster-scoped objects. */
  get(namespace: string, name: string): T | undefined;
  list(): T[];
  /** Returns the objects with `value` in the index `name` of the options. */
  byIndex(name: string, value: string): T[];
  /** Calls `listener` at once with `added` for each held object, then for each change. @returns a function that removes it */
  onChange(listener: (event: CacheEvent<T>) => void): () => void;
}

export interface CacheOptions<T extends KubernetesObject> extends ReflectorOptions {
  /** Transforms each object before it is stored (client-go's TransformFunc). Keep name, namespace, uid and resourceVersion. */
  keep?: (object: T) => T;
  /** Leaves out the objects for which it returns false, as if they did not exist. It must depend on immutable fields only. */
  accepts?: (object: T) => boolean;
  /** Functions that compute an object's values for each index of `byIndex`. */
  indexes?: Record<string, (object: T) => string[]>;
}

export function createCache<T extends KubernetesObject>(options: CacheOptions<T>): Cache<T> {
  const { resource, keep = (object: T) => object, accepts = () => true } = options;
  const logger = options.logger.child({ resource: resource.plural });
  const store = createIndexer<T>(options.indexes);
  const listeners = new Set<(event: CacheEvent<T>) => void>();
  const synced = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  // Prevents an unhandled rejection if no caller awaits it.
  synced.promise.catch(() => {});
  let started = false;

  function notify(listener: (event: CacheEvent<T>) => void, event: CacheEvent<T>) {
    try {
      listener(event);
    } catch (error) {
      logger.error({ err: error, object: event.object.metadata.name }, 'cache listener failed');
    }
  }

  function emit(events: CacheEvent<T>[]) {
    for (const event of events) for (const listener of [...listeners]) notify(listener, event);
  }

  const sink = {
    keep,
    replace(objects: T[]) {
      emit(store.replace(objects.filter(accepts)));
      synced.resolve();
    },
    put: (object: T) => accepts(object) && emit(store.put(keep(object))),
    remove: (object: T) => accepts(object) && emit(store.remove(keep(object))),
  };

  return {
    start(signal) {
      if (started) throw new Error(`the cache of ${resource.plural} was already started`);
      started = true;
      void runReflector({ ...options, logger }, sink, signal).then(() => {
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
      for (const object of store.list()) notify(listener, { type: 'added', object });
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
