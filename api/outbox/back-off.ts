/** Delays before another try. Pure. */

/**
 * Returns a delay that doubles with each failure, from `firstMs` to `longestMs`. It varies by a fifth, so that what failed together
 * is not tried together.
 * @param failures at least 1
 * @param random from 0 to 1
 */
export function doublingDelay(failures: number, { firstMs, longestMs }: { firstMs: number; longestMs: number }, random: number): number {
  return Math.round(Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.8 + 0.4 * random));
}
