/** One `make run` per folder: two would write the same state. */
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Locks a folder for this process.
 * @returns a function that releases the lock
 * @throws Error with the ID of the process that holds the lock
 */
export async function lockStateFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'pid');
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(path, 'utf8'));
    if (isRunning(holder))
      throw new Error(`Curbcut is already running in this folder (process ${holder}). Stop it there with Ctrl-C, or with: kill ${holder}`);
    await rm(path, { force: true });
  }
  throw new Error(`Could not lock ${path}: another process is starting. Try again.`);
}

/** The process must also be a `make run`: after a restart of the machine its ID may belong to another program. */
function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('local/main.ts');
  } catch {
    return true; // This system has no /proc.
  }
}
