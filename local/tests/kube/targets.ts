/** The APIs that a test runs on: an embedded one and, if KUBECONFIG is set, a real cluster. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startKube, type Kube, type KubeOptions } from '../../kube/kube.ts';
import { clientOf, eventually, type Client } from './client.ts';
import { DEFINITION, definitionFile, widgets } from './widgets.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface Embedded {
  kube: Kube;
  client: Client;
  kubeconfigPath: string;
  /** A folder for the test, removed at its end. */
  folder: string;
  close(): Promise<void>;
}

/** Starts an embedded API with the definition of widgets. */
export async function openEmbedded(namespace: string, options: Partial<KubeOptions> = {}): Promise<Embedded> {
  const { folder, file } = definitionFile();
  const kubeconfigPath = join(folder, 'kubeconfig');
  const kube = await startKube({ kubeconfigPath, namespace, crds: [file], ...options }).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const client = clientOf(kubeconfigPath);
  return {
    kube,
    client,
    kubeconfigPath,
    folder,
    async close() {
      client.close();
      await kube.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Targets {
  embedded: Client;
  real: Client | undefined;
  close(): Promise<void>;
}

/** Opens both APIs, with the namespace and the definition of widgets. */
export async function openTargets(namespace: string, options: Partial<KubeOptions> = {}): Promise<Targets> {
  const embedded = await openEmbedded(namespace, options);
  const kubeconfig = process.env['KUBECONFIG'];
  const real = kubeconfig === undefined ? undefined : clientOf(kubeconfig);
  if (real !== undefined) {
    await real.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    // The definition of an earlier test may still be terminating.
    await eventually('the definition to be made', async () =>
      (await real.call('POST', DEFINITIONS, DEFINITION)).code === 201 ? true : undefined,
    );
    await eventually('the definition to be served', async () =>
      (await real.call('GET', widgets(namespace))).code === 200 ? true : undefined,
    );
    // Pods are rejected until the controllers have created the default service account.
    await eventually('the default service account', async () =>
      (await real.call('GET', `/api/v1/namespaces/${namespace}/serviceaccounts/default`)).code === 200 ? true : undefined,
    );
  }
  return {
    embedded: embedded.client,
    real,
    async close() {
      await embedded.close();
      await real?.call('DELETE', `${DEFINITIONS}/${DEFINITION.metadata.name}`);
      await real?.call('DELETE', `/api/v1/namespaces/${namespace}`);
      real?.close();
    },
  };
}
