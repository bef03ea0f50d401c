/**
 * A Kubernetes for one machine: a small API server that works with kubectl, a Job controller, a garbage collector, and a
 * kubelet that runs pods as local processes. For trying out, development and fast tests, not for production.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from '../../platform/logger.ts';
import { lockFolder } from '../folder-lock.ts';
import { type Catalogue, openCatalogue } from './resources/builtins.ts';
import { readDefinitions } from './resources/crd.ts';
import { kubeconfigOf, loadCredentials } from './credentials.ts';
import { createApiServer } from './api-server/http.ts';
import { memoryJournal, openJournal, openStore, type Store } from './store.ts';
import { openRegistry, type Registry } from './registry/registry.ts';
import { type Faults, openRequests } from './api-server/requests.ts';
import { openapiDocument } from './api-server/discovery.ts';
import { startGarbageCollector } from './controllers/garbage-collector.ts';
import { startJobController } from './controllers/jobs.ts';
import { startKubelet } from './kubelet/kubelet.ts';
import { streamLog } from './kubelet/pod-logs.ts';
import type { Json, Pod } from './types.ts';

export interface KubeOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** The folder of the state; without it nothing is kept. */
  dataDir?: string;
  /** The file to write the kubeconfig to, readable by its owner only. */
  kubeconfigPath: string;
  /** The namespace of the kubeconfig's context; created if it does not exist. Default `default`. */
  namespace?: string;
  /** YAML files with CustomResourceDefinitions. */
  crds: string[];
  /** The local process to run instead of each image. Use absolute paths, because each pod has its own working directory. */
  images?: Record<string, { command: string[]; env?: Record<string, string> }>;
  /** The back-off before the first failed pod of a Job is replaced; doubled each time. Default 1 s (a real cluster: 10 s). */
  jobBackoffMs?: number;
  logger?: Logger;
}

export interface Kube {
  url: string;
  token: string;
  /** The content of the kubeconfig. */
  kubeconfig: string;
  /** What a test breaks; nothing at first. */
  faults: Faults;
  /** Stops all pods, watches and the server. */
  close(): Promise<void>;
}

const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
};

interface Objects {
  store: Store;
  catalogue: Catalogue;
  objects: Registry;
}

/** Opens the stored objects, and creates or updates the namespaces and the definitions. */
function openObjects({ dataDir, namespace = 'default', crds }: KubeOptions, now: () => Date): Objects {
  const store = openStore(dataDir === undefined ? memoryJournal() : openJournal(dataDir));
  const catalogue = openCatalogue(store);
  const objects = openRegistry(store, now);
  for (const name of new Set(['default', 'kube-system', namespace]))
    if (store.get('/namespaces', '', name) === undefined) objects.create(catalogue.named('', 'namespaces'), '', { metadata: { name } });
  const definitions = catalogue.named('apiextensions.k8s.io', 'customresourcedefinitions');
  for (const definition of crds.flatMap(readDefinitions)) {
    const { name } = definition.metadata;
    if (store.get(definitions.storage, '', name) === undefined) objects.create(definitions, '', definition as unknown as Json);
    else objects.update(definitions, '', name, (old) => ({ ...old, spec: definition['spec'] }) as unknown as Json);
  }
  return { store, catalogue, objects };
}

/** @returns the URL of the server */
async function listen(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const address = server.address() as AddressInfo;
  return `https://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

function writeKubeconfig(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode: 0o600 });
  chmodSync(path, 0o600);
}

/** @throws Error if another process uses the folder, a definition is invalid or the port is in use */
export async function startKube(options: KubeOptions): Promise<Kube> {
  const { host = '127.0.0.1', port = 0, dataDir, images = {}, jobBackoffMs: backoffBaseMs = 1000, logger = SILENT } = options;
  const now = (): Date => new Date();
  const unlock = dataDir === undefined ? null : await lockFolder(dataDir, 'The embedded Kubernetes');
  const { store, catalogue, objects } = openObjects(options, now);
  const requests = openRequests({ store, objects, now });
  const credentials = loadCredentials(dataDir, [...new Set([host, '127.0.0.1', '::1', 'localhost'])], now());
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'curbcut-kube-'));
  const deps = { store, objects, catalogue, now, logger };
  const stopCollector = startGarbageCollector(deps);
  const stopJobs = startJobController({ ...deps, backoffBaseMs });
  const kubelet = startKubelet({ ...deps, images, folder });
  const pods = catalogue.named('', 'pods');
  const server = createApiServer({
    ...credentials,
    catalogue,
    requests,
    openapi: (path) => openapiDocument(catalogue.all(), path),
    streamLog(namespace, name, query, response) {
      objects.get(pods, namespace, name);
      streamLog(() => store.get(pods.storage, namespace, name) as Pod | undefined, kubelet.logPath, query, response);
    },
    logger,
  });
  async function close(): Promise<void> {
    stopJobs();
    await kubelet.close();
    stopCollector();
    requests.close();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    store.close();
    await unlock?.();
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  }

  try {
    const url = await listen(server, host, port);
    const kubeconfig = kubeconfigOf(url, credentials, options.namespace ?? 'default');
    writeKubeconfig(options.kubeconfigPath, kubeconfig);
    logger.info({ url }, 'embedded Kubernetes started');
    return { url, token: credentials.token, kubeconfig, faults: requests.faults, close };
  } catch (error) {
    await close();
    throw error;
  }
}
