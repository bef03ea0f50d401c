/**
 * The real operator over real stores, on the cluster of KUBECONFIG or the embedded Kubernetes, for tests. The test
 * simulates the pod: no node matches the Job's pod, so it stays pending, and the test reports the status of a kubelet.
 */
import type { Db } from 'mongodb';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  API_VERSION,
  DEFAULT_QUEUE,
  resourceNameOf,
  type AccessibilityScan,
  type AccessibilityScanSpec,
  type ScanQueue,
} from '../../core/protocol/custom-resources.ts';
import { startKube, type Kube } from '../../local/kube/kube.ts';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { CRDS } from '../../local/stack.ts';
import { createMetrics } from '../../api/metrics.ts';
import { runOutbox, type OutboxSettings } from '../../api/outbox/outbox.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import type { OperatorOptions } from '../../operator/context.ts';
import { FIELD_MANAGER, runOperator } from '../../operator/operator.ts';
import type { OperatorSettings } from '../../operator/config.ts';
import { QUEUES, SCANS } from '../../operator/scan/kube-types.ts';
import type { Resolver } from '../../core/scan/targets.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { createMessageBus, noMessageBus, type MessageBus } from '../../stores/nats.ts';
import type { KubernetesConnection, ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import { resourceOf } from '../../stores/submissions/scan-resources.ts';
import { newRow } from '../../stores/scans/scan-row.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { createReports, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { createFakeLogger, type Line } from '../support/fake-logger.ts';
import { until } from '../runtime/cluster.ts';
import { openDatabase } from '../stores/database.ts';
import { opened, type Hooks } from '../support/opened.ts';
import { recordCommands } from '../support/mongo-commands.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { getIfThere, isGone, simulateScan, reasonOf, statusOf, type Scan } from './simulated-scan.ts';
import { settingsFor } from '../support/operator-settings.ts';
import { verifier } from './verifier.ts';

const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };
const LEASES: ResourceType = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
/** Verifies in every test that the pods satisfy the restricted Pod Security Standard. */
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' };
const MERGE = 'application/merge-patch+json';
export const ORGANISATION = 'acme';
/** A host that the tests' target rules allow without DNS resolution. */
export const TARGET = 'http://site.test:8080/';

/** No node has this label, so the pod stays pending and the test can simulate it. */
export const NOWHERE = { nodeSelector: { 'curbcut.test/stage': 'nowhere' } };

type SettingsOverrides = Partial<Omit<OperatorSettings, 'timeouts'>> & { timeouts?: Partial<OperatorSettings['timeouts']> };

export interface OperatorContext {
  connection: KubernetesConnection;
  /** What tests turn on in the embedded Kubernetes; null on a real cluster. */
  faults: Kube['faults'] | null;
  /** Path of a kubeconfig. */
  kubeconfig: string;
  db: Db;
  stores: AllStores;
  reports: Reports;
  bus: MessageBus;
  /** The MongoDB commands so far, each as its name and collection. */
  commands: string[];
  /** The API's namespace. */
  namespace: string;
  /** A namespace that is charged to the organisation. */
  team: string;
  /** A namespace without an organisation. */
  strangers: string;
  /** Starts an operator. @param overrides dependencies to replace; `verifier: undefined` verifies as in production */
  start(
    settings?: SettingsOverrides,
    overrides?: Partial<
      Pick<OperatorOptions, 'connection' | 'reports' | 'bus' | 'metrics' | 'clock' | 'comparer' | 'verifier' | 'resolver'>
    > & {
      stores?: AllStores;
    },
  ): RunningOperator;
  /** Starts the outbox of a replica of the API. Without settings, it sends webhooks to any address of this machine, and no mails. */
  startOutbox(settings?: Partial<OutboxSettings>): RunningOperator;
  /** Submits a scan as the API does: row, credits, resource. @param organisation default: `ORGANISATION` */
  submit(spec?: Partial<AccessibilityScanSpec>, reserve?: number, organisation?: string): Promise<Scan>;
  /** Applies a manifest. */
  apply(namespace: string, spec?: Partial<AccessibilityScanSpec>, annotations?: Record<string, string>): Promise<Scan>;
  /** Controls a scan that the test has created. Its pod must match no node (`NOWHERE`). */
  simulate(created: AccessibilityScan): Scan;
  /** Patches a ScanQueue when it exists. @param name default: the default queue, which the operator creates */
  setQueue(spec: ScanQueue['spec'], name?: string): Promise<void>;
  /** Pauses the default queue and waits until the running operator has seen it: a scan that is created afterwards waits. */
  pauseQueue(): Promise<void>;
  createQueue(name: string, spec?: ScanQueue['spec']): Promise<ScanQueue>;
  deleteQueue(name?: string): Promise<void>;
  queue(name?: string): Promise<ScanQueue | null>;
  grant(pages: number): Promise<void>;
  held(): Promise<number>;
  spent(): Promise<number>;
  dropLease(): Promise<void>;
  /** Stops every running operator, so that a failed test does not affect the next one. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

export interface RunningOperator {
  lines: Line[];
  /** Stops the operator gracefully. */
  stop(): Promise<void>;
}

interface Servers {
  folder: string;
  kubeconfig: string;
  kube: Kube | null;
  messages: Messages;
}
/** What the contexts of a run share: the cluster of KUBECONFIG or the embedded Kubernetes, and a message server. */
let servers: Promise<Servers> | null = null;

async function startServers(host: string): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-servers-'));
  const cluster = process.env['KUBECONFIG'];
  const kubeconfig = cluster || join(folder, 'kubeconfig');
  return {
    folder,
    kubeconfig,
    kube: cluster ? null : await startKube({ kubeconfigPath: kubeconfig, crds: CRDS }),
    messages: await startMessages({ host, dataDir: join(folder, 'messages') }),
  };
}

after('stop the servers of the operators', async () => {
  if (servers === null) return;
  const { folder, kube, messages } = await servers;
  await Promise.all([kube?.close(), messages.close()]);
  await rm(folder, { recursive: true, force: true });
});

export async function openContext(): Promise<OperatorContext> {
  const host = process.env['CURBCUT_CLUSTER_HOST_IP'] ?? '127.0.0.1';
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-operator-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const onClose = (close: () => Promise<unknown>) => void closers.unshift(close);

  const { kubeconfig, kube, messages } = await (servers ??= startServers(host));
  const connection = connectKubernetes({ kubeconfig });
  onClose(() => connection.close());
  const operatorConnection = connectKubernetes({ kubeconfig, fieldManager: FIELD_MANAGER });
  onClose(() => operatorConnection.close());
  const database = await openDatabase({ monitorCommands: 'true' });
  onClose(() => database.close());
  const keys = { accessKeyId: 'test', secretAccessKey: 'test-secret', bucket: 'curbcut' };
  const objects = await startObjects({ host, dataDir: join(folder, 'objects'), ...keys });
  onClose(() => objects.close());
  const reports = createReports({ endpoint: objects.endpoint, region: 'us-east-1', ...keys });
  onClose(async () => reports.close());
  const bus = createMessageBus({
    url: messages.url,
    credentialsFile: messages.credentialsFile,
    signingSeed: messages.signingSeed,
    logger: silentLogger,
  });
  onClose(() => bus.close());
  await until('the bus is connected', () => bus.connected);
  const stores = openStores(database.db);
  const commands = recordCommands(database.db);

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

  /** Without a running operator, finalizers would block the deletion of the namespaces. */
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

  function start(settings: SettingsOverrides = {}, overrides: Parameters<OperatorContext['start']>[1] = {}): RunningOperator {
    const logger = createFakeLogger();
    const base = settingsFor(namespace, [team, strangers]);
    return track(logger, (signal) =>
      runOperator(
        {
          connection: operatorConnection,
          stores,
          reports,
          bus,
          resolver: { resolve: async () => ({ ok: false, reason: 'not_found' }) },
          metrics: createOperatorMetrics(),
          identity: randomUUID(),
          logger,
          verifier,
          ...overrides,
          settings: { ...base, ...settings, timeouts: { ...base.timeouts, ...settings.timeouts } },
        },
        signal,
      ),
    );
  }

  function startOutbox(settings: Partial<OutboxSettings> = {}): RunningOperator {
    const logger = createFakeLogger();
    const metrics = createMetrics();
    const base = {
      publicBaseUrl: 'https://curbcut.example.com',
      mail: null,
      webhooks: true,
      targets: { allow: ['127.0.0.0/8'], deny: [] },
    };
    const resolver: Resolver = { resolve: async () => ({ ok: false, reason: 'not_found' }) };
    return track(logger, (signal) => runOutbox({ stores, reports, resolver, settings: { ...base, ...settings }, metrics, logger }, signal));
  }

  /** Runs something until it is stopped, or the context is at rest. */
  function track(logger: ReturnType<typeof createFakeLogger>, run: (signal: AbortSignal) => Promise<void>): RunningOperator {
    const stopping = new AbortController();
    const done = run(stopping.signal);
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

  // Readers of their own, so that `commands` has only those of the operator.
  const simulation = {
    connection,
    stores: openStores(database.another()),
    bus,
    organisation: ORGANISATION,
    apiNamespace: namespace,
    onClose,
  };
  const specOf = (spec: Partial<AccessibilityScanSpec>): AccessibilityScanSpec => ({
    url: TARGET,
    ...spec,
    podTemplate: { ...spec.podTemplate, ...NOWHERE },
  });

  async function create(body: object, at: string): Promise<Scan> {
    return simulateScan(simulation, await connection.request<AccessibilityScan>('POST', connection.path(SCANS, at), { body }));
  }

  async function setQueue(spec: ScanQueue['spec'], name = DEFAULT_QUEUE): Promise<void> {
    await until('the queue exists', () => getIfThere<ScanQueue>(connection, QUEUES, namespace, name));
    await connection.request('PATCH', connection.path(QUEUES, namespace, name), { contentType: MERGE, body: { spec } });
  }

  return {
    connection,
    faults: kube?.faults ?? null,
    kubeconfig,
    db: database.db,
    stores,
    reports,
    bus,
    commands,
    namespace,
    team,
    strangers,
    start,
    startOutbox,
    async submit(spec = {}, reserve, organisation = ORGANISATION) {
      const id = randomUUID();
      const wanted = specOf(spec);
      const options = withDefaults(wanted);
      const pages = reserve ?? options.maxPages;
      await stores.scans.create(
        newRow({
          id,
          organisation,
          origin: 'api',
          resource: { namespace, name: resourceNameOf(id) },
          ...(wanted.queue !== undefined && { queue: wanted.queue }),
          submission: 'pending',
          options,
          createdAt: new Date(),
        }),
      );
      await stores.credits.reserve({
        organisation,
        scanId: id,
        pages,
        partial: false,
        deadline: new Date(Date.now() + 30_000),
      });
      await stores.scans.mirror(id, { pagesReserved: pages });
      const resource = { namespace, name: resourceNameOf(id) };
      return create({ ...resourceOf({ id, organisation, resource, options }), spec: wanted }, namespace);
    },
    apply(at, spec = {}, annotations) {
      const metadata = { name: `manifest-${randomUUID().slice(0, 8)}`, namespace: at, annotations };
      return create({ apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata, spec: specOf(spec) }, at);
    },
    simulate: (created) => simulateScan(simulation, created),
    setQueue,
    async pauseQueue() {
      await setQueue({ paused: true });
      await until('the operator has seen the pause', async () => (await stores.queueStates.read()).paused);
    },
    createQueue: (name, spec = {}) =>
      connection.request<ScanQueue>('POST', connection.path(QUEUES, namespace), {
        body: { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name, namespace }, spec },
      }),
    async deleteQueue(name = DEFAULT_QUEUE) {
      await connection.request('DELETE', connection.path(QUEUES, namespace, name));
    },
    queue: (name = DEFAULT_QUEUE) => getIfThere<ScanQueue>(connection, QUEUES, namespace, name),
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

/** Opens a context for the tests of the current suite. */
export const useContext = (...hooks: Hooks): OperatorContext => opened(openContext, ...hooks);

export { noMessageBus, reasonOf, reportKeys, statusOf, until };
export type { Scan };
