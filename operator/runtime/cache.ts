/**
 * An in-memory cache of the objects of one resource, kept up to date by list and watch, with change events.
 *
 * Follows client-go's SharedInformer (v0.36): a new list is compared with the held objects, and the differences, including
 * deletions, are emitted as events. Differences: listeners are called synchronously and in order, so put slow work behind a
 * queue; objects are raw JSON and frozen, because they are shared.
 */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { type ReflectorOptions, runReflector } from './reflector.ts';

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
      options.metrics?.watchKept(resource.plural);
      void runReflector({ ...options, logger }, sink, signal).then(() => {
        options.metrics?.watchGivenUp(resource.plural);
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

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubernetesObject): string {
  return toKey(object.metadata.namespace, object.metadata.name);
}

export function toKey(namespace: string | undefined, name: string): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** The reverse of `toKey`. `namespace` is empty for cluster-scoped objects. */
export function fromKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Combines the caches of several namespaces into one, for an operator without permission to watch all. @param namespaces empty for all */
export function watchNamespaces<T extends KubernetesObject>(
  options: Omit<CacheOptions<T>, 'namespace'>,
  namespaces: readonly string[],
): Cache<T> {
  if (namespaces.length === 0) return createCache<T>(options);
  const caches = new Map(namespaces.map((namespace) => [namespace, createCache<T>({ ...options, namespace })]));
  const all = [...caches.values()];
  const together = (promises: Promise<void>[]): Promise<void> => {
    const every = Promise.all(promises).then(() => undefined);
    // Prevents an unhandled rejection if no caller awaits it.
    every.catch(() => undefined);
    return every;
  };
  return {
    start: (signal) => all.forEach((cache) => cache.start(signal)),
    synced: together(all.map((cache) => cache.synced)),
    stopped: together(all.map((cache) => cache.stopped)),
    get: (namespace, name) => caches.get(namespace)?.get(namespace, name),
    list: () => all.flatMap((cache) => cache.list()),
    byIndex: (name, value) => all.flatMap((cache) => cache.byIndex(name, value)),
    onChange(listener) {
      const ends = all.map((cache) => cache.onChange(listener));
      return () => ends.forEach((end) => end());
    },
  };
}

export interface CacheEvent<T> {
  type: 'added' | 'modified' | 'deleted';
  /** The current object; for `deleted`, its last known state. */
  object: T;
  previous?: T;
}

/**
 * Stores and indexes the objects of a cache, and returns the events of each change.
 *
 * Follows client-go's `thread_safe_store` and `DeltaFIFO.Replace`, with two differences. An object with a new uid causes a deleted
 * and an added event (client-go: an update), because it has other children and another history. An object that is unchanged in a
 * new list causes no event.
 */
export function createIndexer<T extends KubernetesObject>(indexers: Record<string, (object: T) => string[]> = {}) {
  const held = new Map<string, T>();
  // The only object of a value is there without a map, which would need an eighth of the memory of a scan.
  const indexes = new Map(Object.keys(indexers).map((name) => [name, new Map<string, T | Map<string, T>>()]));

  function unindex(key: string, object: T) {
    for (const [name, index] of indexes) {
      for (const value of indexers[name]!(object)) {
        const found = index.get(value);
        if (found instanceof Map) found.delete(key);
        if (!(found instanceof Map) || found.size === 0) index.delete(value);
      }
    }
  }

  function index(key: string, object: T) {
    for (const [name, values] of indexes) {
      for (const value of indexers[name]!(object)) {
        const found = values.get(value);
        if (found instanceof Map) found.set(key, object);
        else values.set(value, found === undefined ? object : new Map([found, object].map((one) => [keyOf(one), one])));
      }
    }
  }

  function put(received: T): CacheEvent<T>[] {
    const key = keyOf(received);
    const previous = held.get(key);
    if (previous && previous.metadata.resourceVersion === received.metadata.resourceVersion && sameObject(previous, received)) return [];
    const object = freeze(received);
    if (previous) unindex(key, previous);
    held.set(key, object);
    index(key, object);
    if (!previous) return [{ type: 'added', object }];
    if (sameObject(previous, object)) return [{ type: 'modified', object, previous }];
    return [
      { type: 'deleted', object: previous, previous },
      { type: 'added', object },
    ];
  }

  /** `last` is the last state on the server, if known. */
  function drop(key: string, last?: T): CacheEvent<T>[] {
    const previous = held.get(key);
    if (!previous) return [];
    unindex(key, previous);
    held.delete(key);
    return [{ type: 'deleted', object: last ? freeze(last) : previous, previous }];
  }

  return {
    get: (namespace: string, name: string): T | undefined => held.get(toKey(namespace, name)),
    list: (): T[] => [...held.values()],
    byIndex(name: string, value: string): T[] {
      const found = indexes.get(name);
      if (!found) throw new Error(`this cache has no index ${JSON.stringify(name)}; it has ${[...indexes.keys()].join(', ') || 'none'}`);
      const objects = found.get(value);
      return objects instanceof Map ? [...objects.values()] : objects === undefined ? [] : [objects];
    },
    put,
    remove: (object: T) => drop(keyOf(object), object),
    /** Stores a complete list. Objects that are not in it are deleted. */
    replace(objects: readonly T[]): CacheEvent<T>[] {
      const gone = new Set(held.keys());
      for (const object of objects) gone.delete(keyOf(object));
      return [...gone].flatMap((key) => drop(key)).concat(objects.flatMap(put));
    },
  };
}

function sameObject(a: KubernetesObject, b: KubernetesObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

/** Freezes deeply, because all readers of a cache share its objects. Equal texts of objects become one string. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const fields = value as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const inner = fields[name];
    if (typeof inner === 'string') fields[name] = shared(inner);
    else freeze(inner);
  }
  return Object.freeze(value);
}

/** Conditions, times and settings are the same in thousands of objects. */
const texts = new Map<string, string>();
const MOST_TEXTS = 10_000;
const LONGEST_TEXT = 256;

function shared(text: string): string {
  const known = texts.get(text);
  if (known !== undefined || text.length > LONGEST_TEXT) return known ?? text;
  if (texts.size === MOST_TEXTS) texts.clear();
  texts.set(text, text);
  return text;
}
