/** Keeps two processes from using one folder at once. */
import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * Creates a folder if necessary, and locks it for this process until the lock is released or the process ends in any way.
 * @param what the part that uses it, for the message
 * @returns a function that releases the lock
 * @throws Error with the ID of the process that has the lock. Only Linux has such locks; elsewhere nothing is locked
 */
export async function lockFolder(folder: string, what: string): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A name in Linux' abstract socket namespace disappears with its process, so there are no stale lock files.
  if (process.platform !== 'linux') return () => Promise.resolve();
  const name = `\0curbcut-${createHash('sha256')
    .update(`${what}\n${realpathSync(folder)}`)
    .digest('hex')}`;
  const server = createServer((socket) => socket.on('error', () => undefined).end(String(process.pid), () => socket.destroy()));
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(name, resolve));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const holder = await text(connect({ path: name, signal: AbortSignal.timeout(1000) })).catch(() => '');
    const stop = holder === '' ? 'Stop it' : `Stop it with Ctrl-C or kill ${holder}`;
    throw new Error(`${what} is already running in ${folder}${holder && ` (process ${holder})`}. ${stop}, or use another folder.`, {
      cause: error,
    });
  }
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}
