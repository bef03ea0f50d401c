/** Passwords as scrypt hashes. Each hash contains its parameters, so that they can be raised without invalidating old hashes. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { PASSWORD_MAX_CHARACTERS } from '../../core/passwords.ts';
import { createSemaphore } from '../../platform/concurrency/semaphore.ts';

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** OWASP's scrypt parameters that need 32 MB instead of 128 MB: N = 2^15, r = 8, p = 3. Only tests lower them. */
export const PASSWORD_COST = { N: 2 ** 15, r: 8, p: 3 };
const HASH_BYTES = 32;

/**
 * Few at once, because each takes a processor for about a quarter of a second, and 32 MB: requests with a key need the
 * processors too. The others wait, but not longer than a request may take.
 */
const turns = createSemaphore({ held: { total: 2, perKey: 2 }, pending: { total: 26, perKey: 26 } });
/** A request would have ended, in milliseconds. */
export const PASSWORD_WAIT_MS = 20_000;

const stretch = (password: string, salt: Buffer, bytes: number, { N, r, p }: { N: number; r: number; p: number }): Promise<Buffer> =>
  // Normalised, because keyboards produce composed or decomposed characters. scrypt needs a little more than 128·N·r bytes.
  turns.run(
    '',
    () => derive(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 256 * N * r }),
    AbortSignal.timeout(PASSWORD_WAIT_MS),
  );

const stored = (salt: Buffer, hash: Buffer): string =>
  ['scrypt', PASSWORD_COST.N, PASSWORD_COST.r, PASSWORD_COST.p, salt.toString('base64'), hash.toString('base64')].join('$');

/**
 * Hashes a password. `passwordProblem` in `core/passwords.ts` decides which are accepted.
 * @returns `scrypt$N$r$p$salt$hash`, with salt and hash in base64
 * @throws RangeError if the password is too long; TooBusy if too many passwords are being hashed
 */
export async function hashPassword(password: string): Promise<string> {
  if (password.length > PASSWORD_MAX_CHARACTERS) throw new RangeError(`a password must have at most ${PASSWORD_MAX_CHARACTERS} characters`);
  const salt = randomBytes(16);
  return stored(salt, await stretch(password, salt, HASH_BYTES, PASSWORD_COST));
}

/** A hash that no password matches. Checking it takes as long as checking that of a user. */
export const UNMATCHABLE = stored(randomBytes(16), randomBytes(HASH_BYTES));

/** Returns whether the password matches the hash. Compares in constant time. @throws TooBusy if too many passwords are being hashed */
export async function matchesPassword(password: string, hashed: string): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = hashed.split('$');
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined || password.length > PASSWORD_MAX_CHARACTERS) return false;
  const expected = Buffer.from(hash, 'base64');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return timingSafeEqual(await stretch(password, Buffer.from(salt, 'base64'), expected.length, cost), expected);
}
