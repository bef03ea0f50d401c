/** `kubectl curbcut` with the real kubectl on the embedded Kubernetes, for tests. The test plays the operator. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { AccessibilityScan, AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import { startKube } from '../../../local/kube/kube.ts';
import { CRDS } from '../../../local/stack.ts';
import { connectKubernetes } from '../../../platform/kubernetes/connection.ts';
import type { ResourceType } from '../../../platform/kubernetes/kubernetes.ts';
import { opened } from '../../support/opened.ts';
import { curbcut, type Output } from '../service.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const MERGE = 'application/merge-patch+json';
export const SCANS: ResourceType = { group: 'curbcut.dev', version: 'v1', plural: 'accessibilityscans' };
export const QUEUES: ResourceType = { ...SCANS, plural: 'scanqueues' };
export const SCHEDULES: ResourceType = { ...SCANS, plural: 'scanschedules' };

export interface Cluster {
  folder: string;
  namespace: string;
  /** The variables that kubectl needs. */
  environment: Record<string, string | undefined>;
  /** Runs `kubectl curbcut` in this process. */
  plugin(args: readonly string[], options?: Parameters<typeof curbcut>[1]): Promise<Output>;
  /** Runs the real kubectl, which finds the plugin in PATH. */
  kubectl(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  create(type: ResourceType, body: object): Promise<void>;
  get<T>(type: ResourceType, name: string): Promise<T>;
  /** Patches the status, as the operator does. */
  setStatus(type: ResourceType, name: string, status: object): Promise<void>;
  remove(type: ResourceType, name: string): Promise<void>;
  /** Waits until the only scan of the namespace satisfies the condition. */
  scan(satisfies?: (scan: AccessibilityScan) => boolean): Promise<AccessibilityScan>;
  /** Stops the API server, and starts it again on the same port. */
  restart(whileDown?: () => Promise<void>): Promise<void>;
  /** Deletes everything in the namespace. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function openCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-plugin-'));
  const kubeconfigPath = join(folder, 'kubeconfig');
  const namespace = 'shop';
  const dataDir = join(folder, 'kube');
  await mkdir(dataDir);
  const start = (port: number) => startKube({ kubeconfigPath, namespace, dataDir, port, crds: CRDS });
  let kube = await start(0);
  const port = Number(new URL(kube.url).port);
  const connection = connectKubernetes({ kubeconfig: kubeconfigPath });
  const environment: Record<string, string | undefined> = {
    PATH: [join(ROOT, 'bin'), process.env['PATH']].join(delimiter),
    HOME: folder,
    KUBECONFIG: kubeconfigPath,
    KUBECACHEDIR: join(folder, 'cache'),
  };
  const patch = (type: ResourceType, name: string, body: object, subresource?: string): Promise<unknown> =>
    connection.request('PATCH', `${connection.path(type, namespace, name)}${subresource === undefined ? '' : `/${subresource}`}`, {
      contentType: MERGE,
      body,
    });
  const list = async <T>(type: ResourceType): Promise<T[]> =>
    (await connection.request<{ items: T[] }>('GET', connection.path(type, namespace))).items;
  return {
    folder,
    namespace,
    environment,
    plugin: (args, options = {}) =>
      curbcut(args, { program: 'kubectl curbcut', newId: randomUUID, ...options, environment: { ...environment, ...options.environment } }),
    kubectl: (...args) =>
      new Promise((resolve) => {
        execFile('kubectl', args, { env: environment }, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
        );
      }),
    async create(type, body) {
      await connection.request('POST', connection.path(type, namespace), { body: { apiVersion: 'curbcut.dev/v1', ...body } });
    },
    get: (type, name) => connection.request('GET', connection.path(type, namespace, name)),
    async setStatus(type, name, status) {
      await patch(type, name, { status }, 'status');
    },
    async remove(type, name) {
      await connection.request('DELETE', connection.path(type, namespace, name));
    },
    async scan(satisfies = () => true) {
      for (;;) {
        const [found] = await list<AccessibilityScan>(SCANS);
        if (found !== undefined && satisfies(found)) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async restart(whileDown = async () => {}) {
      await kube.close();
      await whileDown();
      kube = await start(port);
    },
    async empty() {
      for (const type of [SCANS, QUEUES, SCHEDULES])
        for (const { metadata } of await list<AccessibilityScan>(type))
          await connection.request('DELETE', connection.path(type, namespace, metadata.name));
    },
    async close() {
      await connection.close();
      await kube.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A cluster for the tests of a suite, emptied after each test. */
export function useCluster(): Cluster {
  const cluster = opened(() => openCluster());
  afterEach(() => cluster.empty());
  return cluster;
}

/** Waits until a running command has printed a text on its standard error. */
export async function shows(output: Readonly<Output> | undefined, text: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!output?.stderr.includes(text)) {
    if (performance.now() > deadline) throw new Error(`the command did not print ${JSON.stringify(text)} but ${output?.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-03-02T10:00:00Z',
});

export const ADMITTED = condition('Admitted', 'True', 'Admitted', 'The queue has admitted the scan.');

/** The status of a scan that is done and passed. */
export const DONE: AccessibilityScanStatus = {
  phase: 'done',
  score: '97.5',
  violations: { total: 3, critical: 0, serious: 1, moderate: 2, minor: 0 },
  pages: { requested: 5, reserved: 5, scanned: 4, failed: 0 },
  passed: true,
  conditions: [ADMITTED],
};
