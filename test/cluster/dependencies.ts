/** MongoDB, S3 and NATS for a product whose tests interrupt them: each keeps its address and its data. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { startObjects, type Objects } from '../../local/objects/objects.ts';

/** A dependency that tests can interrupt and restore. */
export interface Interruptible {
  interrupt(): Promise<void>;
  restore(): Promise<void>;
}

export interface Dependencies {
  environment: Record<string, string>;
  /** Interrupted with SIGSTOP: it accepts connections and never responds. */
  mongodb: Interruptible;
  /** Interrupted by closing its port. */
  objects: Interruptible;
  /** Interrupted by stopping nats-server. */
  nats: Interruptible;
  close(): Promise<void>;
}

const portOf = (url: string): number => Number(new URL(url).port);

export async function startDependencies(host: string, dir: string): Promise<Dependencies> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'documents-process.ts'), host, join(dir, 'documents')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [mongodbUrl] = (await once(createInterface(child.stdout), 'line')) as [string];

  const s3 = { accessKeyId: 'curbcut-test', secretAccessKey: 'curbcut-test-secret', bucket: 'curbcut' };
  let objects: Objects = await startObjects({ host, dataDir: join(dir, 'objects'), ...s3 });
  const objectsPort = portOf(objects.endpoint);
  let messages: Messages = await startMessages({ host, dataDir: join(dir, 'messages') });
  const messagesPort = portOf(messages.url);

  return {
    environment: {
      MONGODB_URL: mongodbUrl,
      S3_ENDPOINT: objects.endpoint,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: s3.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
      NATS_URL: messages.url,
      NATS_CREDENTIALS_FILE: messages.credentialsFile,
      NATS_SIGNING_SEED: messages.signingSeed,
    },
    mongodb: {
      interrupt: () => Promise.resolve(void child.kill('SIGSTOP')),
      restore: () => Promise.resolve(void child.kill('SIGCONT')),
    },
    objects: {
      interrupt: () => objects.close(),
      async restore() {
        objects = await startObjects({ host, port: objectsPort, dataDir: join(dir, 'objects'), ...s3 });
      },
    },
    nats: {
      interrupt: () => messages.close(),
      async restore() {
        messages = await startMessages({ host, port: messagesPort, dataDir: join(dir, 'messages') });
      },
    },
    async close() {
      child.kill('SIGCONT');
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
      await Promise.all([objects.close(), messages.close()]);
    },
  };
}
