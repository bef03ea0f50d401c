/**
 * Measures JSON before it is parsed. V8 ends the whole process if `JSON.parse` reaches the heap limit, even in a worker
 * thread, and one megabyte of `[],[],…` needs forty megabytes of heap. Pure.
 */

export interface JsonShape {
  /** An upper bound of the values that a parser creates; keys are not counted. */
  values: number;
  /** The nesting depth. */
  depth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/** Measures a JSON text. Every value but the first follows a comma or begins a container. For other text the result is meaningless. */
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

/** The nesting depth of an export is eight. */
const DEPTH_MAX = 32;
/** The minimum number of bytes per value. A node of an export has about forty, including its HTML and selector. */
const BYTES_PER_VALUE = 24;
/** The number of values that is always allowed, because small exports are harmless. */
const VALUES_MIN = 200_000;

/** Returns whether a text can be parsed with memory proportional to its size: at most about 160 bytes per value (measured), plus strings. */
export function isParseable(bytes: Uint8Array): boolean {
  const { values, depth } = shapeOf(bytes);
  return depth <= DEPTH_MAX && values <= Math.max(VALUES_MIN, bytes.byteLength / BYTES_PER_VALUE);
}

const MIB = 1024 * 1024;

/**
 * Larger exports are verified and compared one at a time: each needs several hundred MiB, and the operator's memory is limited
 * for one of them.
 */
export const LARGE_EXPORT_BYTES = 4 * MIB;

/**
 * The heap limit for exports of at most this size, in MiB. Parsing needs the text, its strings and about 160 bytes for each
 * value that `isParseable` allows: less than ten times the size.
 */
export const exportMemoryMib = (maxMib: number): number => 256 + 12 * maxMib;

/**
 * The largest export that the service converts. In a thread with the memory for a comparison, every format of such an export was made
 * in 3 s with at most 320 MiB (measured).
 */
export const CONVERTED_MAX_BYTES = 12 * MIB;

/** The heap limit for exports that are not large, in MiB. @param memoryMib the limit for the largest exports */
export const smallMemoryMib = (memoryMib: number): number => Math.min(exportMemoryMib(LARGE_EXPORT_BYTES / MIB), memoryMib);
