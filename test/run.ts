/**
 * Runs the tests: each room's in a mocha process of its own, as many at once as there are cores, the longest first.
 * Ends with what failed and one line `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { closing, exitCodeOf, tally, type Tally } from './tally.ts';

/** Rooms in the order in which they are started; each with the globs of its tests. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  scanner: ['test/scanner/**/*.test.ts', 'scanner-image/**/*.test.ts'],
  operator: ['test/operator/**/*.test.ts', 'operator/!(runtime)/**/*.test.ts', 'operator/*.test.ts'],
  journey: ['test/journey/**/*.test.ts'],
  api: ['test/api/**/*.test.ts', 'api/**/*.test.ts'],
  kube: ['local/tests/kube/**/*.test.ts', 'local/kube/**/*.test.ts'],
  demo: ['local/tests/data/demo-site*.test.ts'],
  runtime: ['test/runtime/**/*.test.ts', 'operator/runtime/**/*.test.ts'],
  stores: ['test/stores/**/*.test.ts', 'stores/**/*.test.ts'],
  data: ['local/tests/data/!(demo-site*).test.ts', 'local/!(kube|tests)/**/*.test.ts', 'local/*.test.ts'],
  report: ['test/report/**/*.test.ts'],
  cli: ['test/cli/**/*.test.ts', 'cli/**/*.test.ts'],
  core: ['core/**/*.test.ts', 'platform/**/*.test.ts', 'crds/**/*.test.ts', 'test/*.test.ts', 'test/chart/**/*.test.ts'],
};

const root = join(import.meta.dirname, '..');

function filesOf(globs: readonly string[]): string[] {
  return globs.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
}

/** Runs one room's tests and prints what they said when they are through. */
async function runRoom(room: string, files: readonly string[], environment: NodeJS.ProcessEnv): Promise<Tally> {
  const started = performance.now();
  const mocha = spawn(
    process.execPath,
    [join(root, 'node_modules/mocha/bin/mocha.js'), '--no-config', '--timeout', '120000', '--forbid-only', '--exit', ...files],
    {
      cwd: root,
      env: { ...environment, FORCE_COLOR: process.stdout.isTTY ? '1' : '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  mocha.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  mocha.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => mocha.on('close', resolve));
  const counted = tally(output, code);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stdout.write(`\n── ${room} (${counted.passed} passed, ${counted.failed} failed, ${seconds} s) ${'─'.repeat(40)}\n${output}`);
  return counted;
}

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.split(',');
const unknown = wanted?.filter((room) => !(room in ROOMS)) ?? [];
if (unknown.length > 0) {
  console.error(`There is no room ${unknown.join(', ')}; the rooms are ${Object.keys(ROOMS).join(', ')}.`);
  process.exit(2);
}

const waiting = Object.entries(ROOMS)
  .filter(([room]) => wanted?.includes(room) ?? true)
  .map(([room, globs]) => ({ room, files: filesOf(globs) }))
  .filter(({ files }) => files.length > 0);
const runs = new Map<string, Tally>();

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    runs.set(next.room, await runRoom(next.room, next.files, process.env));
  }
}
await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));

process.stdout.write(closing(runs));
process.exit(exitCodeOf(runs));
