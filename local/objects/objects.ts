/**
 * An object store for one machine that speaks S3: one bucket, path style, every request verified by AWS Signature
 * Version 4. For trying out, development and tests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDataFolder } from '../folder-lock.ts';
import { answer, type ObjectsContext } from './requests.ts';
import { openShelf } from './shelf.ts';

export interface Objects {
  /** `http://host:port`. */
  endpoint: string;
  close(): Promise<void>;
}

const MAX_OBJECT_BYTES = 512 * 1024 * 1024;

/**
 * Starts the store with its one bucket.
 * @param options.dataDir folder that keeps the objects; without it they are forgotten at the end
 * @param options.maxObjectBytes the largest object that is taken, by default 512 MiB
 * @param options.now the clock that signatures are judged by
 * @throws Error where another process uses the folder or the port is taken
 */
export async function startObjects(options: {
  host?: string;
  port?: number;
  dataDir?: string;
  accessKeyId: string;
  secretAccessKey: string;
  bucket: string;
  maxObjectBytes?: number;
  now?: () => Date;
}): Promise<Objects> {
  const { host = '127.0.0.1', port = 0, dataDir, accessKeyId, secretAccessKey, bucket } = options;
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const folder = realpathSync(dataDir ?? mkdtempSync(join(tmpdir(), 'curbcut-objects-')));
  const hold = await lockDataFolder(folder, 'object store');
  const context: ObjectsContext = {
    bucket,
    credentials: { accessKeyId, secretAccessKey },
    shelf: openShelf(folder),
    maxObjectBytes: options.maxObjectBytes ?? MAX_OBJECT_BYTES,
    now: options.now ?? (() => new Date()),
  };

  const server = createServer((request, response) => void answer(request, response, context, () => {}));
  // Who asks first whether the body is wanted is refused before it is sent.
  server.on(
    'checkContinue',
    (request: IncomingMessage, response: ServerResponse) => void answer(request, response, context, () => response.writeContinue()),
  );
  async function release(): Promise<void> {
    await hold.release();
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  }
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  } catch (error) {
    await release();
    throw error;
  }
  const address = server.address() as { port: number };

  return {
    endpoint: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await release();
    },
  };
}
