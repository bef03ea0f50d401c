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
