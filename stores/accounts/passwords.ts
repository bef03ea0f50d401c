/** Passwords as scrypt hashes that carry their own parameters, so that these can be raised without breaking old ones. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** OWASP's scrypt setting that needs 32 MB instead of 128: N = 2^15, r = 8, p = 3. */
const COST = { N: 2 ** 15, r: 8, p: 3 };
const HASH_BYTES = 32;
/** NIST 800-63B's least length. */
const LEAST_CHARACTERS = 8;
/** Nobody types more, and hashing a megabyte is an attack. */
const MOST_CHARACTERS = 1024;

const stretch = (password: string, salt: Buffer, bytes: number, { N, r, p }: { N: number; r: number; p: number }): Promise<Buffer> =>
  // The same characters may be typed composed or decomposed; scrypt needs 128·N·r bytes and a little more.
  derive(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 256 * N * r });

/**
 * @returns `scrypt$N$r$p$salt$hash`, the last two in base64
 * @throws RangeError where the password has fewer than 8 or more than 1,024 characters
 */
export async function hashPassword(password: string): Promise<string> {
  if (password.length < LEAST_CHARACTERS || password.length > MOST_CHARACTERS)
    throw new RangeError(`a password has ${LEAST_CHARACTERS} to ${MOST_CHARACTERS} characters`);
  const salt = randomBytes(16);
  const hash = await stretch(password, salt, HASH_BYTES, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/** True if the password is the one that was hashed. Compares in constant time. */
export async function matchesPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = stored.split('$');
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined || password.length > MOST_CHARACTERS) return false;
  const expected = Buffer.from(hash, 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return timingSafeEqual(await stretch(password, Buffer.from(salt, 'base64'), expected.length, cost), expected);
}
