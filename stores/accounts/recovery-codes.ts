/**
 * Recovery codes: each replaces a second factor once. A code has 120 random bits, so an unsalted SHA-256 is enough to store it
 * (OWASP ASVS 6.5.2).
 */
import { createHash, randomInt } from 'node:crypto';

export const RECOVERY_CODES = 10;
/** Without characters that look alike. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const GROUPS = 4;
const GROUP_CHARACTERS = 6;

const newGroup = (): string => Array.from({ length: GROUP_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Makes a set of codes such as `k7m2qx-0ad4fv-9sthwz-3n8c6r`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () => Array.from({ length: GROUPS }, newGroup).join('-'));
}

/** The stored form of a code, however it was typed: case, spaces and hyphens do not count, and look-alikes are read as one. */
export function recoveryHash(typed: string): string {
  const plain = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1');
  return createHash('sha256').update(plain).digest('hex');
}
