/**
 * Starts the services that Curbcut needs on one machine: Kubernetes, documents, objects, messages and a mail catcher. A part is
 * not started if the address of a real service is configured. For trying out and for tests, not for production.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';
import { SCANNER_PROGRAM } from '../core/protocol/scanner-program.ts';
import type { Logger } from '../platform/logger.ts';
import { startDocuments } from './documents/documents.ts';
import { startKube } from './kube/kube.ts';
import { startMail } from './mail/mail.ts';
import { startMessages } from './messages/messages.ts';
import { startObjects } from './objects/objects.ts';
import { loadOrCreateSecret } from './secret.ts';

const ROOT = join(import.meta.dirname, '..');
export const CRDS = readdirSync(join(ROOT, 'crds'))
  .toSorted()
  .map((name) => join(ROOT, 'crds', name));

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

interface Started {
  close(): Promise<void>;
  environment: Record<string, string>;
  inboxUrl?: string;
}

interface Part {
  /** The environment variable with the address of the real service, which replaces the part. */
  replacedBy: string;
  name: string;
  start(options: StackOptions): Promise<Started>;
}

const LOOPBACK = '127.0.0.1';

const PARTS: readonly Part[] = [
  {
    replacedBy: 'KUBECONFIG',
    name: 'Kubernetes API',
    async start(options) {
      const kubeconfigPath = join(options.dataDir, 'kubeconfig');
      const kube = await startKube({
        host: options.host ?? LOOPBACK,
        port: options.kubePort ?? 0,
        dataDir: join(options.dataDir, 'kube'),
        kubeconfigPath,
        namespace: DEFAULT_NAMESPACE,
        crds: CRDS,
        images: {
          [LOCAL_SCANNER_IMAGE]: { command: SCANNER_COMMAND, env: podEnvironment(options) },
        },
        logger: options.logger,
      });
      return { ...kube, environment: { KUBECONFIG: kubeconfigPath, SCANNER_IMAGE: LOCAL_SCANNER_IMAGE } };
    },
  },
  {
    replacedBy: 'MONGODB_URL',
    name: 'documents',
    async start({ host = LOOPBACK, dataDir }) {
      const documents = await startDocuments({ host, dataDir: join(dataDir, 'documents') });
      return { ...documents, environment: { MONGODB_URL: documents.url } };
    },
  },
  {
    replacedBy: 'NATS_URL',
    name: 'messages (nats-server)',
    async start({ host = LOOPBACK, dataDir }) {
      const messages = await startMessages({ host, dataDir: join(dataDir, 'messages') });
      return {
        ...messages,
        environment: {
          NATS_URL: messages.url,
          NATS_CREDENTIALS_FILE: messages.credentialsFile,
          NATS_SIGNING_SEED: messages.signingSeed,
        },
      };
    },
  },
  {
    replacedBy: 'S3_ENDPOINT',
    name: 'objects',
    async start({ host = LOOPBACK, dataDir }) {
      const accessKeyId = 'curbcut-local';
      const bucket = 'curbcut';
      const secretAccessKey = await loadOrCreateSecret(join(dataDir, 'objects.secret'));
      const objects = await startObjects({ host, dataDir: join(dataDir, 'objects'), accessKeyId, secretAccessKey, bucket });
      return {
        ...objects,
        environment: {
          S3_ENDPOINT: objects.endpoint,
          S3_BUCKET: bucket,
          S3_ACCESS_KEY_ID: accessKeyId,
          S3_SECRET_ACCESS_KEY: secretAccessKey,
        },
      };
    },
  },
  {
    replacedBy: 'SMTP_URL',
    name: 'mail',
    async start({ inboxPort, environment: given, host = LOOPBACK }) {
      const mail = await startMail({ host, httpPort: inboxPort });
      // The results of public scans go to the inbox of this machine only.
      return { ...mail, environment: { SMTP_URL: mail.smtpUrl, PUBLIC_SCANS: given.PUBLIC_SCANS ?? 'true' } };
    },
  },
];

/** Starts every part whose address is not configured. If one fails, the others are stopped before the error is thrown. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const parts = PARTS.filter(({ replacedBy }) => !options.environment[replacedBy]);
  const started: Started[] = [];
  const close = async (): Promise<void> => {
    for (const part of started.splice(0).reverse()) await part.close();
  };
  // Wait for every start, so that after a failure no other part keeps running.
  const outcomes = await Promise.allSettled(parts.map(async (part) => started.push(await part.start(options))));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    await close();
    throw failed.reason;
  }
  return {
    environment: Object.assign({}, ...started.map(({ environment }) => environment)) as Record<string, string>,
    embedded: parts.map(({ name }) => name),
    inboxUrl: started.find(({ inboxUrl }) => inboxUrl)?.inboxUrl ?? null,
    close,
  };
}

/** Pods of the embedded Kubernetes are local processes, which need the PATH to find the browser. */
function podEnvironment(options: StackOptions): Record<string, string> {
  const passed = ['PATH', 'HOME', 'CHROMIUM_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = options.environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // Compiling is half of a pod's start-up time. The image contains a compile cache; here pods share one.
  return { NODE_COMPILE_CACHE: join(options.dataDir, 'compile-cache'), ...Object.fromEntries(passed) };
}
