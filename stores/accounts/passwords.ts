/** Passwords as scrypt hashes. Each hash contains its parameters, so that they can be raised without invalidating old hashes. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** OWASP's scrypt parameters that need 32 MB instead of 128 MB: N = 2^15, r = 8, p = 3. */
const COST = { N: 2 ** 15, r: 8, p: 3 };
const HASH_BYTES = 32;
/** The minimum length of NIST 800-63B. */
const MIN_CHARACTERS = 8;
/** Bounds the cost of hashing. */
const MAX_CHARACTERS = 1024;

const stretch = (password: string, salt: Buffer, bytes: number, { N, r, p }: { N: number; r: number; p: number }): Promise<Buffer> =>
  // Normalised, because keyboards produce composed or decomposed characters. scrypt needs a little more than 128·N·r bytes.
  derive(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 256 * N * r });

/**
 * @returns `scrypt$N$r$p$salt$hash`, with salt and hash in base64
 * @throws RangeError if the password has fewer than 8 or more than 1,024 characters
 */
export async function hashPassword(password: string): Promise<string> {
  if (password.length < MIN_CHARACTERS || password.length > MAX_CHARACTERS)
    throw new RangeError(`a password must have ${MIN_CHARACTERS} to ${MAX_CHARACTERS} characters`);
  const salt = randomBytes(16);
  const hash = await stretch(password, salt, HASH_BYTES, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/** Returns whether the password matches the hash. Compares in constant time. */
export async function matchesPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = stored.split('$');
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined || password.length > MAX_CHARACTERS) return false;
  const expected = Buffer.from(hash, 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return timingSafeEqual(await stretch(password, Buffer.from(salt, 'base64'), expected.length, cost), expected);
}
