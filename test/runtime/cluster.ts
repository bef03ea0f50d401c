/** A Kubernetes API for the runtime's tests: the cluster of `KUBECONFIG` if it is set, else the embedded one. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { startKube } from '../../local/kube/kube.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { opened } from '../support/opened.ts';
import { startProxy, type Proxy } from './proxy.ts';

export const CONFIGMAPS = { group: '', version: 'v1', plural: 'configmaps' };
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };

export interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export interface TestCluster {
  /** Path of a kubeconfig. */
  kubeconfig: string;
  connection: KubernetesConnection;
  /** Opens another connection, through a proxy with which the test can break it. */
  breakable(): Promise<{ connection: KubernetesConnection; proxy: Proxy }>;
  /** Creates a namespace, which `close` deletes. */
  namespace(): Promise<string>;
  close(): Promise<void>;
}

interface KubeconfigFile {
  clusters: { name: string; cluster: { server: string; 'tls-server-name'?: string } }[];
}

/** Writes a kubeconfig for the same API server through a proxy with which a test can break the connection. */
export async function detour(kubeconfig: string, folder: string): Promise<{ path: string; proxy: Proxy }> {
  const file = parse(await readFile(kubeconfig, 'utf8')) as KubeconfigFile;
  const { cluster } = file.clusters[0]!;
  const server = new URL(cluster.server);
  const proxy = await startProxy(server.hostname, Number(server.port || 443));
  // The certificate contains the server's address, not the proxy's. A cluster's certificate also contains this service name.
  const loopback = ['127.0.0.1', 'localhost'].includes(server.hostname);
  if (!loopback) cluster['tls-server-name'] ??= isIP(server.hostname) ? 'kubernetes.default.svc' : server.hostname;
  server.host = `127.0.0.1:${proxy.port}`;
  cluster.server = server.href;
  const path = join(folder, randomUUID());
  await writeFile(path, stringify(file), { mode: 0o600 });
  return { path, proxy };
}

/** @param crds the files of custom resource definitions on the embedded API. `make test-cluster` applies those of the product */
export async function openCluster(crds: string[] = []): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-runtime-'));
  const closers: (() => Promise<unknown>)[] = [];
  let kubeconfig = process.env['KUBECONFIG'];
  if (!kubeconfig) {
    kubeconfig = join(folder, 'kubeconfig');
    const kube = await startKube({ kubeconfigPath: kubeconfig, crds });
    closers.push(() => kube.close());
  }
  const connection = connectKubernetes({ kubeconfig });
  closers.unshift(() => connection.close());

  return {
    kubeconfig,
    connection,
    async breakable() {
      const { path, proxy } = await detour(kubeconfig, folder);
      const through = connectKubernetes({ kubeconfig: path });
      closers.unshift(async () => {
        await through.close();
        await proxy.close();
      });
      return { connection: through, proxy };
    },
    async namespace() {
      const name = `curbcut-runtime-${randomUUID().slice(0, 8)}`;
      await connection.request('POST', connection.path(NAMESPACES), {
        body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      });
      closers.unshift(() => connection.request('DELETE', connection.path(NAMESPACES, undefined, name)));
      return name;
    },
    async close() {
      for (const close of closers) await close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Writes ConfigMaps directly, not through the proxy. */
export function configMaps(connection: KubernetesConnection, namespace: string, labels: Record<string, string> = { test: 'runtime' }) {
  const path = (name: string) => connection.path(CONFIGMAPS, namespace, name);
  return {
    create: (name: string, value: string) =>
      connection.request<ConfigMap>('POST', connection.path(CONFIGMAPS, namespace), {
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data: { value } },
      }),
    get: (name: string) => connection.request<ConfigMap>('GET', path(name)),
    set: (name: string, value: string) =>
      connection.request<ConfigMap>('PATCH', path(name), { contentType: 'application/merge-patch+json', body: { data: { value } } }),
    remove: (name: string) => connection.request('DELETE', path(name)),
  };
}

/** Waits until `look` returns a truthy value. Only a failing test reaches the deadline. */
export async function until<T>(what: string, look: () => T | Promise<T>, deadlineMs = 60_000): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > end) throw new Error(`waited ${deadlineMs / 1000} s for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Opens a cluster for the tests of the current suite. */
export const useCluster = (): TestCluster => opened(openCluster);
