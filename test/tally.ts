/** Counts a mocha run's results from what it printed. */

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  /** What mocha said of its failures, or the end of what a crashed run printed; empty where all is well. */
  told: string;
}

const TOLD_OF_A_CRASH = 40;

/**
 * Reads mocha's closing counts. A run that ended badly without naming a failed test (it crashed, or could not load a
 * file) counts as one failure, so that it can never look green.
 * @param exitCode null where a signal ended the run
 */
export function tally(output: string, exitCode: number | null): Tally {
  // Mocha colours its counts.
  const plain = output.replace(/\u001b\[[0-9;]*m/g, '');
  const count = (word: string): number => Number([...plain.matchAll(new RegExp(`^\\s+(\\d+) ${word}\\b`, 'gm'))].at(-1)?.[1] ?? 0);
  const failed = count('failing');
  const crashed = failed === 0 && exitCode !== 0;
  const told = crashed
    ? plain.trimEnd().split('\n').slice(-TOLD_OF_A_CRASH).join('\n')
    : failed > 0
      ? plain.slice(plain.search(/^\s+\d+ failing\b/m))
      : '';
  return { passed: count('passing'), failed: crashed ? 1 : failed, skipped: count('pending'), told: told.trim() };
}

/**
 * The closing lines of several runs: what failed once more, for the lines above scroll away and a log is often cut to
 * its end; then `N passed, N failed`.
 */
export function closing(runs: ReadonlyMap<string, Tally>): string {
  const sum = (of: 'passed' | 'failed' | 'skipped'): number => [...runs.values()].reduce((total, run) => total + run[of], 0);
  const failures = [...runs].filter(([, run]) => run.failed > 0).map(([name, run]) => `\n── failed in ${name}\n${run.told}\n`);
  const skipped = sum('skipped');
  return `${failures.join('')}\n${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
}

/** The exit code of several runs: 0 where something passed and nothing failed. */
export function exitCodeOf(runs: ReadonlyMap<string, Tally>): 0 | 1 {
  const all = [...runs.values()];
  return all.some(({ passed }) => passed > 0) && all.every(({ failed }) => failed === 0) ? 0 : 1;
}
