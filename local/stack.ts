/**
 * Starts what Curbcut stands on, on one machine: a Kubernetes API, documents, objects, messages and a demo site.
 * Each part gives way to the real one whose address is configured. For trying out and for tests, never for production.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../platform/logger.ts';
import { startDocuments } from './documents/documents.ts';
import { startKube } from './kube/kube.ts';
import { startMessages } from './messages/messages.ts';
import { startObjects } from './objects/objects.ts';
import { loadOrMakeSecret } from './secret.ts';

const ROOT = join(import.meta.dirname, '..');
export const CRDS = ['accessibilityscans', 'scanqueues'].map((name) => join(ROOT, 'crds', `${name}.yaml`));

/** The name under which the embedded Kubernetes knows the scanner: it runs the program where a cluster would run the image. */
export const LOCAL_SCANNER_IMAGE = 'curbcut/scanner:local';

export interface StackOptions {
  /** Where state is kept; it survives a restart. */
  dataDir: string;
  /** What is configured already; a part whose address is in it is not started. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The address that the parts listen on; pods must reach it. Default loopback. */
  host?: string;
  /** The embedded Kubernetes' port; 0 or absent: any free one. */
  kubePort?: number;
  /** Variables that every pod of the embedded Kubernetes gets, for tests. */
  podEnvironment?: Record<string, string>;
  logger: Logger;
}

export interface Stack {
  /** The addresses, as API and operator read them. */
  environment: Record<string, string>;
  /** Which parts are embedded, in plain words. */
  embedded: string[];
  close(): Promise<void>;
}

/** Starts every part that is not configured. On a failure, what was started is ended before the error is thrown. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { dataDir, environment: given, host = '127.0.0.1', logger } = options;
  const environment: Record<string, string> = {};
  const embedded: string[] = [];
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  const folder = async (name: string): Promise<string> => {
    const path = join(dataDir, name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  };

  try {
    const starts: Promise<void>[] = [];
    const start = (name: string, begin: () => Promise<void>): void => {
      embedded.push(name);
      starts.push(begin());
    };
    if (!given.KUBECONFIG) {
      start('Kubernetes API', async () => {
        const kube = await startKube({
          host: '127.0.0.1',
          port: options.kubePort ?? 0,
          dataDir: await folder('kube'),
          kubeconfigPath: join(dataDir, 'kubeconfig'),
          namespace: 'curbcut',
          crds: CRDS,
          images: {
            [LOCAL_SCANNER_IMAGE]: { command: [process.execPath, join(ROOT, 'scanner-image', 'main.ts')], env: podEnvironment(options) },
          },
          logger,
        });
        closers.push(() => kube.close());
        environment.KUBECONFIG = join(dataDir, 'kubeconfig');
        environment.SCANNER_IMAGE = LOCAL_SCANNER_IMAGE;
      });
    }
    if (!given.MONGODB_URL) {
      start('documents', async () => {
        const documents = await startDocuments({ host, dataDir: await folder('documents') });
        closers.push(() => documents.close());
        environment.MONGODB_URL = documents.url;
      });
    }
    if (!given.NATS_URL) {
      start('messages (nats-server)', async () => {
        const messages = await startMessages({ host, dataDir: await folder('messages') });
        closers.push(() => messages.close());
        environment.NATS_URL = messages.url;
        environment.NATS_CREDENTIALS_FILE = messages.credentialsFile;
        environment.NATS_SIGNING_SEED = messages.signingSeed;
      });
    }
    if (!given.S3_ENDPOINT) {
      start('objects', async () => {
        const accessKeyId = 'curbcut-local';
        const secretAccessKey = await loadOrMakeSecret(join(dataDir, 'objects.secret'));
        const objects = await startObjects({ host, dataDir: await folder('objects'), accessKeyId, secretAccessKey, bucket: 'curbcut' });
        closers.push(() => objects.close());
        Object.assign(environment, {
          S3_ENDPOINT: objects.endpoint,
          S3_BUCKET: 'curbcut',
          S3_ACCESS_KEY_ID: accessKeyId,
          S3_SECRET_ACCESS_KEY: secretAccessKey,
        });
      });
    }
    // Every start is waited for, so that a failure of one leaves no other running behind our back.
    const outcomes = await Promise.allSettled(starts);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return { environment, embedded, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Pods of the embedded Kubernetes are processes of this machine, so they need its PATH to find the browser. */
function podEnvironment(options: StackOptions): Record<string, string> {
  const passed = ['PATH', 'HOME', 'CHROMIUM_PATH', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const value = options.environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // Half of a pod's start is compiling; the image ships its cache, here it is kept from pod to pod.
  return { ...Object.fromEntries(passed), NODE_COMPILE_CACHE: join(options.dataDir, 'compile-cache'), ...options.podEnvironment };
}
