/** The verdicts of kstatus, from the Go program in this folder. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { Kstatus } from '../support/scan-states.ts';

const run = promisify(execFile);

export interface Verdict {
  status: Kstatus;
  message: string;
}

/** Compiling it takes most of a minute on a small machine, and later calls a second. */
export const KSTATUS_TIMEOUT_MS = 300_000;

/** Judges objects as Flux does. @returns the verdicts in the order of the objects */
export async function verdictsOf(objects: readonly KubernetesObject[]): Promise<Verdict[]> {
  // Without version control information, because Go refuses to read that of a repository of another user.
  const child = run('go', ['run', '-buildvcs=false', '.'], { cwd: import.meta.dirname, maxBuffer: 16 << 20 });
  child.child.stdin!.end(JSON.stringify(objects));
  return JSON.parse((await child).stdout) as Verdict[];
}
