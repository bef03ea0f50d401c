/** Text for people: numbers of things, words to copy, and lines of a width. */

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
