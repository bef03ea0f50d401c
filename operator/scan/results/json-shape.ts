/**
 * Measures JSON before it is parsed: a parser that runs out of memory takes the whole process with it, even from a worker
 * thread (V8 ends the process where `JSON.parse` reaches the heap's limit), and a megabyte of `[],[],…` needs forty. Pure.
 */

export interface JsonShape {
  /** Objects, arrays, strings, numbers and the rest; keys are not counted. At least as many as a parser would make. */
  values: number;
  /** How deep they are nested. */
  depth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/** The shape of a text that may be JSON; of one that is none, some shape. Every value but the first follows a comma or begins a container. */
export function shapeOf(bytes: Uint8Array): JsonShape {
  let values = 1;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at += 1;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) values += 1;
    else if (OPEN.has(byte)) {
      values += 1;
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (CLOSE.has(byte)) depth -= 1;
  }
  return { values, depth: deepest };
}

/** An export nests eight deep. */
const DEPTH_MAX = 32;
/** Bytes for each value of an export, at least: a node has about eighty, its HTML and selector included. */
const BYTES_A_VALUE = 32;
/** Small exports of many short values are no danger. */
const VALUES_MIN = 200_000;

/** True if a text can be parsed in memory that is in proportion to its size: at most about 130 bytes a value (measured), beside its strings. */
export function isParseable(bytes: Uint8Array): boolean {
  const { values, depth } = shapeOf(bytes);
  return depth <= DEPTH_MAX && values <= Math.max(VALUES_MIN, bytes.byteLength / BYTES_A_VALUE);
}
