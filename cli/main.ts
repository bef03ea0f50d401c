#!/usr/bin/env node
/** The `curbcut` process: passes its streams, signals and environment to the command. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './run.ts';
import { terminalOf } from './terminal.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    // A second signal terminates the process at once.
    interrupted.abort(signal);
  });
}

process.exitCode = await run(process.argv.slice(2), {
  stdout: terminalOf(process.stdout, process.env),
  stderr: terminalOf(process.stderr, process.env),
  environment: process.env,
  version,
  signal: interrupted.signal,
  sleep: async (ms, signal) => sleep(ms, undefined, { signal }),
  now: () => performance.now(),
  newId: randomUUID,
});
// Keep-alive connections must not keep the process running.
process.exit();
