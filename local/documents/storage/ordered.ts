/**
 * Documents in the order of a compound index, for sorted queries with a limit. A list per value of the index's first fields
 * is made when it is first needed, and then kept in order.
 */
import { leaves } from '../paths.ts';
import { sorter } from '../query/stages.ts';
import { compare, isDoc, keyOf, type Doc } from '../values.ts';

/** A sorted query: its equalities, its sort, and its filter. */
export interface OrderedQuery {
  equal: ReadonlyMap<string, readonly unknown[]>;
  sort: Doc;
  filter: Doc;
}

export interface OrderedIndex {
  add(doc: Doc): void;
  remove(doc: Doc): void;
  /** The part of the index that a query needs, in the query's order; null if the index does not have this order. */
  range(query: OrderedQuery, all: Iterable<Doc>): { docs: readonly Doc[]; from: number; to: number; fixed: number } | null;
}

/** @param key of the index. Only indexes that end with `_id` have a total order, and can be used. */
export function openOrderedIndex(key: Doc): OrderedIndex {
  const fields = Object.keys(key);
  const isUsable = fields.length > 1 && fields.at(-1) === '_id';
  /** By the number of fields before the sort, then by the values of these fields. */
  const lists = new Map<number, Map<string, Doc[]>>();
  const orderAfter = (fixed: number) => sorter(Object.fromEntries(fields.slice(fixed).map((field) => [field, key[field]])));
  /** A document with an array has several keys. Such an index is not used any more. */
  let hasArrays = false;

  function change(doc: Doc, apply: (list: Doc[], at: number) => void): void {
    for (const [fixed, byPrefix] of lists) {
      const list = byPrefix.get(prefixOf(doc, fields.slice(0, fixed)));
      if (list === undefined) continue;
      const order = orderAfter(fixed);
      apply(
        list,
        firstIndex(list, (other) => order(other, doc) >= 0),
      );
    }
  }

  function listOf(fixed: number, prefix: string, all: Iterable<Doc>): Doc[] {
    const byPrefix = lists.get(fixed) ?? new Map<string, Doc[]>();
    lists.set(fixed, byPrefix);
    let list = byPrefix.get(prefix);
    if (list === undefined) {
      list = [...all].filter((doc) => prefixOf(doc, fields.slice(0, fixed)) === prefix).sort(orderAfter(fixed));
      // Callers choose the values, so that nothing is kept for those that no document has.
      if (list.length > 0) byPrefix.set(prefix, list);
    }
    return list;
  }

  return {
    add(doc) {
      if (!isUsable || hasArrays) return;
      if (fields.some((field) => !isSingle(leaves(doc, field.split('.'))))) {
        hasArrays = true;
        lists.clear();
        return;
      }
      change(doc, (list, at) => list.splice(at, 0, doc));
    },
    remove(doc) {
      change(doc, (list, at) => {
        if (keyOf(list[at]?.['_id']) === keyOf(doc['_id'])) list.splice(at, 1);
      });
    },
    range({ equal, sort, filter }, all) {
      const sorted = Object.keys(sort);
      const fixed = fields.length - sorted.length;
      if (!isUsable || hasArrays || fixed < 1) return null;
      const isOrdered = sorted.every((field, i) => field === fields[fixed + i] && sort[field] === key[field]);
      const values = fields.slice(0, fixed).map((field) => equal.get(field));
      if (!isOrdered || values.some((wanted) => wanted?.length !== 1)) return null;
      const docs = listOf(fixed, values.map((wanted) => keyOf(wanted![0] ?? null)).join('|'), all);
      return { docs, fixed, ...boundsIn(docs, filter, sorted[0]!, sort[sorted[0]!] === 1 ? 1 : -1) };
    },
  };
}

const valueOf = (doc: Doc, field: string): unknown => leaves(doc, field.split('.'))[0];
const prefixOf = (doc: Doc, fields: readonly string[]): string => fields.map((field) => keyOf(valueOf(doc, field) ?? null)).join('|');
const isSingle = (values: readonly unknown[]): boolean => values.length === 1 && !Array.isArray(values[0]);

/** The part of a list, ordered by a field, that a filter by date leaves. */
function boundsIn(docs: readonly Doc[], filter: Doc, field: string, sign: 1 | -1): { from: number; to: number } {
  const { low, high } = boundsOf(filter, field);
  const [first, last] = sign === 1 ? [low, high] : [high, low];
  return {
    from: first === undefined ? 0 : firstIndex(docs, (doc) => sign * compare(valueOf(doc, field), first) >= 0),
    to: last === undefined ? docs.length : firstIndex(docs, (doc) => sign * compare(valueOf(doc, field), last) > 0),
  };
}

/** The dates between which a filter demands a field to be, inclusive. */
function boundsOf(filter: Doc, field: string): { low?: Date; high?: Date } {
  const all = [filter, ...(Array.isArray(filter['$and']) ? (filter['$and'] as Doc[]) : [])];
  const bounds: { low?: Date; high?: Date } = {};
  for (const { [field]: condition } of all) {
    if (!isDoc(condition)) continue;
    const { $gte: low, $lte: high } = condition;
    if (low instanceof Date && (bounds.low === undefined || low > bounds.low)) bounds.low = low;
    if (high instanceof Date && (bounds.high === undefined || high < bounds.high)) bounds.high = high;
  }
  return bounds;
}

/** The first index of a partitioned list whose document passes the test; its length if none does. */
function firstIndex(list: readonly Doc[], passes: (doc: Doc) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(list[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
