/** Keeps two processes from using one data folder at once. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Holds a folder for this process until it releases it or ends, however it ends.
 * @param folder its real path
 * @param what holds it, for the message
 * @throws Error where another process holds it
 */
export async function holdDataFolder(folder: string, what: string): Promise<{ release(): Promise<void> }> {
  // A name in Linux' abstract socket namespace goes with its process, so there is no stale lock file to judge.
  if (process.platform !== 'linux') return { release: () => Promise.resolve() };
  const name = `\0curbcut-${createHash('sha256').update(`${what}\n${folder}`).digest('hex')}`;
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`The ${what} in ${folder} is in use by another process; end that one, or use another folder.`)
          : error,
      ),
    );
    server.listen(name, resolve);
  });
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}
