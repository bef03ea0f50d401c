/**
 * Links that work once. The link has the token; the store keeps its SHA-256. Each address has one document per kind of link,
 * so that a new link replaces the earlier one in one step.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Collection, Filter, OptionalUnlessRequiredId } from 'mongodb';
import { insertNew } from '../mongo-retry.ts';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** 256 bits, so that a token cannot be guessed. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Checks the form of a token. It may still be unknown. */
export const isToken = (token: string): boolean => TOKEN.test(token);

/** The stored form of a token; null if it is malformed. */
export const tokenHash = (token: string): string | null => (isToken(token) ? createHash('sha256').update(token).digest('hex') : null);

/** The document of a link. Its ID names the address. */
interface LinkDocument {
  _id: string;
  hash?: string;
}

/**
 * Stores a link in place of the earlier one, if no other link was stored since `earlier` was read. Of simultaneous requests,
 * such as those of a double click, one succeeds, and its link stays the live one.
 * @param free further conditions for the replacement
 */
export async function replaceLink<T extends LinkDocument>(
  links: Collection<T>,
  document: T,
  earlier: T | null,
  free: Filter<T> = {},
): Promise<boolean> {
  const { _id, ...rest } = document;
  if (earlier !== null) {
    const same = { $and: [{ _id, hash: earlier.hash }, free] } as Filter<T>;
    return (await links.replaceOne(same, rest)).matchedCount === 1;
  }
  return insertNew(links, document as OptionalUnlessRequiredId<T>);
}
