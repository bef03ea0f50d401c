/**
 * Finds the rules of a font in the bytes of its file (OpenType): lookups, coverages and classes of glyphs. fontkit decodes all rules
 * into objects first, which takes longer than the rest of a report.
 */

/** A place in the file. */
export type Offset = number;

/** The tables with rules: substitutions and positions. Both have the same structure. */
type RuleTable = 'GSUB' | 'GPOS';

/** The type of a lookup whose subtables only name the places of others, farther away in the file. */
const EXTENSION: Readonly<Record<RuleTable, number>> = { GSUB: 7, GPOS: 9 };

/** Rules of one type. The first subtable that fits applies. */
export interface Lookup {
  type: number;
  subtables: Offset[];
}

export interface FontFile {
  uint16(at: Offset): number;
  int16(at: Offset): number;
  /** Consecutive `uint16`. */
  list(at: Offset, length: number): number[];
  /** The lookups of a feature for a script, in the order in which they apply. One that is named twice applies twice, as in fontkit. */
  lookups(table: RuleTable, script: string, feature: string): Lookup[];
  lookup(table: RuleTable, index: number): Lookup;
  /** The index of a glyph in a coverage, or -1. */
  coverage(at: Offset, glyph: number): number;
  /** The class of a glyph. Glyphs without one have class 0. */
  classOf(at: Offset, glyph: number): number;
}

/** Opens the file of a font. */
export function openFontFile(bytes: Uint8Array): FontFile {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const uint16 = (at: Offset): number => data.getUint16(at);
  const list = (at: Offset, length: number): number[] => Array.from({ length }, (_, index) => uint16(at + 2 * index));
  const tag = (at: Offset): string => String.fromCharCode(...bytes.subarray(at, at + 4));
  /** The places of consecutive records of `size` bytes, after their number. */
  const records = (at: Offset, size: number): Offset[] => Array.from({ length: uint16(at) }, (_, index) => at + 2 + size * index);

  const tables = new Map<string, Offset>();
  for (let record = 12; record < 12 + 16 * uint16(4); record += 16) tables.set(tag(record), data.getUint32(record + 8));

  function lookup(name: RuleTable, index: number): Lookup {
    const table = tables.get(name)!;
    const all = table + uint16(table + 8);
    const at = all + uint16(all + 2 + 2 * index);
    const type = uint16(at);
    const subtables = list(at + 6, uint16(at + 4)).map((offset) => at + offset);
    if (type !== EXTENSION[name]) return { type, subtables };
    return { type: uint16(subtables[0]! + 2), subtables: subtables.map((subtable) => subtable + data.getUint32(subtable + 4)) };
  }

  function lookups(name: RuleTable, script: string, feature: string): Lookup[] {
    const table = tables.get(name);
    if (table === undefined) return [];
    const [scripts, features] = [table + uint16(table + 4), table + uint16(table + 6)];
    const record = records(scripts, 6).find((at) => tag(at) === script);
    if (record === undefined) return [];
    const system = scripts + uint16(record + 4);
    const language = system + uint16(system);
    const indexes = list(language + 6, uint16(language + 4))
      .map((index) => features + 2 + 6 * index)
      .filter((at) => tag(at) === feature)
      .map((at) => features + uint16(at + 4))
      .flatMap((at) => list(at + 4, uint16(at + 2)));
    return indexes.sort((left, right) => left - right).map((index) => lookup(name, index));
  }

  /** The place of the range with a glyph, or null. Ranges are in ascending order: the first glyph, the last one, a number. */
  function rangeWith(glyph: number, at: Offset, count: number): Offset | null {
    for (let low = 0, high = count - 1; low <= high;) {
      const middle = (low + high) >> 1;
      const range = at + 6 * middle;
      if (glyph < uint16(range)) high = middle - 1;
      else if (glyph > uint16(range + 2)) low = middle + 1;
      else return range;
    }
    return null;
  }

  function coverage(at: Offset, glyph: number): number {
    const count = uint16(at + 2);
    if (uint16(at) === 2) {
      const range = rangeWith(glyph, at + 4, count);
      return range === null ? -1 : uint16(range + 4) + glyph - uint16(range);
    }
    for (let low = 0, high = count - 1; low <= high;) {
      const middle = (low + high) >> 1;
      const found = uint16(at + 4 + 2 * middle);
      if (found === glyph) return middle;
      if (found < glyph) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  function classOf(at: Offset, glyph: number): number {
    if (uint16(at) === 2) {
      const range = rangeWith(glyph, at + 4, uint16(at + 2));
      return range === null ? 0 : uint16(range + 4);
    }
    const index = glyph - uint16(at + 2);
    return index >= 0 && index < uint16(at + 4) ? uint16(at + 6 + 2 * index) : 0;
  }

  return { uint16, int16: (at) => data.getInt16(at), list, lookups, lookup, coverage, classOf };
}
