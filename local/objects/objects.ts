/**
 * An S3-compatible object store for one machine, with one bucket and path-style addresses. It verifies the AWS Signature
 * Version 4 of every request. For evaluation, development and tests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from '../folder-lock.ts';
import { handleRequest, type ObjectsContext } from './requests.ts';
import type { Credentials } from './signature.ts';
import { openStorage } from './storage.ts';
import { hostInUrl } from '../../platform/listen.ts';

export interface Objects {
  /** `http://host:port`. */
  endpoint: string;
  close(): Promise<void>;
}

const MAX_OBJECT_BYTES = 512 * 1024 * 1024;

/**
 * Starts the store with its one bucket.
 * @param options.dataDir the folder of the objects; without it they are deleted on close
 * @param options.maxObjectBytes the maximum size of an object, 512 MiB by default
 * @param options.session returns the credentials of a session, by their access key
 * @param options.now the clock for the verification of signatures
 * @throws Error if another process uses the folder or the port is in use
 */
export async function startObjects(options: {
  host?: string;
  port?: number;
  dataDir?: string;
  accessKeyId: string;
  secretAccessKey: string;
  bucket: string;
  maxObjectBytes?: number;
  session?: (accessKeyId: string) => Credentials | undefined;
  now?: () => Date;
}): Promise<Objects> {
  const { host = '127.0.0.1', port = 0, dataDir, accessKeyId, secretAccessKey, bucket } = options;
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'curbcut-objects-'));
  const unlock = await lockFolder(folder, 'The object store');
  const context: ObjectsContext = {
    bucket,
    credentialsOf: (id) => (id === accessKeyId ? { accessKeyId, secretAccessKey } : options.session?.(id)),
    storage: openStorage(folder),
    maxObjectBytes: options.maxObjectBytes ?? MAX_OBJECT_BYTES,
    now: options.now ?? (() => new Date()),
  };

  const server = createServer((request, response) => void handleRequest(request, response, context, () => {}));
  // A client that sends "Expect: 100-continue" receives an error before it sends the body.
  server.on(
    'checkContinue',
    (request: IncomingMessage, response: ServerResponse) => void handleRequest(request, response, context, () => response.writeContinue()),
  );
  async function release(): Promise<void> {
    await unlock();
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
    endpoint: `http://${hostInUrl(host)}:${address.port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await release();
    },
  };
}
