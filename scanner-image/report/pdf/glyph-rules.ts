/** What the rules of a font do to glyphs beside others: kerning, and other forms. Only the kinds of rules that the text fonts have. */
import type { FontFile, Offset } from './opentype.ts';

/** The rules of a font for one script. */
export interface GlyphRules {
  /** What is added to the advance of a glyph before another one, in units of the font. */
  kerning(first: number, second: number): number;
  /** Replaces each glyph that has another form between its neighbours. Glyphs are not joined. */
  alternate(glyphs: number[]): void;
}

/** A type of lookup: rules for a glyph that depend on its neighbours. */
const IN_CONTEXT = 6;

/** Reads the rules of a font for a script, such as `latn`. */
export function glyphRulesOf(file: FontFile, script: string): GlyphRules {
  const kerning = file.lookups('GPOS', script, 'kern');
  const alternates = file.lookups('GSUB', script, 'calt').filter(({ type }) => type === IN_CONTEXT);
  const replacements = alternates.map(({ subtables }) => replacementBy(file, subtables));
  return {
    kerning: (first, second) => kerning.reduce((sum, { subtables }) => sum + advanceOf(file, subtables, first, second), 0),
    alternate(glyphs) {
      for (const replace of replacements) replace(glyphs);
    },
  };
}

/** What the first subtable with a pair adds to the advance of its first glyph. */
function advanceOf(file: FontFile, subtables: readonly Offset[], first: number, second: number): number {
  const { uint16, int16 } = file;
  for (const at of subtables) {
    const index = file.coverage(at + uint16(at + 2), first);
    if (index < 0) continue;
    if (uint16(at) === 2) {
      const row = file.classOf(at + uint16(at + 8), first);
      const column = file.classOf(at + uint16(at + 10), second);
      return int16(at + 16 + 2 * (row * uint16(at + 14) + column));
    }
    const pairs = at + uint16(at + 10 + 2 * index);
    const end = pairs + 2 + 4 * uint16(pairs);
    for (let pair = pairs + 2; pair < end; pair += 4) if (uint16(pair) === second) return int16(pair + 2);
  }
  return 0;
}

/**
 * A rule for one glyph. The glyphs before and after it are given by their coverages, from left to right. In the format those before it
 * are from right to left, but fontkit does not read them so, and a sign must not look different in a text that needs fontkit.
 */
interface Rule {
  glyph: Offset;
  before: Offset[];
  after: Offset[];
  /** The subtables with the other form. Without any, the glyph stays as it is, and no further rule applies. */
  forms: Offset[];
}

/** Returns the replacement of glyphs by the first rule of a lookup that fits. */
function replacementBy(file: FontFile, subtables: readonly Offset[]): (glyphs: number[]) => void {
  const all = subtables.flatMap((at) => ruleAt(file, at) ?? []);
  const coverages = [...new Set(all.map(({ glyph }) => glyph))];
  const known = new Map<number, readonly Rule[]>();
  const rulesFor = (glyph: number): readonly Rule[] => {
    let rules = known.get(glyph);
    if (rules === undefined) {
      // Most rules are for the same glyphs.
      const covering = new Set(coverages.filter((coverage) => file.coverage(coverage, glyph) >= 0));
      known.set(glyph, (rules = all.filter((rule) => covering.has(rule.glyph))));
    }
    return rules;
  };
  const fits = (sequence: readonly Offset[], glyphs: readonly number[], start: number): boolean =>
    start >= 0 &&
    start + sequence.length <= glyphs.length &&
    sequence.every((coverage, index) => file.coverage(coverage, glyphs[start + index]!) >= 0);
  return (glyphs) => {
    for (let at = 0; at < glyphs.length; at += 1) {
      const rules = rulesFor(glyphs[at]!);
      // Nearly all glyphs: letters have no rules.
      if (rules.length === 0) continue;
      const rule = rules.find(({ before, after }) => fits(before, glyphs, at - before.length) && fits(after, glyphs, at + 1));
      if (rule !== undefined) glyphs[at] = formOf(file, rule.forms, glyphs[at]!);
    }
  };
}

/** Reads a rule. Null if it is for several glyphs at once. */
function ruleAt(file: FontFile, at: Offset): Rule | null {
  const { uint16 } = file;
  let end = at + 2;
  const coverages = (): Offset[] => {
    const places = file.list(end + 2, uint16(end)).map((offset) => at + offset);
    end += 2 + 2 * places.length;
    return places;
  };
  const [before, [glyph, ...more], after] = [coverages(), coverages(), coverages()];
  if (glyph === undefined || more.length > 0) return null;
  return { glyph, before, after, forms: uint16(end) === 0 ? [] : file.lookup('GSUB', uint16(end + 4)).subtables };
}

function formOf(file: FontFile, forms: readonly Offset[], glyph: number): number {
  const { uint16 } = file;
  for (const at of forms) {
    const index = file.coverage(at + uint16(at + 2), glyph);
    if (index >= 0) return uint16(at) === 1 ? (glyph + uint16(at + 4)) & 0xffff : uint16(at + 6 + 2 * index);
  }
  return glyph;
}
