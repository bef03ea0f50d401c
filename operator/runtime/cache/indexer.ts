/**
 * Stores and indexes the objects of a cache, and returns the events of each change.
 *
 * Follows client-go's `thread_safe_store` and `DeltaFIFO.Replace`. Differences: an object with a new uid
 * causes a deleted and an added event (client-go: an update), because it has other children and another history; an object
 * that is unchanged in a new list causes no event.
 */
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import { keyOf, toKey } from '../key.ts';

export interface CacheEvent<T> {
  type: 'added' | 'modified' | 'deleted';
  /** The current object; for `deleted`, its last known state. */
  object: T;
  /** The previous object. */
  previous?: T;
}

export interface Store<T extends KubernetesObject> {
  get(namespace: string, name: string): T | undefined;
  list(): T[];
  byIndex(name: string, value: string): T[];
  /** Stores one object. @returns the resulting events */
  put(object: T): CacheEvent<T>[];
  remove(object: T): CacheEvent<T>[];
  /** Stores a complete list. Objects that are not in it are deleted. */
  replace(objects: T[]): CacheEvent<T>[];
}

export function createIndexer<T extends KubernetesObject>(indexers: Record<string, (object: T) => string[]> = {}): Store<T> {
  const held = new Map<string, T>();
  const indexes = new Map(Object.keys(indexers).map((name) => [name, new Map<string, Map<string, T>>()]));

  function unindex(key: string, object: T) {
    for (const [name, index] of indexes) {
      for (const value of indexers[name]!(object)) {
        const found = index.get(value);
        found?.delete(key);
        if (found?.size === 0) index.delete(value);
      }
    }
  }

  function index(key: string, object: T) {
    for (const [name, values] of indexes) {
      for (const value of indexers[name]!(object)) {
        const found = values.get(value);
        if (found) found.set(key, object);
        else values.set(value, new Map([[key, object]]));
      }
    }
  }

  function put(fresh: T): CacheEvent<T>[] {
    const key = keyOf(fresh);
    const previous = held.get(key);
    if (previous && previous.metadata.resourceVersion === fresh.metadata.resourceVersion && sameObject(previous, fresh)) return [];
    const object = freeze(fresh);
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
    get: (namespace, name) => held.get(toKey(namespace, name)),
    list: () => [...held.values()],
    byIndex(name, value) {
      const found = indexes.get(name);
      if (!found) throw new Error(`this cache has no index ${JSON.stringify(name)}; it has ${[...indexes.keys()].join(', ') || 'none'}`);
      return [...(found.get(value)?.values() ?? [])];
    },
    put,
    remove: (object) => drop(keyOf(object), object),
    replace(objects) {
      const gone = new Set(held.keys());
      for (const object of objects) gone.delete(keyOf(object));
      return [...gone].flatMap((key) => drop(key)).concat(objects.flatMap(put));
    },
  };
}

function sameObject(a: KubernetesObject, b: KubernetesObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}

/** Freezes deeply, because all readers of a cache share its objects. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
