/** A new object store for each test, and the SDK's client for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { startObjects, type Objects } from '../../objects/objects.ts';

export const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret/with+signs' };
export const Bucket = 'curbcut';
export const MAX_BYTES = 3_000_000;

export interface ObjectStore {
  folder: string;
  objects: Objects;
  client: S3Client;
  /** How far the store's clock is ahead of the test's, in milliseconds. */
  clockAhead: number;
  /** Starts the store on its folder. Works again after `objects.close()`. */
  start(): Promise<void>;
  clientWith(options?: S3ClientConfig): S3Client;
  put(key: string, body: string | Uint8Array, more?: object): Promise<{ ETag?: string }>;
  text(key: string): Promise<string>;
  /** The name of the error that the attempt throws, or `none`. */
  errorName(attempt: Promise<unknown>): Promise<string>;
  /** The status and the error code of a response. */
  code(response: Response): Promise<string>;
}

/** Starts a store before each test of the calling suite and closes it afterwards. */
export function objectStore(): ObjectStore {
  const open: S3Client[] = [];
  const store: ObjectStore = {
    folder: '',
    objects: undefined as never,
    client: undefined as never,
    clockAhead: 0,
    async start() {
      const now = (): Date => new Date(Date.now() + store.clockAhead);
      store.objects = await startObjects({ dataDir: store.folder, bucket: Bucket, ...credentials, maxObjectBytes: MAX_BYTES, now });
      store.client = store.clientWith();
    },
    clientWith(options = {}) {
      const made = new S3Client({
        endpoint: store.objects.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        maxAttempts: 1,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
        credentials,
        ...options,
      });
      open.push(made);
      return made;
    },
    put: (Key, Body, more = {}) => store.client.send(new PutObjectCommand({ Bucket, Key, Body, ...more })),
    text: async (Key) => (await store.client.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToString(),
    errorName: (attempt) =>
      attempt.then(
        () => 'none',
        (error: Error) => error.name,
      ),
    code: async (response) => `${response.status} ${/<Code>(\w+)</.exec(await response.text())?.[1] ?? ''}`.trim(),
  };

  beforeEach(async () => {
    store.clockAhead = 0;
    store.folder = mkdtempSync(join(tmpdir(), 'objects-'));
    await store.start();
  });
  afterEach(async () => {
    for (const made of open.splice(0)) made.destroy();
    await store.objects.close();
    rmSync(store.folder, { recursive: true, force: true });
  });
  return store;
}
