/** Runs a browser with a debugging pipe and a profile of its own, which is deleted when the browser has exited. */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { withTimeLimit } from '../../platform/time-limits.ts';
import { CommandFailed, connect, type Connection } from './cdp.ts';

/** A browser that has answered its first command. */
export interface BrowserProcess {
  connection: Connection;
  /** The product and version that the browser states, such as `HeadlessChrome/140.0.7339.16`. */
  product: string;
  /** Ends the browser with all of its processes, and resolves when it has exited and its profile is deleted. */
  kill(): Promise<void>;
}

/** Whether the system has process groups. */
const HAS_GROUPS = process.platform !== 'win32';
/** The time in which a browser must answer its first command, in milliseconds. */
export const START_MS = 30_000;
/** The time in which a browser must have exited, in milliseconds. */
export const CLOSE_MS = 5000;
/** The part of the browser's messages that is kept to explain why it did not start, in characters. */
const STDERR_MAX = 10_000;

/** The time after its exit in which the rest of what the browser wrote arrives, in milliseconds. */
const LAST_WORDS_MS = 200;

/** @throws Error with what the browser wrote, if it does not start */
export async function startBrowser(executable: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<BrowserProcess> {
  const profile = await mkdtemp(join(tmpdir(), 'curbcut-browser-'));
  const child = spawn(executable, [...args, `--user-data-dir=${profile}`, '--remote-debugging-pipe', '--no-startup-window'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    // A process group of its own, so that none of its processes is left behind.
    detached: HAS_GROUPS,
  });
  const kill = (): void => killGroup(child);
  const onExit = (): void => {
    kill();
    try {
      rmSync(profile, { recursive: true, force: true });
    } catch {
      // The processes of the browser still write to it.
    }
  };
  process.once('exit', onExit);
  const failed = failureOf(child);
  const exited = failed
    .catch(() => undefined)
    .then(async () => {
      process.off('exit', onExit);
      // Processes of the browser may still write to it for a moment.
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }).catch(() => undefined);
    });
  const connection = connect(child.stdio[3] as Writable, child.stdio[4] as Readable);
  try {
    const answer = Promise.race([connection.root.send('Browser.getVersion'), failed]);
    const { product } = await withTimeLimit(answer, START_MS, 'starting the browser');
    return {
      connection,
      product,
      kill() {
        kill();
        return exited;
      },
    };
  } catch (error) {
    // The pipe closes shortly before the browser exits, and says nothing about the reason.
    const why =
      error instanceof CommandFailed
        ? await withTimeLimit(failed, LAST_WORDS_MS * 5, 'the exit of the browser').catch((reason: unknown) => reason)
        : error;
    kill();
    await exited;
    throw why instanceof Error ? why : error;
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    // Without groups, the other processes of the browser end when the connection to it breaks.
    if (HAS_GROUPS) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // It has just exited.
  }
}

/** Rejects when the browser has exited, with what it wrote. */
function failureOf(child: ChildProcess): Promise<never> {
  let stderr = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    if (stderr.length < STDERR_MAX) stderr += chunk.toString();
  });
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  child.once('error', reject);
  child.once('exit', (code, signal) => {
    const fail = (): void => reject(new Error(`The browser exited (${signal ?? `code ${code}`}): ${stderr.trim()}`));
    child.once('close', fail);
    setTimeout(fail, LAST_WORDS_MS).unref();
  });
  return promise;
}
