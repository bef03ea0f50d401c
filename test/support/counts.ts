/**
 * Prints a count that a test has just asserted, if SHOW_COUNTS is set, as `make bench BENCH="--only counts"` does.
 * @param counted the number, or the names of what was counted, which are printed too
 */
export function showCount(counted: number | readonly string[], what: string): void {
  if (!process.env.SHOW_COUNTS) return;
  const [count, named] = typeof counted === 'number' ? [counted, what] : [counted.length, `${what}: ${counted.join(', ')}`];
  console.log(`count\t${count}\t${named}`);
}
