/**
 * The format of an API key: `svc_live_` or `svc_test_`, 32 base62 characters, and their CRC-32 in 6 base62 characters. The checksum rejects
 * typos and random strings without a database query.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const LIVE_PREFIX = 'svc_live_';
const TEST_PREFIX = 'svc_test_';
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The pattern of a key (decisions, "API keys"). Secret scanners use the same one. */
export const KEY_PATTERN = /^svc_(?:live|test)_[0-9A-Za-z]{38}$/;

/** The CRC-32 of the secret characters in base62, most significant digit first, padded with zeros. */
function checksum(characters: string): string {
  let rest = crc32(characters);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    digits = ALPHABET[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/**
 * Creates a key from a source of random bytes. Bytes of 248 and above are skipped: 256 is not a multiple of 62, so they
 * would make the first characters of the alphabet more likely.
 */
export function makeKey(randomBytes: (count: number) => Uint8Array, { test = false }: { test?: boolean } = {}): string {
  let characters = '';
  while (characters.length < SECRET_LENGTH)
    for (const byte of randomBytes(SECRET_LENGTH)) if (byte < 248 && characters.length < SECRET_LENGTH) characters += ALPHABET[byte % 62]!;
  return (test ? TEST_PREFIX : LIVE_PREFIX) + characters + checksum(characters);
}

/** Checks prefix, length, alphabet and checksum. The key may still be unknown. */
export function isWellFormed(key: string): boolean {
  if (!KEY_PATTERN.test(key)) return false;
  const body = key.slice(LIVE_PREFIX.length);
  return checksum(body.slice(0, SECRET_LENGTH)) === body.slice(SECRET_LENGTH);
}

/** The SHA-256 of a key in lower-case hexadecimal. Only this hash is stored. A slow hash is unnecessary for 190 random bits. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
