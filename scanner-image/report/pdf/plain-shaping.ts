/** Lays plain Latin text out by kerning alone. fontkit's shaper gives the same result, but takes most of the time of a report. */
import type { Face } from './fonts.ts';

/**
 * What Inter never replaces. Its contextual alternates (`calt`) are arrows, brackets and signs beside capitals and digits, and × for
 * an x between digits. So it depends on the other characters of the text which signs are left out. A letter makes the script Latin,
 * which has a kerning of its own.
 */
const INTER = new RegExp(
  `^(?=.*[A-Za-zÀ-ÖØ-öø-ž])(?:${[
    String.raw`[ !"#$%&',./0-9;?A-Z\\^_\`a-wyz|À-ÖØ-öø-ž]+`,
    String.raw`[ !"#$%&',./;?A-Z\\^_\`a-z|À-ÖØ-öø-ž]+`,
    String.raw`[ "#',./;\\^_\`a-z(*+:=@[{~-]+`,
  ].join('|')})$`,
);

/** The texts of which nothing but kerning moves a glyph, by font. Texts in other fonts always need the shaper. */
export const PLAIN: Readonly<Partial<Record<Face, RegExp>>> = {
  regular: INTER,
  semibold: INTER,
  bold: INTER,
  mono: /^[ -~À-ÖØ-öø-ž]+$/,
};

interface Position {
  xAdvance: number;
  yAdvance: number;
  xOffset: number;
  yOffset: number;
}

interface Glyph {
  id: number;
  advanceWidth: number;
}

/** A text in one font. Distances are in thousandths of the font size. */
export interface Run {
  glyphs: Glyph[];
  positions: Readonly<Position & { advanceWidth: number }>[];
  advanceWidth: number;
}

/** What this module uses of pdfkit's `EmbeddedFont` and fontkit's `TTFFont`. */
export interface EmbeddedFont {
  /** Thousandths of the font size per unit of the font. */
  scale: number;
  layoutRun(text: string, features?: unknown): Run;
  font: {
    glyphForCodePoint(codePoint: number): Glyph;
    _layoutEngine: { engine: { GPOSProcessor: Positioning } };
  };
}

interface Positioning {
  selectScript(script: string): void;
  lookupsForFeatures(features: string[]): unknown[];
  applyLookups(lookups: unknown[], glyphs: { id: number; features: object }[], positions: Position[]): void;
}

/** Replaces the layout of plain text in a font. Other text is laid out as before. */
export function shapePlainText(embedded: EmbeddedFont, face: Face): void {
  const plain = PLAIN[face];
  if (plain === undefined) return;
  const { font, scale } = embedded;
  const positioning = font._layoutEngine.engine.GPOSProcessor;
  positioning.selectScript('latn');
  const kerning = positioning.lookupsForFeatures(['kern']);

  function kernOf(glyph: Glyph, next: Glyph): number {
    const features = { kern: true };
    const positions = [0, 0].map(() => ({ xAdvance: 0, yAdvance: 0, xOffset: 0, yOffset: 0 }));
    positioning.applyLookups(
      kerning,
      [glyph, next].map(({ id }) => ({ id, features })),
      positions,
    );
    return positions[0]!.xAdvance;
  }

  const places = new Map<number, Run['positions'][number]>();
  /** The position of a character before another one, or before nothing (0). */
  function placeOf(glyph: Glyph, character: number, next: number): Run['positions'][number] {
    const pair = character * 0x10000 + next;
    let place = places.get(pair);
    if (place === undefined) {
      const kern = next === 0 ? 0 : kernOf(glyph, font.glyphForCodePoint(next));
      const { advanceWidth } = glyph;
      place = { xAdvance: (advanceWidth + kern) * scale, yAdvance: 0, xOffset: 0, yOffset: 0, advanceWidth: advanceWidth * scale };
      places.set(pair, place);
    }
    return place;
  }

  const shape = embedded.layoutRun.bind(embedded);
  embedded.layoutRun = (text, features) => {
    if (features !== undefined || !plain.test(text)) return shape(text, features);
    const run: Run = { glyphs: [], positions: [], advanceWidth: 0 };
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charCodeAt(at);
      const glyph = font.glyphForCodePoint(character);
      const place = placeOf(glyph, character, at + 1 < text.length ? text.charCodeAt(at + 1) : 0);
      run.glyphs.push(glyph);
      run.positions.push(place);
      run.advanceWidth += place.xAdvance;
    }
    return run;
  };
}
