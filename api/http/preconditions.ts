/**
 * `ETag` and `If-Match`: a change is made only to a version that the client has read. Where the change is stored, one atomic comparison
 * with that version decides.
 */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { ApiError } from './errors.ts';

/** The header of a PATCH. */
export const IF_MATCH = Type.Object({
  'If-Match': Type.Optional(
    Type.String({
      description:
        'One or more values of `ETag`, or `*`. Nothing changes unless one of them is that of the current version. Absent: any version.',
    }),
  ),
});

/** The strong entity tag of a version. @param version what all changes that count show in */
export const etagOf = (version: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(version)).digest('base64url').slice(0, 27)}"`;

/** The `If-Match` of a request; undefined if it does not matter which version is changed. Node joins repeated headers of this name. */
function ifMatchOf({ headers }: FastifyRequest): string | undefined {
  const value = headers['if-match'];
  return value?.trim() === '*' ? undefined : value;
}

/** @throws ApiError if the `If-Match` of the request names other versions only. Weak tags never match. */
export function requireMatch(request: FastifyRequest, etag: string): void {
  const tags = ifMatchOf(request)?.match(/(?:W\/)?"[^"]*"/g);
  if (tags !== undefined && !tags?.includes(etag)) throw new ApiError('precondition_failed');
}

/** Reads what a request changes, if only the version that was read may be changed; undefined: any may. @throws ApiError as `requireMatch` */
export async function readToMatch<T>(request: FastifyRequest, read: () => Promise<T>, etag: (one: T) => string): Promise<T | undefined> {
  if (ifMatchOf(request) === undefined) return undefined;
  const one = await read();
  requireMatch(request, etag(one));
  return one;
}
