/**
 * The real operator over real stores, on the cluster of KUBECONFIG or the embedded Kubernetes, for tests. The test plays
 * the pod: no node takes the Job's pod, so it stays pending, and the test says of it what a kubelet would.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, jwtAuthenticator } from '@nats-io/transport-node';
import type { PodFailed, PodInput, PodProgress, PodStored } from '../../core/pod.ts';
import {
  SCAN_ID_ANNOTATION,
  jobNameOf,
  resourceNameOf,
  scanIdOf,
  secretNameOf,
  type AccessibilityScan,
  type AccessibilityScanSpec,
  type KubernetesObject,
  type ScanQueue,
} from '../../core/resources.ts';
import type { StatusMessage } from '../../core/messages.ts';
import { startKube } from '../../local/kube/kube.ts';
import { startMessages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { CRDS } from '../../local/stack.ts';
import { createOperatorMetrics, type OperatorMetrics } from '../../operator/metrics.ts';
import { runOperator, type OperatorSettings } from '../../operator/operator.ts';
import { EVENTS, JOBS, PODS, QUEUES, SCANS, SECRETS, conditionOf, type Job, type Pod } from '../../operator/scan/kinds.ts';
import { optionsOf } from '../../operator/scan/options.ts';
import { createBus, noBus, type Bus } from '../../stores/bus.ts';
import { KubernetesError, type KubernetesConnection, type ResourceType } from '../../stores/kubernetes.ts';
import { connectKubernetes } from '../../stores/kubernetes-connection.ts';
import { openStores, type Stores } from '../../stores/open.ts';
import { createReports, reportKeys, type Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans.ts';
import { createFakeLogger, type Line } from '../runtime/fake-logger.ts';
import { until } from '../runtime/cluster.ts';
import { openDatabase, silent } from '../stores/database.ts';
import { PDF, digestOf } from './digest.ts';

const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };
const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
/** So that every pod of every test is one that such a namespace takes. */
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };
const MERGE = 'application/merge-patch+json';
export const ORGANISATION = 'acme';
/** A host that the tests' rules let through without asking any name server. */
export const TARGET = 'http://site.test:8080/';

/** What a kubelet reports of a container that ended. */
export interface ContainerEnd {
  exitCode: number;
  message?: string;
  reason?: string;
}

export interface World {
  connection: KubernetesConnection;
  stores: Stores;
  reports: Reports;
  bus: Bus;
  /** The API's namespace. */
  namespace: string;
  /** Another one, charged to the organisation. */
  team: string;
  /** One that is charged to nobody. */
  strangers: string;
  /** Starts an operator. @param parts what is different about it */
  start(
    settings?: Partial<OperatorSettings>,
    parts?: { connection?: KubernetesConnection; stores?: Stores; bus?: Bus; reports?: Reports; metrics?: OperatorMetrics },
  ): RunningOperator;
  /** Submits as the front door does: row, credits, resource. */
  submit(spec?: Partial<AccessibilityScanSpec>, reserve?: number): Promise<Scan>;
  /** Applies a manifest. */
  apply(namespace: string, spec?: Partial<AccessibilityScanSpec>): Promise<Scan>;
  setQueue(spec: ScanQueue['spec']): Promise<void>;
  queue(): Promise<ScanQueue | null>;
  grant(pages: number): Promise<void>;
  held(): Promise<number>;
  spent(): Promise<number>;
  dropLease(): Promise<void>;
  /** Stops every operator that still runs, so that a test that failed does not fail the next one. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

export interface RunningOperator {
  lines: Line[];
  /** Stops it with grace. */
  stop(): Promise<void>;
}

/** One scan, and the pod that the test plays. */
export interface Scan {
  id: string;
  namespace: string;
  name: string;
  read(): Promise<AccessibilityScan | null>;
  row(): Promise<ScanRow | null>;
  /** Waits until the status is as wanted. */
  reaches(what: string, is: (scan: AccessibilityScan) => unknown): Promise<AccessibilityScan>;
  /** Waits until the scan has ended and its finalizer is off: everything has followed. */
  settles(): Promise<AccessibilityScan>;
  patch(body: object): Promise<AccessibilityScan>;
  remove(): Promise<void>;
  job(): Promise<Job | null>;
  /** Waits for the pod of the given attempt. */
  pod(attempt?: number): Promise<Pod>;
  pods(): Promise<Pod[]>;
  /** What the pod is told. */
  input(): Promise<PodInput>;
  /** Says of a pod what a kubelet would. */
  setPod(pod: Pod, status: object): Promise<void>;
  runs(pod: Pod): Promise<void>;
  ends(pod: Pod, end: ContainerEnd): Promise<void>;
  evicted(pod: Pod): Promise<void>;
  /** Publishes with the pod's own credential. */
  says(message: PodProgress | PodStored | PodFailed | string): Promise<void>;
  /** Uploads through the pod's own links. @returns its last message */
  stores(pod: Pod, export_: Uint8Array, pdf?: Uint8Array, pages?: PodStored['pages']): Promise<PodStored>;
  events(): Promise<string[]>;
  /** Every status message so far. */
  messages: StatusMessage[];
}

/** How the tests' scanners run. */
export const SCANNER: OperatorSettings['scanner'] = {
  image: 'curbcut.test/nowhere:none',
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  hostUsers: false,
  requests: { cpu: '1m', memory: '1Mi' },
  limits: { memory: '64Mi' },
  retries: 2,
  jobTtlSeconds: 600,
};

/** Deadlines that no test meets unless it says so. */
function settingsFor(namespace: string, others: string[]): OperatorSettings {
  return {
    namespace,
    watchNamespaces: [namespace, ...others],
    leaseSeconds: 15,
    maxRunning: 50,
    maxPagesLimit: 50,
    targets: { allow: ['site.test'], deny: [] },
    scanner: SCANNER,
    pod: { allowTargets: ['site.test'], denyTargets: [], workers: 2, pageBudgetMs: 30_000 },
    runTime: { pendingDeadlineSeconds: 600, baseSeconds: 600, maxSeconds: 3600, workers: 2, pageBudgetMs: 30_000 },
    patience: {
      queueMs: 3_600_000,
      pendingMs: 600_000,
      stuckMs: 600_000,
      lostPodMs: 500,
      lingerMs: 600_000,
      lateNewsMs: 300,
      statusEveryMs: 200,
      mirrorEveryMs: 50,
    },
    ingest: { exportMaxBytes: 1_000_000, pdfMaxBytes: 1_000_000, memoryMib: 256 },
    retentionDays: 90,
  };
}

const isGone = (error: unknown): boolean => error instanceof KubernetesError && error.code === 404;

export async function openWorld(): Promise<World> {
  const host = process.env['CURBCUT_CLUSTER_HOST_IP'] ?? '127.0.0.1';
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-operator-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const onClose = (close: () => Promise<unknown>) => void closers.unshift(close);

  let kubeconfig = process.env['KUBECONFIG'];
  if (!kubeconfig) {
    kubeconfig = join(folder, 'kubeconfig');
    const kube = await startKube({ kubeconfigPath: kubeconfig, crds: CRDS });
    onClose(() => kube.close());
  }
  const connection = connectKubernetes({ kubeconfig });
  onClose(() => connection.close());
  const database = await openDatabase();
  onClose(() => database.close());
  const messages = await startMessages({ host, dataDir: join(folder, 'messages') });
  onClose(() => messages.close());
  const keys = { accessKeyId: 'test', secretAccessKey: 'test-secret', bucket: 'curbcut' };
  const objects = await startObjects({ host, dataDir: join(folder, 'objects'), ...keys });
  onClose(() => objects.close());
  const reports = createReports({ endpoint: objects.endpoint, region: 'us-east-1', ...keys });
  onClose(async () => reports.close());
  const bus = createBus({
    url: messages.url,
    credentialsFile: messages.credentialsFile,
    signingSeed: messages.signingSeed,
    logger: silent,
  });
  onClose(() => bus.close());
  await until('the bus is connected', () => bus.connected);
  const stores = openStores(database.db);

  const [namespace, team, strangers] = ['api', 'team', 'strangers'].map((name) => `curbcut-${name}-${randomUUID().slice(0, 8)}`) as [
    string,
    string,
    string,
  ];
  for (const name of [namespace, team, strangers])
    await connection.request('POST', connection.path(NAMESPACES), {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: RESTRICTED } },
    });
  await stores.organisations.add({ id: ORGANISATION, displayName: 'Acme', plan: 'test', namespaces: [team] });
  await stores.credits.open(ORGANISATION);

  const running = new Set<RunningOperator>();
  onClose(async () => {
    for (const one of [...running]) await one.stop();
    await emptyNamespaces();
  });

  /** Finalizers would keep the namespaces for ever once no operator runs. */
  async function emptyNamespaces(): Promise<void> {
    for (const name of [namespace, team, strangers]) {
      const { items } = await connection.request<{ items: AccessibilityScan[] }>('GET', connection.path(SCANS, name));
      for (const { metadata } of items)
        await connection
          .request('PATCH', connection.path(SCANS, name, metadata.name), { contentType: MERGE, body: { metadata: { finalizers: [] } } })
          .catch((error: unknown) => {
            if (!isGone(error)) throw error;
          });
      await connection.request('DELETE', connection.path(NAMESPACES, undefined, name));
    }
  }

  function start(settings: Partial<OperatorSettings> = {}, parts: Parameters<World['start']>[1] = {}): RunningOperator {
    const logger = createFakeLogger();
    const stopping = new AbortController();
    const base = settingsFor(namespace, [team, strangers]);
    const done = runOperator(
      {
        connection,
        stores,
        reports,
        bus,
        resolve: async () => [],
        metrics: createOperatorMetrics(),
        identity: randomUUID(),
        logger,
        ...parts,
        settings: { ...base, ...settings, patience: { ...base.patience, ...settings.patience } },
      },
      stopping.signal,
    );
    const one: RunningOperator = {
      lines: logger.lines,
      async stop() {
        running.delete(one);
        stopping.abort();
        await done;
      },
    };
    running.add(one);
    return one;
  }

  async function list<T>(type: ResourceType, at: string, labelSelector: string): Promise<T[]> {
    return (await connection.request<{ items: T[] }>('GET', connection.path(type, at), { query: { labelSelector } })).items;
  }

  async function get<T>(type: ResourceType, at: string, name: string): Promise<T | null> {
    try {
      return await connection.request<T>('GET', connection.path(type, at, name));
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  const specOf = (spec: Partial<AccessibilityScanSpec>): AccessibilityScanSpec => ({
    url: TARGET,
    ...spec,
    // No node is like that, so the pod stays pending and is the test's to play.
    podTemplate: { ...spec.podTemplate, nodeSelector: { 'curbcut.test/stage': 'nowhere' } },
  });

  async function create(body: object, at: string): Promise<Scan> {
    return scanOf(await connection.request<AccessibilityScan>('POST', connection.path(SCANS, at), { body }));
  }

  function scanOf(created: AccessibilityScan): Scan {
    const { name } = created.metadata;
    const at = created.metadata.namespace!;
    const id = scanIdOf(created, namespace);
    const heard: StatusMessage[] = [];
    onClose(async () => bus.followStatus(ORGANISATION, id, (message) => heard.push(message)));
    bus.followStatus(ORGANISATION, id, (message) => heard.push(message));
    const read = () => get<AccessibilityScan>(SCANS, at, name);

    const scan: Scan = {
      id,
      namespace: at,
      name,
      messages: heard,
      read,
      row: () => stores.scans.find(id),
      async reaches(what, is) {
        let last: AccessibilityScan | null = null;
        try {
          return await until(`the scan is ${what}`, async () => {
            last = await read();
            return last !== null && is(last) ? last : null;
          });
        } catch (error) {
          throw new Error(`${(error as Error).message}; its status is ${JSON.stringify((last as AccessibilityScan | null)?.status)}`);
        }
      },
      settles: () =>
        scan.reaches('settled', ({ status, metadata }) => status?.completionTime !== undefined && !metadata.finalizers?.length),
      patch: (body) => connection.request('PATCH', connection.path(SCANS, at, name), { contentType: MERGE, body }),
      async remove() {
        await connection.request('DELETE', connection.path(SCANS, at, name), { body: { propagationPolicy: 'Background' } });
      },
      job: () => get<Job>(JOBS, at, jobNameOf(id)),
      async pods() {
        const pods = await list<Pod>(PODS, at, `curbcut.dev/scan-id=${id}`);
        return pods.toSorted(
          (a, b) =>
            a.metadata.creationTimestamp!.localeCompare(b.metadata.creationTimestamp!) || a.metadata.name.localeCompare(b.metadata.name),
        );
      },
      async pod(attempt = 1) {
        const seen = (pod: Pod) => !taken.has(pod.metadata.uid!);
        const pod = await until(`pod ${attempt} of the scan`, async () => (await scan.pods()).find(seen));
        taken.add(pod.metadata.uid!);
        return pod;
      },
      async input() {
        const secret = await get<KubernetesObject & { data: Record<string, string> }>(SECRETS, at, secretNameOf(id));
        return JSON.parse(Buffer.from(secret!.data['scan.json']!, 'base64').toString()) as PodInput;
      },
      async setPod(pod, status) {
        await connection.request('PATCH', connection.path(PODS, at, pod.metadata.name, 'status'), { contentType: MERGE, body: { status } });
      },
      runs: (pod) => scan.setPod(pod, { phase: 'Running', containerStatuses: [container({ running: { startedAt: stamp() } }, true)] }),
      ends: (pod, end) =>
        scan.setPod(pod, {
          phase: end.exitCode === 0 ? 'Succeeded' : 'Failed',
          containerStatuses: [
            container(
              { terminated: { reason: end.exitCode === 0 ? 'Completed' : 'Error', startedAt: stamp(), finishedAt: stamp(), ...end } },
              false,
            ),
          ],
        }),
      evicted: (pod) =>
        scan.setPod(pod, {
          phase: 'Failed',
          reason: 'Evicted',
          conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', lastTransitionTime: stamp() }],
          containerStatuses: [
            container({ terminated: { exitCode: 137, reason: 'Error', startedAt: stamp(), finishedAt: stamp() } }, false),
          ],
        }),
      async says(message) {
        const { messages: told } = await scan.input();
        const pod = await connect({
          servers: told!.url,
          authenticator: jwtAuthenticator(told!.jwt, Buffer.from(told!.seed)),
          reconnect: false,
        });
        pod.publish(told!.subject, typeof message === 'string' ? message : JSON.stringify(message));
        await pod.flush();
        await pod.close();
      },
      async stores(pod, export_, pdf = PDF, pages = { scanned: 2, failed: 0, total: 2 }) {
        const { uploads } = await scan.input();
        for (const [link, body, type] of [
          [uploads.export, export_, 'application/json'],
          [uploads.pdf, pdf, 'application/pdf'],
        ] as const) {
          const answer = await fetch(link, { method: 'PUT', body: new Uint8Array(body), headers: { 'content-type': type } });
          if (!answer.ok) throw new Error(`the upload was refused: ${answer.status} ${await answer.text()}`);
        }
        return { kind: 'stored', scanId: id, attempt: pod.metadata.name, pages, export: digestOf(export_), pdf: digestOf(pdf) };
      },
      async events() {
        const { items } = await connection.request<{ items: { involvedObject: { uid?: string }; reason: string }[] }>(
          'GET',
          connection.path(EVENTS, at),
        );
        return items.filter((event) => event.involvedObject.uid === created.metadata.uid).map((event) => event.reason);
      },
    };
    const taken = new Set<string>();
    return scan;
  }

  return {
    connection,
    stores,
    reports,
    bus,
    namespace,
    team,
    strangers,
    start,
    async submit(spec = {}, reserve) {
      const id = randomUUID();
      const wanted = specOf(spec);
      const options = optionsOf(wanted);
      const pages = reserve ?? options.maxPages;
      await stores.scans.create({
        id,
        organisation: ORGANISATION,
        origin: 'api',
        resource: { namespace, name: resourceNameOf(id) },
        submission: 'pending',
        options,
        pagesRequested: options.maxPages,
        pagesReserved: 0,
        phase: 'queued',
        pages: { scanned: 0, failed: 0, total: 0 },
        outcome: null,
        passed: null,
        message: null,
        reports: null,
        createdAt: new Date(),
        finishedAt: null,
      });
      await stores.credits.reserve({
        organisation: ORGANISATION,
        scanId: id,
        pages,
        partial: false,
        deadline: new Date(Date.now() + 30_000),
      });
      await stores.scans.mirror(id, { pagesReserved: pages });
      const metadata = { name: resourceNameOf(id), namespace, annotations: { [SCAN_ID_ANNOTATION]: id } };
      return create({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata, spec: wanted }, namespace);
    },
    apply(at, spec = {}) {
      const metadata = { name: `manifest-${randomUUID().slice(0, 8)}`, namespace: at };
      return create({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata, spec: specOf(spec) }, at);
    },
    async setQueue(spec) {
      await until('there is a queue', () => get<ScanQueue>(QUEUES, namespace, 'default'));
      await connection.request('PATCH', connection.path(QUEUES, namespace, 'default'), { contentType: MERGE, body: { spec } });
    },
    queue: () => get<ScanQueue>(QUEUES, namespace, 'default'),
    grant: async (pages) => void (await stores.credits.grant(ORGANISATION, randomUUID(), pages)),
    held: async () => (await stores.credits.balance(ORGANISATION)).held,
    spent: async () => (await stores.credits.balance(ORGANISATION)).spent,
    async dropLease() {
      await connection.request('DELETE', connection.path(LEASES, namespace, 'curbcut-operator'));
    },
    async rest() {
      for (const one of [...running]) await one.stop();
    },
    async close() {
      for (const close of closers) await close();
    },
  };
}

const stamp = () => `${new Date().toISOString().slice(0, 19)}Z`;

function container(state: object, ready: boolean): object {
  return { name: 'scanner', image: 'curbcut.test/nowhere:none', imageID: '', ready, restartCount: 0, started: ready, state };
}

/** The reason of a condition. */
export function reasonOf(scan: AccessibilityScan, type: string): string | undefined {
  return conditionOf(scan.status?.conditions, type)?.reason;
}

/** A condition's status. */
export function statusOf(scan: AccessibilityScan, type: string): string | undefined {
  return conditionOf(scan.status?.conditions, type)?.status;
}

export { noBus, reportKeys, until };
