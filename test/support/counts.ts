/** Prints a count that a test has just asserted, if SHOW_COUNTS is set, as `make bench BENCH="--only counts"` does. */
export function showCount(count: number, what: string): void {
  if (process.env.SHOW_COUNTS) console.log(`count\t${count}\t${what}`);
}
