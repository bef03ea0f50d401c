/** Returns the names that occur at least so many times, each once. Pure. */
export function atLeast(times: number, names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => names.filter((one) => one === name).length >= times);
}
