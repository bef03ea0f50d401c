/** Prevents two processes from writing to one folder. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTicks } from '../kubelet/processes.ts';

/**
 * Locks a folder until it is released or this process ends.
 * @returns a function that releases it
 * @throws Error if a running process has the lock
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'lock');
  if (existsSync(path)) {
    const [pid = '', ticks = ''] = readFileSync(path, 'utf8').split(' ');
    if (ticks !== '' && startTicks(Number(pid)) === ticks) {
      throw new Error(`${folder} is in use by process ${pid}. Stop that process, or use another folder`);
    }
  }
  writeFileSync(path, `${process.pid} ${startTicks(process.pid) ?? ''}`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}
