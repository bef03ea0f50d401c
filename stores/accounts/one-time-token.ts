/** Tokens of links that work once. The link has the token; the store keeps its SHA-256. */
import { createHash, randomBytes } from 'node:crypto';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export const newToken = (): string => randomBytes(32).toString('base64url');

/** The stored form of a token; null if it is malformed. */
export const tokenHash = (token: string): string | null => (TOKEN.test(token) ? createHash('sha256').update(token).digest('hex') : null);
