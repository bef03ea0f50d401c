/** Lays plain Latin text out. fontkit's shaper gives the same result, but takes most of the time of a report. */
import type { Face } from './fonts.ts';
import { glyphRulesOf, type GlyphRules } from './glyph-rules.ts';
import { openFontFile } from './opentype.ts';

const CHARACTERS = '[ -~¡-¬®-ž–—‘’“”•…›€]+';
/** Inter joins these signs to arrows. */
const ARROWS = '[-–—=]>|<[-–—=]';
const INTER = new RegExp(`^(?!.*(?:${ARROWS}))${CHARACTERS}$`);

/** The texts of which no glyphs are joined, added or moved by marks, by font. Texts in other fonts always need the shaper. */
export const PLAIN: Readonly<Partial<Record<Face, RegExp>>> = {
  regular: INTER,
  semibold: INTER,
  bold: INTER,
  mono: new RegExp(`^${CHARACTERS}$`),
};

/** A letter makes the script of a text Latin. Texts of signs and digits have rules of their own. */
const LETTER = /[A-Za-zªºÀ-ÖØ-öø-ž]/;

interface Position {
  xAdvance: number;
  yAdvance: number;
  xOffset: number;
  yOffset: number;
  advanceWidth: number;
}

interface Glyph {
  id: number;
  advanceWidth: number;
  codePoints: number[];
}

/** A text in one font. Distances are in thousandths of the font size. */
export interface Run {
  glyphs: Glyph[];
  positions: Readonly<Position>[];
  advanceWidth: number;
}

/** What this program uses of pdfkit's `EmbeddedFont` and fontkit's `TTFFont`. */
export interface EmbeddedFont {
  /** Thousandths of the font size per unit of the font. */
  scale: number;
  layoutRun(text: string, features?: unknown): Run;
  widthOfString(text: string, size: number): number;
  font: {
    hasGlyphForCodePoint(codePoint: number): boolean;
    glyphForCodePoint(codePoint: number): Glyph;
    getGlyph(id: number, codePoints: number[]): Glyph;
  };
}

/** Replaces the layout of plain text in a font. Other text is laid out as before. @param file the bytes of the font */
export function shapePlainText(embedded: EmbeddedFont, face: Face, file: Uint8Array): void {
  const plain = PLAIN[face];
  if (plain === undefined) return;
  const { font, scale } = embedded;
  const tables = openFontFile(file);
  const rulesOf = (script: string): { rules: GlyphRules; positionOf: PositionOf } => {
    const rules = glyphRulesOf(tables, script);
    return { rules, positionOf: rememberedPositions(rules, scale) };
  };
  const [latin, common] = [rulesOf('latn'), rulesOf('DFLT')];
  const known = new Map<number, number>();
  const idOf = (character: number): number => {
    let id = known.get(character);
    if (id === undefined) known.set(character, (id = font.glyphForCodePoint(character).id));
    return id;
  };

  const shape = embedded.layoutRun.bind(embedded);
  embedded.layoutRun = (text, features) => {
    if (features !== undefined || !plain.test(text)) return shape(text, features);
    const { rules, positionOf } = LETTER.test(text) ? latin : common;
    const ids: number[] = [];
    for (let at = 0; at < text.length; at += 1) ids.push(idOf(text.charCodeAt(at)));
    rules.alternate(ids);
    const run: Run = { glyphs: [], positions: [], advanceWidth: 0 };
    for (let at = 0; at < text.length; at += 1) {
      const glyph = font.getGlyph(ids[at]!, [text.charCodeAt(at)]);
      const position = positionOf(glyph, ids[at + 1]);
      run.glyphs.push(glyph);
      run.positions.push(position);
      run.advanceWidth += position.xAdvance;
    }
    return run;
  };
}

/** The position of a glyph before another one, or before nothing. */
type PositionOf = (glyph: Glyph, next: number | undefined) => Position;

function rememberedPositions({ kerning }: GlyphRules, scale: number): PositionOf {
  const known = new Map<number, Position>();
  return ({ id, advanceWidth }, next) => {
    const pair = id * 0x10000 + (next ?? 0xffff);
    let position = known.get(pair);
    if (position === undefined) {
      const xAdvance = (advanceWidth + (next === undefined ? 0 : kerning(id, next))) * scale;
      known.set(pair, (position = { xAdvance, yAdvance: 0, xOffset: 0, yOffset: 0, advanceWidth: advanceWidth * scale }));
    }
    return position;
  };
}
