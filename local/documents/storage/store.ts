/** All databases of the document store, in memory and, if it has a folder, in a log. */
import { openCollection, type Change, type Collection } from './collection.ts';
import { CommandError } from '../errors.ts';
import { openLog, rejectLarge, type ChangeLog } from './log.ts';
import type { Doc } from '../values.ts';

export interface Store {
  /** The collection, or null if it does not exist. Namespaces are `database.collection`. */
  find(namespace: string): Collection | null;
  /** The collection, created if it does not exist. */
  open(namespace: string): Collection;
  /** @returns false if the collection does not exist */
  drop(namespace: string): boolean;
  /** Namespaces of a database, sorted. */
  namespaces(database: string): string[];
  /** Ends a command: writes its changes to the log. */
  settle(): void;
  /** Removes the documents that have expired at `now` by a TTL index. */
  sweep(now: Date): void;
  close(): void;
}

/** A log is compacted when it has this many bytes and four times its size after the last compaction. */
const COMPACT_FROM = 16 * 1024 * 1024;

/** Opens the store; without a folder nothing is kept. @throws Error if the log is damaged */
export function openStore(folder: string | null): Store {
  const collections = new Map<string, Collection>();
  let log: ChangeLog | null = null;
  let compacted = 0;

  const note = (change: Change): void => {
    if (log !== null) log.note(change);
    else if (change.kind === 'put') rejectLarge(change.doc);
  };

  function open(namespace: string): Collection {
    const found = collections.get(namespace);
    if (found !== undefined) return found;
    rejectName(namespace);
    note({ kind: 'create', namespace });
    const collection = openCollection(namespace, note);
    collections.set(namespace, collection);
    return collection;
  }

  function drop(namespace: string): boolean {
    if (!collections.delete(namespace)) return false;
    note({ kind: 'drop', namespace });
    return true;
  }

  function compact(): void {
    log!.compact(changesTo(collections));
    compacted = log!.size;
  }

  if (folder !== null) {
    const opened = openLog(folder, (change) => replay(change, open, drop));
    log = opened;
    compact();
  }

  return {
    find: (namespace) => collections.get(namespace) ?? null,
    open,
    drop,
    namespaces: (database) => [...collections.keys()].filter((namespace) => namespace.startsWith(`${database}.`)).sort(),
    settle() {
      if (log === null) return;
      log.flush();
      if (log.size > Math.max(COMPACT_FROM, 4 * compacted)) compact();
    },
    sweep(now) {
      for (const collection of collections.values())
        for (const { key, expireAfterSeconds } of collection.indexes()) {
          if (expireAfterSeconds === undefined) continue;
          const field = Object.keys(key)[0]!;
          const expired: Doc = { [field]: { $lte: new Date(now.getTime() - expireAfterSeconds * 1000) } };
          for (const doc of collection.find(expired)) collection.remove(doc);
        }
    },
    close: () => log?.close(),
  };
}

/** Repeats a change of the log. */
function replay(change: Change, open: Store['open'], drop: Store['drop']): void {
  if (change.kind === 'drop') return void drop(change.namespace);
  const collection = open(change.namespace);
  if (change.kind === 'index') collection.createIndex(change.specification);
  if (change.kind === 'create' || change.kind === 'index') return;
  const [current] = collection.find({ _id: { $eq: change.kind === 'put' ? change.doc['_id'] : change.id } }, 1);
  if (change.kind === 'delete') {
    if (current !== undefined) collection.remove(current);
  } else if (current === undefined) collection.insert(change.doc);
  else collection.replace(current, change.doc);
}

/** The changes that lead to a state. */
function* changesTo(collections: ReadonlyMap<string, Collection>): Iterable<Change> {
  for (const [namespace, collection] of collections) {
    yield { kind: 'create', namespace };
    for (const specification of collection.indexes()) if (specification.name !== '_id_') yield { kind: 'index', namespace, specification };
    for (const doc of collection.all()) yield { kind: 'put', namespace, doc };
  }
}

function rejectName(namespace: string): void {
  const [database = '', ...rest] = namespace.split('.');
  const name = rest.join('.');
  if (database === '' || /[/\\ "$\0]/.test(database) || name === '' || name.includes('$') || name.includes('\0'))
    throw new CommandError(73, `Invalid namespace specified '${namespace}'`);
}
