/**
 * Starts the services that Curbcut needs on one machine: Kubernetes, documents, objects, messages and a mail catcher. A part is
 * not started if the address of a real service is configured. For trying out and for tests, not for production.
 */
import { readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SCANNER_PROGRAM } from '../core/protocol/scanner-program.ts';
import type { Logger } from '../platform/logger.ts';
import { startDocuments } from './documents/documents.ts';
import { startKube } from './kube/kube.ts';
import { startMail } from './mail/mail.ts';
import { startMessages } from './messages/messages.ts';
import { startObjects } from './objects/objects.ts';
import { loadOrCreateSecret } from './secret.ts';

const ROOT = join(import.meta.dirname, '..');
export const CRDS = readdirSync(join(ROOT, 'helm', 'crds'))
  .toSorted()
  .map((name) => join(ROOT, 'helm', 'crds', name));

/** The scanner's image on the embedded Kubernetes, which runs the program instead of an image. */
export const LOCAL_SCANNER_IMAGE = 'curbcut/scanner:local';

const [heap, main] = SCANNER_PROGRAM;
const SCANNER_COMMAND = [process.execPath, heap, join(ROOT, main)];

export interface StackOptions {
  /** The folder of the state, which survives a restart. */
  dataDir: string;
  /** The configured addresses. A part whose address is set is not started. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The address to listen on, which pods must reach. Default: loopback. */
  host?: string;
  /** The port of the embedded Kubernetes. Default: any free port. */
  kubePort?: number;
  /** The port of the mail catcher's inbox. Default: any free port. */
  inboxPort?: number;
  /** Additional environment variables of every pod, for tests. */
  podEnvironment?: Record<string, string>;
  logger: Logger;
}

export interface Stack {
  /** Environment variables with the addresses, for API and operator. */
  environment: Record<string, string>;
  /** The embedded parts, for display. */
  embedded: string[];
  /** The address of the mail catcher's inbox. Null with a real mail server. */
  inboxUrl: string | null;
  close(): Promise<void>;
}

/** Starts every part whose address is not configured. If one fails, the others are stopped before the error is thrown. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { dataDir, environment: given, host = '127.0.0.1', logger } = options;
  const environment: Record<string, string> = {};
  const embedded: string[] = [];
  let inboxUrl: string | null = null;
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
            [LOCAL_SCANNER_IMAGE]: { command: SCANNER_COMMAND, env: podEnvironment(options) },
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
        const secretAccessKey = await loadOrCreateSecret(join(dataDir, 'objects.secret'));
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
    if (!given.SMTP_URL) {
      start('mail', async () => {
        // On loopback: pods send no mails.
        const mail = await startMail({ httpPort: options.inboxPort });
        closers.push(() => mail.close());
        environment.SMTP_URL = mail.smtpUrl;
        // Their results go to the inbox of this machine only.
        environment.PUBLIC_SCANS = given.PUBLIC_SCANS ?? 'true';
        inboxUrl = mail.inboxUrl;
      });
    }
    // Wait for every start, so that after a failure no other part keeps running.
    const outcomes = await Promise.allSettled(starts);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    return { environment, embedded, inboxUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Pods of the embedded Kubernetes are local processes, which need the PATH to find the browser. */
function podEnvironment(options: StackOptions): Record<string, string> {
  const passed = ['PATH', 'HOME', 'CHROMIUM_PATH', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const value = options.environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // Compiling is half of a pod's start-up time. The image contains a compile cache; here pods share one.
  return { ...Object.fromEntries(passed), NODE_COMPILE_CACHE: join(options.dataDir, 'compile-cache'), ...options.podEnvironment };
}
