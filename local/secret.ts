/** Secrets of the embedded stack: random, created once, readable by their owner only. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Reads a secret from a file. If the file does not exist, creates it. Default: 32 random bytes in hexadecimal. */
export async function loadOrCreateSecret(path: string, create = () => randomBytes(32).toString('hex')): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = create();
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, `${secret}\n`, { mode: 0o600, flag: 'wx' });
  return secret;
}
