/** Local processes in their own process groups, so that a pod's end stops everything that it started. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';

/** How a process ended. */
export interface Exit {
  /** 128 + the signal's number if a signal ended it. */
  code: number;
  signal?: number;
  /** Why it could not be started. */
  failure?: string;
}

export interface RunningProcess {
  exited: Promise<Exit>;
  /** Sends a signal to the whole group. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
}

function signalGroup(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, name);
  } catch {
    // It has already ended.
  }
}

/** The start time of a process in ticks since boot. With the process ID it identifies a process. Null without Linux's /proc. */
export function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * Starts a process with its output in a file.
 * @param pidFile the file for its process ID, so that the next run can stop it after a crash of this one
 */
export function launch(command: string[], env: Record<string, string>, cwd: string, logPath: string, pidFile: string): RunningProcess {
  const log = openSync(logPath, 'a', 0o600);
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const { pid } = child;
  if (pid !== undefined) writeFileSync(pidFile, `${pid} ${startTicks(pid) ?? ''}`, { mode: 0o600 });
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => resolve({ code: 128, failure: error.message }));
    child.once('exit', (code, signal) => {
      // Stop what the main process left behind, as in a container.
      if (pid !== undefined) signalGroup(pid, 'SIGKILL');
      const number = signal === null ? undefined : constants.signals[signal];
      resolve(number === undefined ? { code: code ?? 0 } : { code: 128 + number, signal: number });
    });
  });
  return {
    exited,
    signal: (name) => {
      if (pid !== undefined) signalGroup(pid, name);
    },
  };
}

/** Stops a process group that an earlier run left behind, unless its ID now belongs to another process. */
export function endLeftover(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  const [pid = '', ticks = ''] = readFileSync(pidFile, 'utf8').split(' ');
  if (Number(pid) > 1 && ticks !== '' && startTicks(Number(pid)) === ticks) signalGroup(Number(pid), 'SIGKILL');
  rmSync(pidFile, { force: true });
}
