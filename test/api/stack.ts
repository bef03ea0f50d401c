/**
 * The embedded stack that all API tests of a run share. The first test that needs it starts it; it is stopped after the
 * last. MONGODB_URL replaces the document store; each context has its own database, which is dropped at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKube, type Kube } from '../../local/kube/kube.ts';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { CRDS } from '../../local/stack.ts';
import { openDatabaseServer, type DatabaseServer } from '../support/databases.ts';
import { DEFAULT_NAMESPACE } from '../../core/protocol/custom-resources.ts';

export const NAMESPACE = DEFAULT_NAMESPACE;

export interface Stack {
  folder: string;
  databases: DatabaseServer;
  objects: Awaited<ReturnType<typeof startObjects>>;
  kube: Kube;
  kubeconfig: string;
  messages: Messages | null;
}
let stack: Promise<Stack> | null = null;

async function startStack(): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-api-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const [databases, objects, kube] = await Promise.all([
    openDatabaseServer(),
    startObjects({ dataDir: join(folder, 'objects'), accessKeyId: 'test', secretAccessKey: 'test-secret', bucket: 'curbcut' }),
    startKube({ kubeconfigPath: kubeconfig, namespace: NAMESPACE, crds: CRDS }),
  ]);
  return { folder, databases, objects, kube, kubeconfig, messages: null };
}

/** Returns the stack of this run. */
export function sharedStack(): Promise<Stack> {
  stack ??= startStack();
  return stack;
}

/** The environment that a process of Curbcut needs to use the stack. */
export async function environmentOf(): Promise<Record<string, string>> {
  const { databases, objects, kubeconfig } = await sharedStack();
  return {
    MONGODB_URL: databases.newDatabase(),
    KUBECONFIG: kubeconfig,
    S3_ENDPOINT: objects.endpoint,
    S3_BUCKET: 'curbcut',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
  };
}

/** Returns the nats-server of the stack. The first call starts it. */
export async function messagesOf(shared: Stack): Promise<Messages> {
  shared.messages ??= await startMessages({ dataDir: join(shared.folder, 'messages') });
  return shared.messages;
}

after('stop the embedded stack', async function () {
  if (stack === null) return;
  const { folder, databases, objects, kube, messages } = await stack;
  await Promise.all([databases.close(), objects.close(), kube.close(), messages?.close()]);
  await rm(folder, { recursive: true, force: true });
});
