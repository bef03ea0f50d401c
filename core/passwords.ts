/**
 * Which new passwords are accepted (NIST SP 800-63B-4): length and nothing expected, no rules about kinds of characters. A
 * password is the only factor, so it needs 15 characters.
 */
import { COMMON_PASSWORDS } from './common-passwords.ts';

export const PASSWORD_MIN_CHARACTERS = 15;
export const PASSWORD_MAX_CHARACTERS = 1024;

/** The name of the service, which is an expected password. */
const SERVICE = 'curbcut';
/** A password of one repeated part of at most this length, or of one sequence, is as easy to guess as that part. */
const REPEATED_MAX = 8;
const SEQUENCES = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
];

export type PasswordProblem = 'too_short' | 'too_long' | 'expected';

/** What the user can do about each problem. */
export const PASSWORD_PROBLEMS: Readonly<Record<PasswordProblem, string>> = {
  too_short: `Use at least ${PASSWORD_MIN_CHARACTERS} characters; several words are easy to remember.`,
  too_long: `Use at most ${PASSWORD_MAX_CHARACTERS} characters.`,
  expected: 'This password is easy to guess; choose one that is not a common word, your address, a sequence or a repetition.',
};

/** Returns why a new password is rejected, or null. @param context.known values that others expect, such as the e-mail address */
export function passwordProblem(password: string, { known = [] }: { known?: readonly string[] } = {}): PasswordProblem | null {
  const normal = password.normalize('NFKC');
  if ([...normal].length < PASSWORD_MIN_CHARACTERS) return 'too_short';
  if (password.length > PASSWORD_MAX_CHARACTERS) return 'too_long';
  const lower = normal.toLowerCase();
  const expected = new Set([SERVICE, ...known.flatMap(partsOf)]);
  const isExpected = (text: string): boolean => expected.has(text) || COMMON_PASSWORDS.has(text);
  const forms = [lower, core(lower), compact(lower), core(compact(lower))];
  return forms.some((form) => isExpected(form) || isRepeated(form, isExpected) || isSequence(form)) ? 'expected' : null;
}

/** An e-mail address, and its parts. */
function partsOf(value: string): string[] {
  const lower = value.normalize('NFKC').toLowerCase();
  return [lower, ...lower.split('@'), ...lower.split(/[^\p{L}\p{N}]+/u)].flatMap((part) => (part.length >= 3 ? [part, compact(part)] : []));
}

/** Without the digits and signs around it that people add to a word. */
const core = (text: string): string => text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
const compact = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, '');

/** Whether the text repeats a short part, or an expected one of any length. */
function isRepeated(text: string, isExpected: (part: string) => boolean): boolean {
  for (let length = 1; length <= text.length / 2; length += 1) {
    const part = text.slice(0, length);
    const repeats = part.repeat(Math.ceil(text.length / length)).slice(0, text.length) === text;
    if (repeats && (length <= REPEATED_MAX || isExpected(part))) return true;
  }
  return false;
}

function isSequence(text: string): boolean {
  if (text.length < REPEATED_MAX) return false;
  const reversed = [...text].reverse().join('');
  return SEQUENCES.some((sequence) => [text, reversed].some((one) => (sequence + sequence).includes(one)));
}
