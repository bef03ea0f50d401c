/** Text layout of the report: which font shows which characters, their direction, and line breaks. */
import { createRequire } from 'node:module';
import type bidiFactory from 'bidi-js';
import { type Face, FALLBACKS, type Metrics } from './fonts.ts';

/** The style of a text. Sizes are in points. */
export interface Style {
  face: Face;
  size: number;
  color: string;
  /** Height of a line. */
  leading: number;
  /** Whether words may be broken, at the punctuation of URLs and HTML. */
  breakAnywhere?: boolean;
}

/** A part of a line in one font and one direction, in logical order. `actual` is the original text if the fonts lack it. */
export interface Span {
  face: Face;
  text: string;
  actual: string | null;
  /** The embedding level (UAX #9): odd is right to left. */
  level: number;
}

export interface Line {
  /** In logical order. */
  spans: Span[];
  width: number;
}

/** Replaces a character that no font has. */
export const MISSING = '□';

// Joiners, variation selectors, soft hyphens and direction marks: they print nothing, and would reorder the text around them.
// Joiners between Arabic letters stay, because they change the forms of the letters.
const INVISIBLE =
  /(?<!\p{Script=Arabic})[\u200c\u200d]|[\u200c\u200d](?!\p{Script=Arabic})|[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\u{e0000}-\u{e0fff}]/gu;
// All white space becomes a space, at which lines may break.
const SPACES = /[\s\u2028\u2029]+/gu;
// Icon fonts use the private use area, where a text font has other characters.
const UNPRINTABLE = /[\p{Cc}\p{Co}\p{Cn}\p{Cs}]/u;
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u017e]*$/;
const GRAPHEMES = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Whether a span shows □ for characters that no font has. */
export const isMissing = (span: Span): boolean => span.actual !== null && span.text.startsWith(MISSING);

/** The font that has all characters of a grapheme, or null. */
function faceFor(grapheme: string, face: Face, metrics: Metrics): Face | null {
  if (UNPRINTABLE.test(grapheme)) return null;
  const characters = [...grapheme];
  const has = (candidate: Face): boolean => characters.every((character) => metrics.has(candidate, character.codePointAt(0)!));
  if (has(face)) return face;
  if (has('mono')) return 'mono';
  return FALLBACKS.find((fallback) => fallback.characters.test(grapheme) && has(fallback.face))?.face ?? null;
}

/** Shows a grapheme as it is, without its combining marks, or as □. */
function spanOf(grapheme: string, level: number, face: Face, metrics: Metrics): Span {
  const shown = faceFor(grapheme, face, metrics);
  if (shown !== null) return { face: shown, text: grapheme, actual: null, level };
  const base = grapheme.replace(/\p{M}/gu, '');
  const bare = base === '' ? null : faceFor(base, face, metrics);
  if (bare !== null) return { face: bare, text: base, actual: grapheme, level };
  return { face, text: MISSING, actual: UNPRINTABLE.test(grapheme) ? '\ufffd' : grapheme, level };
}

const isSameRun = (left: Span, right: Span): boolean =>
  left.face === right.face &&
  left.level === right.level &&
  (left.actual === null ? right.actual === null : isMissing(left) && isMissing(right));

/** Joins neighbours of the same font and direction. */
function joined(pieces: readonly Span[]): Span[] {
  const spans: Span[] = [];
  for (const piece of pieces) {
    const last = spans.at(-1);
    if (last === undefined || !isSameRun(last, piece)) spans.push({ ...piece });
    else {
      last.text += piece.text;
      if (last.actual !== null) last.actual += piece.actual ?? '';
    }
  }
  return spans;
}

/**
 * Splits a text into spans that the fonts can show: in the requested font, or another one that has the characters. What no font has
 * is a visible □ per character, with the original character as its actual text.
 */
export function spansOf(text: string, face: Face, metrics: Metrics): Span[] {
  const clean = text.toWellFormed().normalize('NFC').replace(INVISIBLE, '').replace(SPACES, ' ');
  if (PLAIN.test(clean)) return [{ face, text: clean, actual: null, level: 0 }];
  const levels = levelsOf(clean);
  return joined(
    [...GRAPHEMES.segment(clean)].map(({ segment, index }) => spanOf(segment, levels === null ? 0 : levels[index]!, face, metrics)),
  );
}

/** Han and kana may be separated anywhere, except before closing punctuation and small kana. */
const HAN_PIECES = /.[\p{Pe}\p{Pf}\p{M}、。，．：；？！・ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ]*/gu;

/** The smallest pieces of a span that stay together on a line. */
function piecesOf(span: Span, breakAnywhere: boolean): Span[] {
  if (isMissing(span)) {
    const characters = [...GRAPHEMES.segment(span.actual!)].map(({ segment }) => segment);
    return characters.map((actual) => ({ ...span, text: MISSING, actual }));
  }
  if (span.actual !== null) return [span];
  const words = span.text.match(span.face === 'han' ? HAN_PIECES : / +|[^ ]+/g) ?? [];
  const parts = breakAnywhere ? words.flatMap((word) => word.match(/[^/?&=_.,;:>-]*[/?&=_.,;:>-]+|[^/?&=_.,;:>-]+/g) ?? []) : words;
  return parts.map((text) => ({ ...span, text }));
}

/**
 * Breaks a text into lines no wider than `width`. A word that is wider than a line is broken.
 * With `maxLines`, the rest is cut off and replaced by an ellipsis.
 */
export function linesOf(text: string, style: Style, width: number, metrics: Metrics, maxLines = Infinity): Line[] {
  const lines: Line[] = [];
  let pieces: Span[] = [];
  let used = 0;
  const measure = (piece: Span): number => metrics.width(piece.face, style.size, piece.text);
  const finish = (): void => {
    const endsInSpace = pieces.at(-1)?.text.trim() === '';
    while (pieces.at(-1)?.text.trim() === '') pieces.pop();
    const spans = joined(pieces);
    // Measured again as a whole, because kerning changes the width of pieces that were measured separately.
    const wide = spans.reduce((sum, span) => sum + measure(span), 0);
    // The space stays in the text but not in the width: otherwise two words become one when they are read aloud or copied.
    if (endsInSpace) spans.push({ face: style.face, text: ' ', actual: null, level: 0 });
    lines.push({ spans: joined(spans), width: wide });
    pieces = [];
    used = 0;
  };
  const place = (piece: Span, wide: number): void => {
    pieces.push(piece);
    used += wide;
  };
  for (const span of spansOf(text, style.face, metrics)) {
    for (const piece of piecesOf(span, style.breakAnywhere === true)) {
      if (lines.length > maxLines) break;
      const wide = measure(piece);
      if (piece.text.trim() === '') {
        if (pieces.length > 0) place(piece, wide);
        continue;
      }
      if (used + wide > width && pieces.length > 0) finish();
      if (wide <= width) {
        place(piece, wide);
        continue;
      }
      for (const part of fittingParts(piece, width, measure)) {
        const partWide = measure(part);
        if (used + partWide > width && pieces.length > 0) finish();
        place(part, partWide);
        if (lines.length > maxLines) break;
      }
    }
  }
  if (pieces.length > 0) finish();
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines - 1), withEllipsis(lines[maxLines - 1]!, style, width, metrics)];
}

/** How many texts a line breaker remembers: those of several cards. */
const REMEMBERED = 500;

/** Returns `linesOf` with a memory for the last texts, because a card is measured several times before it is drawn. */
export function createLineBreaker(metrics: Metrics): (text: string, style: Style, width: number, maxLines?: number) => readonly Line[] {
  const known = new Map<string, readonly Line[]>();
  return (text, style, width, maxLines = Infinity) => {
    const { face, size, breakAnywhere = false } = style;
    const key = `${face} ${size} ${breakAnywhere} ${width} ${maxLines} ${text}`;
    let lines = known.get(key);
    if (lines === undefined) {
      if (known.size === REMEMBERED) known.clear();
      known.set(key, (lines = linesOf(text, style, width, metrics, maxLines)));
    }
    return lines;
  };
}

/** Splits a piece that is wider than a line into the longest parts that fit. */
function fittingParts(piece: Span, width: number, measure: (piece: Span) => number): Span[] {
  const characters = [...GRAPHEMES.segment(piece.text)].map(({ segment }) => segment);
  const parts: Span[] = [];
  for (let start = 0; start < characters.length;) {
    let [low, high] = [0, characters.length - start];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (measure({ ...piece, text: characters.slice(start, start + middle).join('') }) <= width) low = middle;
      else high = middle - 1;
    }
    // A line has at least one character, even if it is too narrow.
    const taken = Math.max(1, low);
    parts.push({ ...piece, text: characters.slice(start, start + taken).join('') });
    start += taken;
  }
  return parts;
}

/** Ends a line with an ellipsis, shortened so that it still fits. */
function withEllipsis(line: Line, style: Style, width: number, metrics: Metrics): Line {
  const spans = line.spans.map((span) => ({ ...span }));
  const measure = (): number => spans.reduce((sum, span) => sum + metrics.width(span.face, style.size, span.text), 0);
  const ellipsis = metrics.width(style.face, style.size, '…');
  if (spans.at(-1)?.text === ' ') spans.pop();
  while (spans.length > 0 && measure() + ellipsis > width) {
    const last = spans.at(-1)!;
    if (last.actual === null && last.text.length > 1) last.text = last.text.slice(0, -1).toWellFormed();
    else spans.pop();
  }
  const last = spans.at(-1);
  if (last !== undefined && last.actual === null && last.face === style.face) last.text = `${last.text.trimEnd()}…`;
  else spans.push({ face: style.face, text: '…', actual: null, level: last?.level ?? 0 });
  return { spans, width: measure() };
}

/** The order of right-to-left text, by the Unicode Bidirectional Algorithm (UAX #9). */
const require = createRequire(import.meta.url);
// The types of the package describe an ES module, but Node loads its CommonJS file.
const bidi = (require('bidi-js') as (typeof bidiFactory)['default'])();

/** Characters of scripts that are written from right to left. Text without them keeps its order. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const NEUTRAL = /[\p{Script=Common}\p{Script=Inherited}]/u;
const REVERSED_BY_SHAPER = /[\p{Script=Hebrew}\p{Script=Arabic}]/u;

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
  [...GRAPHEMES.segment(text)]
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
