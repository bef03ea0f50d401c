/**
 * An in-memory document store for one machine that speaks MongoDB's wire protocol and answers the product's commands as
 * MongoDB 4.4 does. For trying out, development and tests. It has no authentication: listen on loopback only.
 */
import { createServer, type Socket } from 'node:net';
import { realpathSync, mkdirSync } from 'node:fs';
import { lockDataFolder } from '../folder-lock.ts';
import { answer } from './commands/commands.ts';
import { openCursors } from './commands/cursors.ts';
import { openStore } from './storage/store.ts';
import { requestReader, writeAnswer } from './wire.ts';

export interface Documents {
  /** A connection string for the driver. */
  url: string;
  close(): Promise<void>;
}

const SWEEP_MS = 2000;

/**
 * Starts the store.
 * @param options.dataDir folder of the change log; without it nothing is kept
 * @throws Error if another process uses the folder, or its log is damaged
 */
export async function startDocuments(options: { host?: string; port?: number; dataDir?: string } = {}): Promise<Documents> {
  const { host = '127.0.0.1', port = 0, dataDir } = options;
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const hold = dataDir === undefined ? null : await lockDataFolder(realpathSync(dataDir), 'document store');
  const store = openStore(dataDir ?? null);
  const cursors = openCursors();
  const sockets = new Set<Socket>();
  let connections = 0;
  let responses = 0;

  const sweeper = setInterval(() => {
    const now = new Date();
    store.sweep(now);
    store.settle();
    cursors.sweep(now.getTime());
  }, SWEEP_MS);
  sweeper.unref();

  const server = createServer((socket) => {
    const connectionId = ++connections;
    const read = requestReader();
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      try {
        for (const request of read(bytes)) {
          const given = answer(request.command, { store, cursors, now: new Date(), database: request.database, connectionId });
          if (!request.silent) socket.write(writeAnswer(request, given, ++responses));
        }
      } catch {
        socket.destroy(); // Not a message: the rest of the stream cannot be parsed.
      }
    });
  });
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  } catch (error) {
    clearInterval(sweeper);
    store.close();
    await hold?.release();
    throw error;
  }
  const address = server.address() as { port: number };

  return {
    url: `mongodb://${host.includes(':') ? `[${host}]` : host}:${address.port}/?directConnection=true`,
    async close() {
      clearInterval(sweeper);
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      store.close();
      await hold?.release();
    },
  };
}
