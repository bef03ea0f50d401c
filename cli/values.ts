/** Text for people: numbers of things, words to copy, and lines of a width. */
import { UsageError } from './errors.ts';

/** `1 page`, `2 pages`. */
export const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;

/** A word as a shell reads it. */
export const shellWord = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The widest lines, in characters: longer ones are hard to read. */
const WIDEST = 100;

/** The width of text for a terminal; 80 in the log of a job. */
export const textWidth = ({ columns }: { columns(): number }): number => Math.max(40, Math.min(WIDEST, columns()));

/** Breaks between words. A word that is longer than a line stays whole, because it may be an address. */
export function wrapped(text: string, indent: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines;
}

/** Numbers in arguments. Parses the number of an option. @throws UsageError */
export function numberOf(command: string, option: string, text: string | undefined, whole: boolean): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number) || number < 0 || (whole && !Number.isSafeInteger(number)))
    throw new UsageError(`--${option} ${text} is not a ${whole ? 'whole ' : ''}number of at least 0.`, command);
  return number;
}

/** JSON that may be none. The value of a text; null if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
