/**
 * A mocha reporter for test/run.ts: writes one JSON line per event to file descriptor 3, so that the runner reads
 * results and not the text that a person reads.
 */
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import Mocha, { type Runner, type Test } from 'mocha';

export type TestEvent =
  | { event: 'started'; title: string }
  | { event: 'passed'; title: string; ms: number }
  | { event: 'skipped'; title: string }
  | { event: 'failed'; title: string; detail: string }
  /** The last line of a run that mocha itself ended; without it the process crashed or a test called `process.exit`. */
  | { event: 'ended' };

const RESULTS = 3;

/** An assertion may throw anything; mocha adds the diff to its own report only. */
interface Thrown {
  message?: string;
  stack?: string;
  showDiff?: boolean;
  actual?: unknown;
  expected?: unknown;
  cause?: unknown;
}

function detailOf(thrown: Thrown): string {
  const own = thrown.stack ?? thrown.message ?? String(thrown);
  // `fetch failed` says nothing without it.
  const stack = thrown.cause === undefined ? own : `${own}\ncaused by ${inspect(thrown.cause)}`;
  if (thrown.showDiff === false || thrown.actual === undefined || thrown.expected === undefined) return stack;
  const text = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? String(value)));
  return `${stack}\n${Mocha.reporters.Base.generateDiff(text(thrown.actual), text(thrown.expected))}`;
}

/** The line of an event. Its reader ends lines at U+2028 and U+2029 too, which JSON need not escape. */
export const eventLine = (event: TestEvent): string =>
  `${JSON.stringify(event).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`;

const titleOf = (test: { titlePath(): string[] }): string => test.titlePath().join(' › ');

export default class ResultsReporter {
  constructor(runner: Runner) {
    const write = (event: TestEvent): void => void writeSync(RESULTS, eventLine(event));
    runner.on('test', (test: Test) => write({ event: 'started', title: titleOf(test) }));
    runner.on('pass', (test: Test) => write({ event: 'passed', title: titleOf(test), ms: test.duration ?? 0 }));
    runner.on('pending', (test: Test) => write({ event: 'skipped', title: titleOf(test) }));
    // A failed hook comes here too, named after the hook.
    runner.on('fail', (test: Test, thrown: Thrown) => write({ event: 'failed', title: titleOf(test), detail: detailOf(thrown) }));
    runner.on('end', () => write({ event: 'ended' }));
  }
}
