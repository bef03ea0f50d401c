/** The order of right-to-left text, by the Unicode Bidirectional Algorithm (UAX #9). */
import type bidiFactory from 'bidi-js';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
// The types of the package describe an ES module, but Node loads its CommonJS file.
const bidi = (require('bidi-js') as (typeof bidiFactory)['default'])();

/** Characters of scripts that are written from right to left. Text without them keeps its order. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const NEUTRAL = /[\p{Script=Common}\p{Script=Inherited}]/u;
const REVERSED_BY_SHAPER = /[\p{Script=Hebrew}\p{Script=Arabic}]/u;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** The embedding level of each UTF-16 unit of a paragraph: odd is right to left. Null if the whole text is left to right. */
export function levelsOf(text: string): Uint8Array | null {
  return RIGHT_TO_LEFT.test(text) ? bidi.getEmbeddingLevels(text, 'auto').levels : null;
}

/** The order in which the parts of a line are shown, from left to right (rule L2). @param levels the level of each part */
export function visualOrder(levels: readonly number[]): number[] {
  const order = levels.map((_, index) => index);
  for (let level = Math.max(0, ...levels); level > 0; level -= 1)
    for (let start = 0; start < order.length; start += 1) {
      let end = start;
      while (end < order.length && levels[order[end]!]! >= level) end += 1;
      if (end > start + 1) order.splice(start, end - start, ...order.slice(start, end).reverse());
      start = Math.max(start, end);
    }
  return order;
}

const reversed = (text: string): string =>
  [...graphemes.segment(text)]
    .map(({ segment }) => segment)
    .toReversed()
    .join('');
const mirrored = (text: string): string => [...text].map((character) => bidi.getMirroredCharacter(character) ?? character).join('');

/** fontkit lays text out from right to left if its first letter is of such a script. */
function shaperReverses(text: string): boolean {
  for (const character of text) if (!NEUTRAL.test(character)) return REVERSED_BY_SHAPER.test(character);
  return false;
}

/** A text of one level, such that it is drawn in the right order. The shaper needs Hebrew and Arabic in their logical order. */
export function drawnText(text: string, level: number): string {
  if (level === 0) return text;
  const backwards = level % 2 === 1;
  const shown = backwards ? mirrored(text) : text;
  return backwards === shaperReverses(text) ? shown : reversed(shown);
}
