/** The objects by resource, one increasing revision for all of them, and a bounded history for watches. */
import type { Journal } from './journal.ts';
import type { KubeObject } from '../types.ts';

/** A write, as watches see it. */
export interface Change {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  storage: string;
  revision: number;
  /** If `DELETED`: the last state, with the revision of the removal. */
  object: KubeObject;
  /** The previous state; absent if the object was added. */
  before?: KubeObject;
}

export interface Store {
  /** The revision of the last write. */
  revision(): number;
  get(storage: string, namespace: string, name: string): KubeObject | undefined;
  /** Ordered by namespace and name. An empty namespace means all namespaces. */
  list(storage: string, namespace?: string): KubeObject[];
  /** The list at an earlier revision; null if the history is too short. */
  listAt(storage: string, namespace: string, revision: number): KubeObject[] | null;
  /** Stores a new state with a new revision. The caller must not change the object afterwards. */
  put(storage: string, object: KubeObject): KubeObject;
  remove(storage: string, object: KubeObject): KubeObject;
  /** The changes after a revision; null if the history is too short. */
  since(revision: number): Change[] | null;
  /** Calls the listener synchronously for every write, in order. @returns how to unsubscribe */
  subscribe(listener: (change: Change) => void): () => void;
  close(): void;
}

const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
const byKey = (a: KubeObject, b: KubeObject): number => {
  const left = keyOf(a.metadata.namespace ?? '', a.metadata.name);
  const right = keyOf(b.metadata.namespace ?? '', b.metadata.name);
  return left < right ? -1 : left > right ? 1 : 0;
};

/** @param historyLength number of changes to keep for watches; older revisions are answered with 410 */
export function openStore(journal: Journal, historyLength = 5000): Store {
  const storages = new Map<string, Map<string, KubeObject>>();
  const listeners = new Set<(change: Change) => void>();
  let history: Change[] = [];
  let revision = 0;
  let count = 0;
  const objectsOf = (storage: string): Map<string, KubeObject> => {
    let objects = storages.get(storage);
    if (objects === undefined) storages.set(storage, (objects = new Map()));
    return objects;
  };
  for (const record of journal.records) {
    if (record.object === undefined) objectsOf(record.storage).delete(record.key);
    else objectsOf(record.storage).set(record.key, record.object);
    revision = Math.max(revision, record.revision);
  }
  for (const objects of storages.values()) count += objects.size;
  // The history starts after this revision.
  let floor = revision;

  function* live(): Generator<{ storage: string; key: string; revision: number; object?: KubeObject }> {
    // The highest revision may be that of a removal, which a snapshot of objects would lose.
    yield { storage: '', key: '', revision };
    for (const [storage, objects] of storages) {
      for (const [key, object] of objects) yield { storage, key, revision: Number(object.metadata.resourceVersion), object };
    }
  }

  function record(change: Change): void {
    history.push(change);
    if (history.length > historyLength * 2) {
      history = history.slice(-historyLength);
      floor = (history[0]?.revision ?? revision) - 1;
    }
    journal.compact(live, count);
    for (const listener of [...listeners]) listener(change);
  }

  function since(from: number): Change[] | null {
    if (from < floor) return null;
    let start = history.length;
    while (start > 0 && (history[start - 1]?.revision ?? 0) > from) start -= 1;
    return history.slice(start);
  }

  const list = (storage: string, namespace = ''): KubeObject[] => {
    const all = [...objectsOf(storage).values()];
    return (namespace === '' ? all : all.filter((object) => object.metadata.namespace === namespace)).sort(byKey);
  };

  return {
    revision: () => revision,
    get: (storage, namespace, name) => storages.get(storage)?.get(keyOf(namespace, name)),
    list,
    listAt(storage, namespace, at) {
      const later = since(at);
      if (later === null) return null;
      const objects = new Map(
        list(storage, namespace).map((object) => [keyOf(object.metadata.namespace ?? '', object.metadata.name), object]),
      );
      for (const change of later.reverse()) {
        const { metadata } = change.object;
        if (change.storage !== storage || (namespace !== '' && metadata.namespace !== namespace)) continue;
        const key = keyOf(metadata.namespace ?? '', metadata.name);
        if (change.before === undefined) objects.delete(key);
        else objects.set(key, change.before);
      }
      return [...objects.values()].sort(byKey);
    },
    put(storage, given) {
      revision += 1;
      const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(revision) } };
      const key = keyOf(object.metadata.namespace ?? '', object.metadata.name);
      const objects = objectsOf(storage);
      const before = objects.get(key);
      journal.append({ storage, key, revision, object });
      objects.set(key, object);
      if (before === undefined) count += 1;
      record({ type: before === undefined ? 'ADDED' : 'MODIFIED', storage, revision, object, before });
      return object;
    },
    remove(storage, given) {
      revision += 1;
      const key = keyOf(given.metadata.namespace ?? '', given.metadata.name);
      const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(revision) } };
      journal.append({ storage, key, revision });
      const before = objectsOf(storage).get(key);
      if (objectsOf(storage).delete(key)) count -= 1;
      record({ type: 'DELETED', storage, revision, object, before });
      return object;
    },
    since,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => journal.close(),
  };
}
