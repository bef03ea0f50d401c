/** Finds the documents of a collection, with the index that leaves the fewest to test. */
import { equalities, matcher } from '../query/match.ts';
import { keyOf, type Doc } from '../values.ts';
import type { Index } from './indexes.ts';

/** The documents by the key of their `_id`, in insertion order, and their indexes by name. */
export interface Indexed {
  docs: ReadonlyMap<string, Doc>;
  indexes: ReadonlyMap<string, Index>;
}

/** The documents that match a filter, at most `limit`, in insertion order. */
export function find(indexed: Indexed, filter: Doc, limit: number): Doc[] {
  return firstMatches(candidates(indexed, filter), filter, limit);
}

/** The first documents that match a filter, in the order of `sort`; null if no index has this order. Reads no others. */
export function findInOrder({ docs, indexes }: Indexed, filter: Doc, sort: Doc, limit: number): Doc[] | null {
  const equal = equalities(filter);
  if (equal.has('_id')) return null;
  const ranges = [...indexes.values()].flatMap(({ ordered }) => ordered?.range({ equal, sort, filter }, docs.values()) ?? []);
  const [best] = ranges.sort((x, y) => y.fixed - x.fixed);
  return best === undefined ? null : firstMatches(part(best), filter, limit);
}

function firstMatches(docs: Iterable<Doc>, filter: Doc, limit: number): Doc[] {
  const test = matcher(filter);
  const found: Doc[] = [];
  for (const doc of docs) {
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

function* part({ docs, from, to }: { docs: readonly Doc[]; from: number; to: number }): Iterable<Doc> {
  for (let at = from; at < to; at += 1) yield docs[at]!;
}
