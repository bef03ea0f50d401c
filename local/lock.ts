/** One `make run` a folder: two would write the same state. */
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Marks a folder as in use by this process.
 * @returns a function that frees it
 * @throws if another living process has it, with its id
 */
export async function holdFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'pid');
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(path, 'utf8'));
    if (isAlive(holder))
      throw new Error(`Curbcut is running already in this folder (process ${holder}); stop it with Ctrl-C there, or with: kill ${holder}`);
    await rm(path, { force: true });
  }
  throw new Error(`${path} could not be taken; another start is under way. Try again.`);
}

/** True if the process lives and is one of ours: after a restart of the machine its id may be somebody else's. */
function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('local/main.ts');
  } catch {
    return true; // no /proc on this system
  }
}
