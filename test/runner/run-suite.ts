/** Runs one suite in a mocha process of its own and prints its lines as they come, each with the suite's name. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { TestEvent } from './reporter.ts';
import { resultOf, type SuiteResult } from './summary.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MOCHA = join(ROOT, 'node_modules', 'mocha', 'bin', 'mocha.js');
/** A test that runs this long without a line is named, so that a log shows what the run waits for. */
const QUIET_MS = 15_000;
/** Tests leave much garbage: with 16 MiB, V8's default, collecting it costs them a tenth more processor time. */
const YOUNG_MIB = 64;

/** The line that the runner prints for an event, or null if the event needs none. */
export function lineOf(event: TestEvent): string | null {
  switch (event.event) {
    case 'passed':
      return `✔ ${event.title}${event.ms >= 1000 ? ` (${(event.ms / 1000).toFixed(1)} s)` : ''}`;
    case 'skipped':
      return `- ${event.title} (skipped)`;
    case 'failed':
      return `✖ ${event.title}\n${event.detail}`;
    case 'started':
    case 'ended':
      return null;
  }
}

export interface SuiteRun {
  name: string;
  files: readonly string[];
  environment: NodeJS.ProcessEnv;
  /** Takes one line of output, without its end. */
  print(line: string): void;
}

/** Runs the files in one mocha process. */
export async function runSuite({ name, files, environment, print }: SuiteRun): Promise<SuiteResult> {
  const started = performance.now();
  const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0);
  const options = ['--config', join(ROOT, '.mocharc.json'), '--reporter', join(import.meta.dirname, 'reporter.ts')];
  const mocha = spawn(process.execPath, [`--max-semi-space-size=${YOUNG_MIB}`, MOCHA, ...options, ...files], {
    cwd: ROOT,
    env: { ...environment, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const show = (text: string): void => {
    lastLineAt = performance.now();
    for (const line of text.split('\n')) print(`${name.padEnd(9)} ${line}`);
  };
  let lastLineAt = performance.now();
  let running: { title: string; since: number } | undefined;
  const quiet = setInterval(() => {
    if (running !== undefined && performance.now() - lastLineAt > QUIET_MS)
      show(`… ${running.title} (running for ${seconds(running.since)} s)`);
  }, QUIET_MS / 3);

  const events: TestEvent[] = [];
  const output: string[] = [];
  const [, stdout, stderr, results] = mocha.stdio as unknown as [null, Readable, Readable, Readable];
  for (const stream of [stdout, stderr])
    createInterface(stream).on('line', (line) => {
      output.push(line);
      show(line);
    });
  createInterface(results).on('line', (line) => {
    const event = JSON.parse(line) as TestEvent;
    events.push(event);
    running = event.event === 'started' ? { title: event.title, since: performance.now() } : undefined;
    const text = lineOf(event);
    if (text !== null) show(text);
  });
  const code = await new Promise<number | null>((resolve) => mocha.on('close', resolve));
  clearInterval(quiet);
  const result = resultOf(events, code, output.join('\n'));
  print(`── ${name}: ${result.passed} passed, ${result.failures.length} failed, ${result.skipped.length} skipped in ${seconds(started)} s`);
  return result;
}
