/** The verdicts of kstatus, from the Go program in this folder. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { Kstatus } from '../support/scan-states.ts';

const run = promisify(execFile);

export interface Verdict {
  status: Kstatus;
  message: string;
}

/** Compiling it the first time takes most of a minute on a small machine. */
export const KSTATUS_TIMEOUT_MS = 300_000;

const PROGRAM = join(import.meta.dirname, '..', '..', '.curbcut', 'kstatus');
let compiled: Promise<unknown> | null = null;

/** Compiles the program once in this process. Go keeps what it compiled, except for the last step. */
function compile(): Promise<unknown> {
  // Without version control information, because Go refuses to read that of a repository of another user. Without C and
  // optimization, which take a third of the time.
  const options = ['-buildvcs=false', '-gcflags=all=-N -l', '-ldflags=-s -w', '-o', PROGRAM];
  compiled ??= run('go', ['build', ...options, '.'], { cwd: import.meta.dirname, env: { ...process.env, CGO_ENABLED: '0' } });
  return compiled;
}

/** Judges objects as Flux does. @returns the verdicts in the order of the objects */
export async function verdictsOf(objects: readonly KubernetesObject[]): Promise<Verdict[]> {
  await compile();
  const child = run(PROGRAM, [], { maxBuffer: 16 << 20 });
  child.child.stdin!.end(JSON.stringify(objects));
  return JSON.parse((await child).stdout) as Verdict[];
}
