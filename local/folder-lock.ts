/** Keeps two processes from using one data folder at once. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Locks a folder for this process until it releases the lock or ends in any way.
 * @param folder its real path
 * @param what the part that uses it, for the message
 * @throws Error if another process has the lock
 */
export async function lockDataFolder(folder: string, what: string): Promise<{ release(): Promise<void> }> {
  // A name in Linux' abstract socket namespace disappears with its process, so there are no stale lock files.
  if (process.platform !== 'linux') return { release: () => Promise.resolve() };
  const name = `\0curbcut-${createHash('sha256').update(`${what}\n${folder}`).digest('hex')}`;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`The ${what} in ${folder} is in use by another process. Stop that process, or use another folder.`)
          : error,
      ),
    );
    server.listen(name, resolve);
  });
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}
