/** Lists that are ordered by when a scan was submitted, newest first, and read in parts. */
import type { Collection, Filter } from 'mongodb';

/** A position in a list. */
export interface Position {
  at: Date;
  id: string;
}

/** What documents of such a list have. `_id` orders those of the same millisecond. */
export interface Positioned {
  _id: string;
  createdAt: Date;
}

export const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

export const positionOf = ({ createdAt, _id }: Positioned): Position => ({ at: createdAt, id: _id });

/** The filter for what comes after a position in the list. */
export const afterPosition = <T extends Positioned>({ at, id }: Position) =>
  ({ createdAt: { $lte: at }, $or: [{ createdAt: { $lt: at } }, { createdAt: at, _id: { $lt: id } }] }) as Filter<T>;

/** The filter for what comes up to a position, and for what is there. */
export const upTo = <T extends Positioned>({ at, id }: Position) =>
  ({ createdAt: { $gte: at }, $or: [{ createdAt: { $gt: at } }, { createdAt: at, _id: { $gte: id } }] }) as Filter<T>;

/** The maximum number of documents that one search looks at, if no index covers its filters. */
export const EXAMINED_MAX = 5_000;

/**
 * The position of the last document that a search with filters looks at; null if it may look at all.
 * @param driving a filter that an index covers
 */
export async function boundaryOf<T extends Positioned>(
  collection: Collection<T>,
  driving: Filter<T>,
  examinedMax = EXAMINED_MAX,
): Promise<Position | null> {
  const last = await collection.findOne<Positioned>(driving, {
    sort: NEWEST_FIRST,
    skip: examinedMax - 1,
    projection: { createdAt: 1 },
  });
  return last && positionOf(last);
}

/** In characters. */
export const SEARCH_TEXT_MAX = 200;

/** The condition that a field has a text in it, in any case. Longer texts than `SEARCH_TEXT_MAX` are cut. Null: no condition. */
export function containing(text: string): { $regex: string; $options: string } | null {
  const part = text.trim().slice(0, SEARCH_TEXT_MAX);
  return part === '' ? null : { $regex: part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), $options: 'i' };
}
