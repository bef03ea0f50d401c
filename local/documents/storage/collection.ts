/** One collection in memory: documents by `_id` in insertion order, its indexes, and its changes for the log. */
import { ObjectId } from 'bson';
import { CommandError } from '../errors.ts';
import { type Doc, isDoc, keyOf, typeName } from '../values.ts';
import { equalities, matcher } from '../match.ts';
import { type Index, type IndexSpecification, openIndex, sameIndex } from './indexes.ts';

/**
 * Finds the documents of a collection, with the index that leaves the fewest to test. The documents by the key of their `_id`, in insertion
 * order, and their indexes by name.
 */
interface Indexed {
  docs: ReadonlyMap<string, Doc>;
  indexes: ReadonlyMap<string, Index>;
}

/** The documents that match a filter, at most `limit`, in insertion order. */
function find(indexed: Indexed, filter: Doc, limit: number): Doc[] {
  const test = matcher(filter);
  const found: Doc[] = [];
  for (const doc of candidates(indexed, filter)) {
    if (test(doc) && found.push(doc) >= limit) break;
  }
  return found;
}

function candidates({ docs, indexes }: Indexed, filter: Doc): Iterable<Doc> {
  const equal = equalities(filter);
  const ids = equal.get('_id');
  if (ids !== undefined) return pick(docs, ids.map(keyOf));
  const found = [...indexes.values()].flatMap((index) => index.candidates(equal) ?? []);
  const [best] = found.sort((a, b) => a.size - b.size);
  return best === undefined ? docs.values() : pick(docs, best);
}

function* pick(docs: Indexed['docs'], ids: Iterable<string>): Iterable<Doc> {
  for (const id of new Set(ids)) {
    const doc = docs.get(id);
    if (doc !== undefined) yield doc;
  }
}

/** A change, as recorded in the log. */
export type Change =
  | { kind: 'put'; namespace: string; doc: Doc }
  | { kind: 'delete'; namespace: string; id: unknown }
  | { kind: 'create'; namespace: string }
  | { kind: 'index'; namespace: string; specification: IndexSpecification }
  | { kind: 'drop'; namespace: string };

export interface Collection {
  all(): Iterable<Doc>;
  /** The documents that match a filter, at most `limit`, in insertion order. */
  find(filter: Doc, limit?: number): Doc[];
  /** Stores a new document, with an `_id` if it has none. @throws CommandError 11000 */
  insert(doc: Doc): Doc;
  /** Replaces `doc` with `next`, which has the same `_id`. @throws CommandError 11000 */
  replace(doc: Doc, next: Doc): void;
  remove(doc: Doc): void;
  indexes(): IndexSpecification[];
  /** Creates an index unless it exists. @throws CommandError if another index conflicts, 11000 if documents are not unique */
  createIndex(specification: IndexSpecification): void;
}

const ID_INDEX: IndexSpecification = { v: 2, key: { _id: 1 }, name: '_id_' };

/** Creates an empty collection that reports every change to `onChange` before it returns. */
export function openCollection(namespace: string, onChange: (change: Change) => void): Collection {
  const docs = new Map<string, Doc>();
  const indexes = new Map<string, Index>();

  function rejectTaken(doc: Doc, self: string | null): void {
    for (const index of indexes.values()) {
      const taken = index.taken(doc, self);
      if (taken !== null) throw duplicate(namespace, index.specification, taken.key);
    }
  }

  return {
    all: () => docs.values(),
    find: (filter, limit = Infinity) => find({ docs, indexes }, filter, limit),
    insert(given) {
      const doc: Doc = { _id: given['_id'] === undefined ? new ObjectId() : given['_id'], ...without(given) };
      rejectId(doc['_id']);
      const id = keyOf(doc['_id']);
      if (docs.has(id)) throw duplicate(namespace, ID_INDEX, { _id: doc['_id'] });
      rejectTaken(doc, null);
      onChange({ kind: 'put', namespace, doc });
      docs.set(id, doc);
      for (const index of indexes.values()) index.add(id, doc);
      return doc;
    },
    replace(doc, next) {
      const id = keyOf(doc['_id']);
      rejectTaken(next, id);
      onChange({ kind: 'put', namespace, doc: next });
      for (const index of indexes.values()) index.remove(id, doc);
      docs.set(id, next);
      for (const index of indexes.values()) index.add(id, next);
    },
    remove(doc) {
      const id = keyOf(doc['_id']);
      if (!docs.has(id)) return;
      onChange({ kind: 'delete', namespace, id: doc['_id'] });
      for (const index of indexes.values()) index.remove(id, doc);
      docs.delete(id);
    },
    indexes: () => [ID_INDEX, ...[...indexes.values()].map((index) => index.specification)],
    createIndex(specification) {
      if (isPresent(specification, [...indexes.values()])) return;
      const index = openIndex(specification);
      for (const [id, doc] of docs) {
        const taken = index.taken(doc, id);
        if (taken !== null) throw duplicate(namespace, specification, taken.key);
        index.add(id, doc);
      }
      onChange({ kind: 'index', namespace, specification });
      indexes.set(specification.name, index);
    },
  };
}

/** Whether an index exists already. @throws CommandError if another one conflicts with it */
function isPresent(specification: IndexSpecification, indexes: readonly Index[]): boolean {
  if (sameIndex(specification, ID_INDEX)) return true;
  for (const { specification: present } of indexes) {
    const sameName = present.name === specification.name;
    if (sameName && sameIndex(present, specification)) return true;
    if (sameName)
      throw new CommandError(86, `An existing index has the same name as the requested index: ${present.name}, and another specification`);
    if (keyOf(present.key) === keyOf(specification.key))
      throw new CommandError(85, `Index already exists with a different name or options: ${present.name}`);
  }
  return false;
}

function without(doc: Doc): Doc {
  const { _id, ...rest } = doc;
  return rest;
}

function rejectId(id: unknown): void {
  if (Array.isArray(id) || id instanceof RegExp) throw new CommandError(2, `The '_id' value cannot be of type ${typeName(id)}`);
}

function duplicate(namespace: string, index: IndexSpecification, key: Doc): CommandError {
  const shown = Object.entries(key).map(([field, value]) => `${field}: ${show(value)}`);
  return new CommandError(
    11000,
    `E11000 duplicate key error collection: ${namespace} index: ${index.name} dup key: { ${shown.join(', ')} }`,
    {
      keyPattern: index.key,
      keyValue: key,
    },
  );
}

const show = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : isDoc(value) ? JSON.stringify(value) : String(value);
