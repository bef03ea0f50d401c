/** The form of an API key: `svc_live_` + 32 base62 characters + their CRC-32 in 6, so that a typo or a fake is refused without a look-up. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const KEY_PREFIX = 'svc_live_';
const SECRET_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** What a key looks like (decisions, "API keys"); secret scanners match it too. */
export const KEY_PATTERN = /^svc_live_[0-9A-Za-z]{38}$/;

/** CRC-32 of the secret characters, most significant digit first, padded with zeros. */
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
 * A new key from a source of random bytes. Bytes of 248 and more are passed over: 256 is no multiple of 62, and the first
 * characters of the alphabet would come up more often.
 */
export function makeKey(randomBytes: (count: number) => Uint8Array): string {
  let characters = '';
  while (characters.length < SECRET_LENGTH)
    for (const byte of randomBytes(SECRET_LENGTH)) if (byte < 248 && characters.length < SECRET_LENGTH) characters += ALPHABET[byte % 62]!;
  return KEY_PREFIX + characters + checksum(characters);
}

/** True if prefix, length, alphabet and checksum are right; says nothing of whether the key exists. */
export function isWellFormed(key: string): boolean {
  if (!KEY_PATTERN.test(key)) return false;
  const body = key.slice(KEY_PREFIX.length);
  return checksum(body.slice(0, SECRET_LENGTH)) === body.slice(SECRET_LENGTH);
}

/** SHA-256 of a key in lower-case hexadecimal: all that is kept of it. A slow hash would add nothing to 190 random bits. */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
