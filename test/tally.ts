/** Counts a mocha run's results from what it printed. */

export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

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
  return { passed: count('passing'), failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped: count('pending') };
}
