/** Indexes as hash tables: they enforce unique keys and look documents up by equality. */
import { CommandError } from '../errors.ts';
import { leaves } from '../paths.ts';
import { identical, isDoc, keyOf, type Doc } from '../values.ts';

/** An index, as in `createIndexes` and `listIndexes`. */
export interface IndexSpecification extends Doc {
  name: string;
  key: Doc;
  unique?: boolean;
  sparse?: boolean;
  expireAfterSeconds?: number;
}

export interface Index {
  readonly specification: IndexSpecification;
  /** The first document other than `self` with a key of `doc`; null if there is none or the index is not unique. */
  taken(doc: Doc, self: string | null): { key: Doc } | null;
  add(id: string, doc: Doc): void;
  remove(id: string, doc: Doc): void;
  /** IDs of documents that may satisfy the equalities; null if this index cannot answer. */
  candidates(equal: ReadonlyMap<string, readonly unknown[]>): Set<string> | null;
}

const KNOWN = new Set(['v', 'key', 'name', 'unique', 'sparse', 'expireAfterSeconds', 'background']);
const MAX_KEYS = 1000;

/** Validates a client's specification. @throws CommandError */
export function readSpecification(given: Doc): IndexSpecification {
  for (const option of Object.keys(given))
    if (!KNOWN.has(option)) throw new CommandError(115, `The index option '${option}' is not supported by the embedded document store.`);
  const { key, name } = given;
  if (!isDoc(key) || Object.keys(key).length === 0) throw new CommandError(67, 'An index needs a key with at least one field');
  for (const [field, direction] of Object.entries(key))
    if (typeof direction !== 'number')
      throw new CommandError(
        115,
        `Indexes of kind '${String(direction)}' (field ${field}) are not supported by the embedded document store.`,
      );
  if (typeof name !== 'string' || name === '') throw new CommandError(9, 'An index needs a name');
  if (given['expireAfterSeconds'] !== undefined && Object.keys(key).length > 1)
    throw new CommandError(67, 'TTL indexes are single-field indexes, compound indexes do not support TTL');
  const { background: _, ...kept } = given;
  return { ...kept, v: 2, key, name };
}

/** Whether two specifications describe the same index. */
export function sameIndex(a: IndexSpecification, b: IndexSpecification): boolean {
  const options = ({ key, unique, sparse, expireAfterSeconds }: IndexSpecification): Doc => ({
    key,
    unique: unique === true,
    sparse: sparse === true,
    expireAfterSeconds,
  });
  return identical(options(a), options(b));
}

/** All keys of a document in an index, each with one part per field. Arrays yield several keys. */
function keysOf(doc: Doc, { name, key, sparse }: IndexSpecification): string[][] {
  const found = Object.keys(key).map((field) => leaves(doc, field.split('.')));
  if (sparse === true && found.every((values) => values.every((value) => value === undefined))) return [];
  return found.reduce<string[][]>(
    (keys, values) => {
      const items = values.flatMap((value) => (Array.isArray(value) ? [value, ...(value as unknown[])] : [value]));
      const parts = new Set((items.length === 0 ? [null] : items).map(keyOf));
      const combined = keys.flatMap((start) => [...parts].map((part) => [...start, part]));
      if (combined.length > MAX_KEYS) throw new CommandError(171, `Index ${name}: the arrays of this document have too many keys`);
      return combined;
    },
    [[]],
  );
}

function put(map: Map<string, Set<string>>, key: string, id: string): void {
  const ids = map.get(key);
  if (ids === undefined) map.set(key, new Set([id]));
  else ids.add(id);
}

function take(map: Map<string, Set<string>>, key: string, id: string): void {
  const ids = map.get(key);
  ids?.delete(id);
  if (ids?.size === 0) map.delete(key);
}

/** Creates an empty index. */
export function openIndex(specification: IndexSpecification): Index {
  const fields = Object.keys(specification.key);
  const byKey = new Map<string, Set<string>>();
  const byFirst = fields.length > 1 ? new Map<string, Set<string>>() : byKey;

  return {
    specification,
    taken(doc, self) {
      if (specification.unique !== true) return null;
      for (const key of keysOf(doc, specification)) {
        const ids = byKey.get(key.join('|'));
        if (ids !== undefined && [...ids].some((id) => id !== self))
          return { key: Object.fromEntries(fields.map((field) => [field, leaves(doc, field.split('.'))[0] ?? null])) };
      }
      return null;
    },
    add(id, doc) {
      for (const key of keysOf(doc, specification)) {
        put(byKey, key.join('|'), id);
        if (byFirst !== byKey) put(byFirst, key[0]!, id);
      }
    },
    remove(id, doc) {
      for (const key of keysOf(doc, specification)) {
        take(byKey, key.join('|'), id);
        if (byFirst !== byKey) take(byFirst, key[0]!, id);
      }
    },
    candidates(equal) {
      const wanted = fields.map((field) => equal.get(field));
      if (wanted[0] === undefined) return null;
      // A sparse index does not contain documents without the field, which null also matches.
      if (specification.sparse === true && wanted.some((values) => values?.some((value) => value === null || value === undefined)))
        return null;
      const whole = wanted.every((values) => values?.length === 1);
      const keys = whole ? [wanted.map((values) => keyOf(values![0])).join('|')] : wanted[0].map(keyOf);
      const map = whole ? byKey : byFirst;
      const found = new Set<string>();
      for (const key of keys) for (const id of map.get(key) ?? []) found.add(id);
      return found;
    },
  };
}
