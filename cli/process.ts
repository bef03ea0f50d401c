/** The process of the command line: passes its streams, signals and environment to the command. */
import { randomUUID } from 'node:crypto';
import * as http from 'node:http';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../package.json' with { type: 'json' };
import { run } from './run.ts';
import { terminalOf } from './terminal.ts';

/**
 * Runs the command line of the process's arguments, and ends the process.
 * @param scanner the file of the scanner's program, which may be missing
 */
export async function runProcess(environment: NodeJS.ProcessEnv, scanner: string): Promise<never> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      // A second signal terminates the process at once.
      interrupted.abort(signal);
    });
  }
  // As curl does. Before Node.js 24.14 there is only NODE_USE_ENV_PROXY=1, which must be set before the start.
  (http as Partial<typeof http>).setGlobalProxyFromEnv?.(environment);
  const code = await run(process.argv.slice(2), {
    stdout: terminalOf(process.stdout, environment),
    stderr: terminalOf(process.stderr, environment),
    environment,
    version: manifest.version,
    scanner,
    signal: interrupted.signal,
    sleep: async (ms, signal) => sleep(ms, undefined, { signal }),
    monotonic: () => performance.now(),
    newId: randomUUID,
    readSecret: (prompt) => readSecret(prompt, interrupted),
  });
  // A write that failed is reported with an exit code of its own (start.cjs), which this one must not hide.
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))));
  // Keep-alive connections must not keep the process running.
  process.exit(code);
}

/** A longer text on standard input is no secret. In characters. */
const SECRET_MAX = 4096;

async function readSecret(prompt: string, interrupted: AbortController): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    let text = '';
    for await (const chunk of stdin.setEncoding('utf8')) {
      text += chunk as string;
      if (text.length > SECRET_MAX) break;
    }
    return text.slice(0, SECRET_MAX);
  }
  // Keys are handled as usual, and nothing is shown.
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: hidden, terminal: true });
  // Not before: the terminal shows what is typed until then.
  stderr.write(prompt);
  lines.once('SIGINT', () => interrupted.abort('SIGINT'));
  interrupted.signal.addEventListener('abort', () => lines.close());
  try {
    return await new Promise<string>((resolve) => {
      lines.once('line', resolve).once('close', () => resolve(''));
    });
  } finally {
    lines.close();
    stderr.write('\n');
    interrupted.signal.throwIfAborted();
  }
}
