/** Runs a command and measures its wall time and the memory of the process with all its descendants. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Measured {
  code: number | null;
  stdout: string;
  stderr: string;
  seconds: number;
  /** Largest sum of proportional set sizes over the process and all its descendants, in bytes. 0: it was not measured. */
  peakBytes: number;
  /** The sum of each sample, in order. Empty: it was not measured. */
  samples: number[];
  /** When the process was started, in milliseconds since the epoch. */
  startedAt: number;
}

const SAMPLE_EVERY_MS = 100;

export interface MeasureOptions {
  environment?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Whether memory is measured too, ten times per second. It takes time from the command: more, the more processes it has. */
  memory: boolean;
}

/** Runs a command to its end. */
export async function measure(command: string, args: readonly string[], options: MeasureOptions): Promise<Measured> {
  const { environment = process.env, cwd, memory } = options;
  const started = performance.now();
  const startedAt = Date.now();
  const child = spawn(command, args, { env: environment, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  const samples: number[] = [];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const sampler = memory ? setInterval(() => samples.push(treeBytes(child.pid!)), SAMPLE_EVERY_MS) : undefined;
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(sampler);
  const seconds = (performance.now() - started) / 1000;
  return { code, stdout, stderr, seconds, peakBytes: Math.max(0, ...samples), samples, startedAt };
}

/** Proportional set size of a process and its descendants: memory that they share counts once. */
function treeBytes(root: number): number {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // the process has ended since the listing
    }
  }
  let sum = 0;
  const waiting = [root];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    try {
      sum += Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1024;
    } catch {
      // the process has ended
    }
    waiting.push(...(children.get(pid) ?? []));
  }
  return sum;
}
