/** Lists in pages: `limit`, an opaque `cursor`, and `next_cursor` in the response. Lists are ordered newest first. */
import { Type, type TProperties } from 'typebox';
import { nullable } from '../../core/schemas.ts';
import { ValidationFailure, type ValidationItem } from './errors.ts';

/** The place of an item in a list: when it was made, and what orders items of the same moment. */
export interface Position {
  at: Date;
  id: string;
}

const PAGE_LIMIT_MAX = 100;
const CURSOR_MAX = 512;

const PAGE = {
  limit: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, default: 50, description: 'The maximum number of items in the response.' }),
  cursor: Type.Optional(
    Type.String({ maxLength: CURSOR_MAX, description: 'The `next_cursor` of the previous response. Absent: the newest items.' }),
  ),
};

/** The query parameters of a list: those of every list and its filters, which are optional. */
export const pageQuery = <T extends TProperties>(filters: T) =>
  // `required` is empty, because `limit` has a default.
  Type.Object({ ...PAGE, ...filters }, { required: [] });

/** The field of a list's response that leads to its next page. */
export const NEXT_CURSOR = nullable(Type.String({ description: 'Send it as `cursor` to get the next items. Null if there are no more.' }));

export const INVALID_CURSOR: ValidationItem = {
  loc: ['query', 'cursor'],
  msg: 'cursor is not a next_cursor of this list; leave it out to start with the newest items.',
  type: 'cursor.invalid',
};

/** The position as text for a client. Clients must not interpret it. */
export function encodeCursor({ at, id }: Position): string {
  return Buffer.from(JSON.stringify([at.getTime(), id])).toString('base64url');
}

/** Reads the cursor of a request; null for the first page. @throws ValidationFailure if `encodeCursor` did not make it */
export function decodeCursor(cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  const position = positionOf(Buffer.from(cursor, 'base64url').toString());
  if (position === null || encodeCursor(position) !== cursor) throw new ValidationFailure([INVALID_CURSOR]);
  return position;
}

function positionOf(text: string): Position | null {
  try {
    const [at, id, ...rest] = JSON.parse(text) as unknown[];
    if (typeof at !== 'number' || typeof id !== 'string' || rest.length > 0) return null;
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? null : { at: date, id };
  } catch {
    return null;
  }
}

/**
 * The page of a list. @param found the items after the cursor: up to `limit + 1`, because one more than the page shows that
 * there are more
 */
export function pageOf<T>(found: readonly T[], limit: number, position: (item: T) => Position): { items: T[]; nextCursor: string | null } {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: last === undefined || found.length <= limit ? null : encodeCursor(position(last)) };
}
