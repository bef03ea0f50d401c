/** Type for the report: the embedded fonts, which characters they have, and breaking text into lines. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

export type Face = 'regular' | 'semibold' | 'bold' | 'mono';

const FILES: Readonly<Record<Face, string>> = {
  regular: '@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf',
  semibold: '@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf',
  bold: '@expo-google-fonts/inter/700Bold/Inter_700Bold.ttf',
  mono: '@expo-google-fonts/noto-sans-mono/400Regular/NotoSansMono_400Regular.ttf',
};
export const FACES = Object.keys(FILES) as Face[];

/** How a text is set. Sizes are in points. */
export interface Style {
  face: Face;
  size: number;
  color: string;
  /** Height of a line. */
  leading: number;
  /** May be broken within a word, at the marks of a URL or of HTML. */
  breakAnywhere?: boolean;
}

/** A piece of a line in one face. `actual`: what the piece stands for, where the fonts lack it. */
export interface Span {
  face: Face;
  text: string;
  actual: string | null;
}

export interface Line {
  spans: Span[];
  width: number;
}

/** Stands for a character that no font has. */
export const MISSING = '□';

/** The bytes of a font. */
export function readFont(face: Face): Uint8Array {
  return readFileSync(createRequire(import.meta.url).resolve(FILES[face]));
}

// Joiners, variation selectors, soft hyphens and marks of direction: they print nothing, and would reorder what is around them.
const UNPRINTED = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\u{e0000}-\u{e0fff}]/gu;
// White space of any kind is a space: lines are broken here.
const SPACES = /[\s\u2028\u2029]+/gu;
// Icon fonts put their pictures into the private use area, where a text font has other ones.
const NEVER_PRINTED = /[\p{Cc}\p{Co}\p{Cn}\p{Cs}]/u;
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u017e]*$/;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Which characters each face has, and how wide a text is in it. */
export interface Metrics {
  has(face: Face, codePoint: number): boolean;
  width(face: Face, size: number, text: string): number;
}

/**
 * Cuts a text into spans that the fonts can show: in its own face, else in the monospaced one (which has more signs),
 * else a visible □ for each character, which keeps the character as its actual text.
 */
export function spansOf(text: string, face: Face, metrics: Metrics): Span[] {
  const clean = text.toWellFormed().normalize('NFC').replace(UNPRINTED, '').replace(SPACES, ' ');
  if (PLAIN.test(clean)) return [{ face, text: clean, actual: null }];
  const spans: Span[] = [];
  const append = (span: Span): void => {
    const last = spans.at(-1);
    if (last === undefined || last.face !== span.face || (last.actual === null) !== (span.actual === null)) spans.push(span);
    else {
      last.text += span.text;
      if (last.actual !== null) last.actual += span.actual ?? '';
    }
  };
  for (const { segment } of graphemes.segment(clean)) {
    const shownBy = (candidate: Face): boolean =>
      !NEVER_PRINTED.test(segment) && [...segment].every((character) => metrics.has(candidate, character.codePointAt(0)!));
    if (shownBy(face)) append({ face, text: segment, actual: null });
    else if (shownBy('mono')) append({ face: 'mono', text: segment, actual: null });
    else append({ face, text: MISSING, actual: NEVER_PRINTED.test(segment) ? '\ufffd' : segment });
  }
  return spans;
}

/** Smallest pieces of a span that stay together on a line. */
function piecesOf(span: Span, breakAnywhere: boolean): Span[] {
  if (span.actual !== null) {
    const characters = [...graphemes.segment(span.actual)].map(({ segment }) => segment);
    return characters.map((actual) => ({ face: span.face, text: MISSING, actual }));
  }
  const words = span.text.match(/ +|[^ ]+/g) ?? [];
  const parts = breakAnywhere ? words.flatMap((word) => word.match(/[^/?&=_.,;:>-]*[/?&=_.,;:>-]+|[^/?&=_.,;:>-]+/g) ?? []) : words;
  return parts.map((text) => ({ face: span.face, text, actual: null }));
}

const joined = (pieces: readonly Span[]): Span[] => {
  const spans: Span[] = [];
  for (const piece of pieces) {
    const last = spans.at(-1);
    if (last !== undefined && last.face === piece.face && last.actual === null && piece.actual === null) last.text += piece.text;
    else if (last !== undefined && last.actual !== null && piece.actual !== null) {
      last.text += piece.text;
      last.actual += piece.actual;
    } else spans.push({ ...piece });
  }
  return spans;
};

/**
 * Breaks a text into lines no wider than `width`; a word that is wider than a line is broken where it must be.
 * With `maxLines`, what does not fit is cut off and an ellipsis says so.
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
    // Measured again as it is drawn: letters that were measured apart may stand closer or wider together.
    const wide = spans.reduce((sum, span) => sum + measure(span), 0);
    // The space stays in the text, though not in the width: else two words become one when they are read aloud or copied.
    if (endsInSpace) spans.push({ face: style.face, text: ' ', actual: null });
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

/** Cuts a piece that is wider than a line into the longest parts that fit. */
function fittingParts(piece: Span, width: number, measure: (piece: Span) => number): Span[] {
  const characters = [...graphemes.segment(piece.text)].map(({ segment }) => segment);
  const parts: Span[] = [];
  for (let start = 0; start < characters.length;) {
    let [low, high] = [0, characters.length - start];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (measure({ ...piece, text: characters.slice(start, start + middle).join('') }) <= width) low = middle;
      else high = middle - 1;
    }
    // A line holds at least one character, however narrow it is.
    const taken = Math.max(1, low);
    parts.push({ ...piece, text: characters.slice(start, start + taken).join('') });
    start += taken;
  }
  return parts;
}

/** A line that ends in an ellipsis and still fits. */
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
  else spans.push({ face: style.face, text: '…', actual: null });
  return { spans, width: measure() };
}
