/**
 * Runs the test suites of test/runner/suites.ts, as many at once as there are cores. Prints results as they come, and
 * ends with what failed and one line `N passed, N failed`. If `CI` is set, a skipped test fails the run.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runSuite } from './runner/run-suite.ts';
import { filesOf, SUITES } from './runner/suites.ts';
import { closingLines, exitCodeOf, skipRules, type SuiteResult } from './runner/summary.ts';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.split(',') ?? Object.keys(SUITES);
const unknown = wanted.filter((name) => !(name in SUITES));
if (unknown.length > 0) {
  console.error(`unknown suite: ${unknown.join(', ')}; the suites are ${Object.keys(SUITES).join(', ')}`);
  process.exit(2);
}

const waiting = Object.entries(SUITES)
  .filter(([name]) => wanted.includes(name))
  .map(([name, { files, except }]) => ({ name, files: filesOf(files, except) }));
const results = new Map<string, SuiteResult>();

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
    results.set(next.name, await runSuite({ ...next, environment: process.env, print: (line) => console.log(line) }));
}
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));

const rules = skipRules(process.env);
process.stdout.write(closingLines(results, rules));
process.exit(exitCodeOf(results, rules));
