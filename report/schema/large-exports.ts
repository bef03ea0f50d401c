/** How much memory the parsing of an export needs. */

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

/** The heap limit for exports that are not large, in MiB. @param memoryMib the limit for the largest exports */
export const smallMemoryMib = (memoryMib: number): number => Math.min(exportMemoryMib(LARGE_EXPORT_BYTES / MIB), memoryMib);
