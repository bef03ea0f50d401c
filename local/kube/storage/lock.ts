/** Keeps two processes from writing to one folder. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTicks } from '../kubelet/processes.ts';

/**
 * Takes a folder until it is given back or this process dies.
 * @returns how to give it back
 * @throws Error where a living process has it
 */
export function lockFolder(folder: string): () => void {
  const path = join(folder, 'lock');
  if (existsSync(path)) {
    const [pid = '', ticks = ''] = readFileSync(path, 'utf8').split(' ');
    if (ticks !== '' && startTicks(Number(pid)) === ticks) {
      throw new Error(`${folder} is in use by process ${pid}; end it first, or name another folder`);
    }
  }
  writeFileSync(path, `${process.pid} ${startTicks(process.pid) ?? ''}`, { mode: 0o600 });
  return () => rmSync(path, { force: true });
}
