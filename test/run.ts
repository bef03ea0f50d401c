/**
 * Runs the test suites of test/runner/suites.ts; `--since REF` only the test files that the changes since a commit can reach.
 * Prints results as they come, and ends with what failed and one line `N passed, N failed`. If `CI` is set, a skipped test
 * fails the run.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { PARTS } from './cluster/parts.ts';
import { lastNight, recordNight } from './runner/night.ts';
import { changedSince, readGraph } from './runner/graph.ts';
import { testsReachedBy } from './runner/reach.ts';
import { runSuite } from './runner/run-suite.ts';
import { allTestFiles, filesOf, NIGHT_ONLY, sharesOf, SUITES } from './runner/suites.ts';
import { NIGHTLY } from './support/nightly.ts';
import { closingLines, exitCodeOf, skipRules, sumOf, type SuiteResult } from './runner/summary.ts';

/** More processes than cores, because most tests wait most of the time. */
const PROCESSES = availableParallelism() + 2;

const { values } = parseArgs({ options: { only: { type: 'string' }, since: { type: 'string' } } });
const wanted = values.only?.split(',') ?? Object.keys(SUITES);
const unknown = wanted.filter((name) => !(name in SUITES));
if (unknown.length > 0) fail(`unknown suite: ${unknown.join(', ')}; the suites are ${Object.keys(SUITES).join(', ')}`);

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

// `.ci/run` sets it if `make test-cluster` follows: what can run on the real API server runs only there.
const elsewhere = process.env['LEAVE_TO_CLUSTER'] ? Object.values(PARTS).filter(({ nightly }) => NIGHTLY || !nightly) : [];
const leftOut = new Set([
  ...elsewhere.filter(({ embedded }) => !embedded).flatMap(({ files }) => filesOf(files)),
  ...(NIGHTLY ? [] : filesOf(NIGHT_ONLY)),
]);
let runs = (file: string): boolean => !leftOut.has(file);
if (values.since !== undefined) {
  const changed = await changedSince(values.since).catch((error: Error) => fail(error.message));
  const reached = testsReachedBy(changed, await readGraph(), allTestFiles());
  runs = (file) => reached.has(file) && !leftOut.has(file);
}
const waiting = sharesOf(
  Object.entries(SUITES)
    .filter(([name]) => wanted.includes(name))
    .map(([name, { files, except, processes }]) => ({ name, files: filesOf(files, except).filter(runs), processes })),
);
if (values.since !== undefined) {
  console.log(`── ${waiting.flatMap(({ files }) => files).length} test files are reached by the changes since ${values.since}`);
  if (waiting.length === 0) process.exit(0);
}
if (!NIGHTLY) console.log(`── ${filesOf(NIGHT_ONLY).length} test files run only with NIGHTLY=1`);
if (elsewhere.length > 0) console.log('── test files that make test-cluster runs are left to it');
const results = new Map<string, SuiteResult>();

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { suite: name, files } = next;
    const result = await runSuite({ name, files, environment: process.env, print: (line) => console.log(line) });
    results.set(name, sumOf([results.get(name) ?? [], result].flat()));
  }
}
await Promise.all(Array.from({ length: PROCESSES }, work));

const rules = skipRules(process.env);
const code = exitCodeOf(results, rules);
if (NIGHTLY && code === 0 && values.only === undefined && values.since === undefined) recordNight('make test');
console.log(lastNight());
process.stdout.write(closingLines(results, rules));
process.exit(code);
