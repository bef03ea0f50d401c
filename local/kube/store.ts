/** The objects by resource, one increasing revision for all of them, and a bounded history for watches. */
import { closeSync, existsSync, openSync, readFileSync, renameSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from './types.ts';

/**
 * Keeps the state on disk: a file of JSON lines that starts with a snapshot and grows by one line per write. It is rewritten when most of
 * it is history. It is not fsynced: it survives a killed process, but not a power failure. A recorded write: the new state of an object, or
 * its removal.
 */
interface JournalRecord {
  storage: string;
  key: string;
  revision: number;
  /** Absent after a removal. */
  object?: KubeObject;
}

interface Journal {
  /** The records in the file when it was opened, in order. */
  readonly records: readonly JournalRecord[];
  append(record: JournalRecord): void;
  /** Rewrites the file if it has far more lines than there are live objects. */
  compact(live: () => Iterable<JournalRecord>, count: number): void;
  close(): void;
}

/** Minimum number of superseded lines before a rewrite. */
const SLACK_LINES = 5000;

/** A journal that keeps nothing. */
export const memoryJournal = (): Journal => ({ records: [], append: () => undefined, compact: () => undefined, close: () => undefined });

/** Opens `state.jsonl` in `folder`. Drops a torn last line, which a process leaves that was killed during a write. */
export function openJournal(folder: string): Journal {
  const path = join(folder, 'state.jsonl');
  const records: JournalRecord[] = [];
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    let whole = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, whole)) {
      try {
        records.push(JSON.parse(bytes.toString('utf8', whole, end)) as JournalRecord);
      } catch (cause) {
        throw new Error(`${path}: line ${records.length + 1} is not valid JSON. Remove the folder to start with an empty state`, { cause });
      }
      whole = end + 1;
    }
    if (whole < bytes.length) truncateSync(path, whole);
  }
  let lines = records.length;
  let file = openSync(path, 'a', 0o600);
  return {
    records,
    append(record) {
      writeSync(file, `${JSON.stringify(record)}\n`);
      lines += 1;
    },
    compact(live, count) {
      if (lines < count * 2 + SLACK_LINES) return;
      const snapshot = [...live()];
      writeFileSync(`${path}.new`, snapshot.map((record) => `${JSON.stringify(record)}\n`).join(''), { mode: 0o600 });
      closeSync(file);
      renameSync(`${path}.new`, path);
      file = openSync(path, 'a', 0o600);
      lines = snapshot.length;
    },
    close: () => closeSync(file),
  };
}

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
const nameOf = ({ metadata }: KubeObject): string => keyOf(metadata.namespace ?? '', metadata.name);
const byKey = (a: KubeObject, b: KubeObject): number => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0);

interface History {
  add(change: Change): void;
  /** The changes after a revision; null if the history is too short. */
  since(revision: number): Change[] | null;
}

/** Keeps between `length` and twice as many changes. @param floor the revision that it starts after */
function openHistory(floor: number, length: number): History {
  let changes: Change[] = [];
  return {
    add(change) {
      changes.push(change);
      if (changes.length <= length * 2) return;
      floor = changes.at(-length - 1)!.revision;
      changes = changes.slice(-length);
    },
    since: (from) => (from < floor ? null : changes.slice(changes.findLastIndex(({ revision }) => revision <= from) + 1)),
  };
}

type Storages = Map<string, Map<string, KubeObject>>;

/** The objects of a storage, by their keys. */
function objectsOf(storages: Storages, storage: string): Map<string, KubeObject> {
  const objects = storages.get(storage) ?? new Map<string, KubeObject>();
  storages.set(storage, objects);
  return objects;
}

/** The state that the records of a journal lead to. */
function replay(records: readonly JournalRecord[]): { storages: Storages; revision: number } {
  const storages: Storages = new Map();
  for (const { storage, key, object } of records) {
    if (object === undefined) storages.get(storage)?.delete(key);
    else objectsOf(storages, storage).set(key, object);
  }
  return { storages, revision: records.reduce((last, record) => Math.max(last, record.revision), 0) };
}

/** The records of a state. */
function* snapshot(storages: Storages, revision: number): Generator<JournalRecord> {
  // The highest revision may be that of a removal, which a snapshot of objects would lose.
  yield { storage: '', key: '', revision };
  for (const [storage, objects] of storages) {
    for (const [key, object] of objects) yield { storage, key, revision: Number(object.metadata.resourceVersion), object };
  }
}

/** @param historyLength number of changes to keep for watches; older revisions are answered with 410 */
export function openStore(journal: Journal, historyLength = 5000): Store {
  const { storages, ...replayed } = replay(journal.records);
  let { revision } = replayed;
  const history = openHistory(revision, historyLength);
  const listeners = new Set<(change: Change) => void>();

  function record(change: Change): void {
    history.add(change);
    const count = storages.values().reduce((sum, { size }) => sum + size, 0);
    journal.compact(() => snapshot(storages, revision), count);
    for (const listener of [...listeners]) listener(change);
  }

  return {
    revision: () => revision,
    get: (storage, namespace, name) => storages.get(storage)?.get(keyOf(namespace, name)),
    list: (storage, namespace = '') =>
      [...(storages.get(storage)?.values() ?? [])]
        .filter(({ metadata }) => namespace === '' || metadata.namespace === namespace)
        .sort(byKey),
    put(storage, given) {
      revision += 1;
      const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(revision) } };
      const key = nameOf(object);
      const objects = objectsOf(storages, storage);
      const before = objects.get(key);
      journal.append({ storage, key, revision, object });
      objects.set(key, object);
      record({ type: before === undefined ? 'ADDED' : 'MODIFIED', storage, revision, object, before });
      return object;
    },
    remove(storage, given) {
      revision += 1;
      const key = nameOf(given);
      const object = { ...given, metadata: { ...given.metadata, resourceVersion: String(revision) } };
      journal.append({ storage, key, revision });
      const objects = objectsOf(storages, storage);
      const before = objects.get(key);
      objects.delete(key);
      record({ type: 'DELETED', storage, revision, object, before });
      return object;
    },
    since: history.since,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => journal.close(),
  };
}
