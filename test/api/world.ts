/**
 * The real app on a free port, over the real stores on the embedded stack, for tests: every response is held against the
 * OpenAPI document, every store call can be made to fail. The stack is started once a run; each world has a database of its own.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Db } from 'mongodb';
import { buildApp } from '../../api/app.ts';
import type { Api } from '../../api/api.ts';
import type { AppOptions, Probe, Stores } from '../../api/dependencies.ts';
import { createMetrics, type Metrics } from '../../api/plugins/metrics.ts';
import type { Logger } from '../../core/logger.ts';
import { startDocuments, type Documents } from '../../local/documents/documents.ts';
import { startKube, type Kube } from '../../local/kube/kube.ts';
import { startMessages, type Messages } from '../../local/messages/messages.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { CRDS } from '../../local/stack.ts';
import { createBus, noBus, type Bus } from '../../stores/bus.ts';
import { connectKubernetes } from '../../stores/kubernetes-connection.ts';
import type { KubernetesConnection } from '../../stores/kubernetes.ts';
import { connectMongo, ensureIndexes, type MongoConnection } from '../../stores/mongo.ts';
import { openStores, type Stores as AllStores } from '../../stores/open.ts';
import { createReports, reportKeys, type Reports } from '../../stores/reports.ts';
import { createScanResources } from '../../stores/scan-resources.ts';
import type { ScanRow } from '../../stores/scans.ts';
import { createContract, remember, type Contract, type OpenApiDocument } from './contract.ts';

export const NAMESPACE = 'curbcut';
/** Names that the tests' resolver knows. */
export const ADDRESSES: Readonly<Record<string, string[]>> = {
  'example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example.com': ['10.1.2.3'],
  'mixed.example.com': ['93.184.215.14', '192.168.0.7'],
};

interface Stack {
  folder: string;
  documents: Documents;
  objects: Awaited<ReturnType<typeof startObjects>>;
  kube: Kube;
  kubeconfig: string;
  messages: Messages | null;
}
let stack: Promise<Stack> | null = null;

async function startStack(): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'curbcut-api-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const [documents, objects, kube] = await Promise.all([
    startDocuments(),
    startObjects({ dataDir: join(folder, 'objects'), accessKeyId: 'test', secretAccessKey: 'test-secret', bucket: 'curbcut' }),
    startKube({ kubeconfigPath: kubeconfig, namespace: NAMESPACE, crds: CRDS }),
  ]);
  return { folder, documents, objects, kube, kubeconfig, messages: null };
}

/** The stack's addresses as a process of ours reads them. */
export async function environmentOf(): Promise<Record<string, string>> {
  stack ??= startStack();
  const { documents, objects, kubeconfig } = await stack;
  return {
    MONGODB_URL: documents.url,
    KUBECONFIG: kubeconfig,
    S3_ENDPOINT: objects.endpoint,
    S3_BUCKET: 'curbcut',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
  };
}

/** The real nats-server; started by the first test that asks for it. */
async function messagesOf(shared: Stack): Promise<Messages> {
  shared.messages ??= await startMessages({ dataDir: join(shared.folder, 'messages') });
  return shared.messages;
}

after('end the embedded stack', async function () {
  if (stack === null) return;
  const { folder, documents, objects, kube, messages } = await stack;
  await Promise.all([documents.close(), objects.close(), kube.close(), messages?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** Calls of a store by `store.method`; what stands here is called instead, with the real method first. */
export type Faults = Map<string, (real: (...parameters: unknown[]) => Promise<unknown>, ...parameters: unknown[]) => Promise<unknown>>;

function interceptable<T extends object>(name: string, store: T, faults: Faults, calls: string[]): T {
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property);
      if (typeof member !== 'function') return member;
      return (...parameters: unknown[]) => {
        const call = `${name}.${String(property)}`;
        calls.push(call);
        const real = (...actual: unknown[]) => Reflect.apply(member, target, actual) as Promise<unknown>;
        const fault = faults.get(call);
        return fault ? fault(real, ...parameters) : real(...parameters);
      };
    },
  });
}

/** An outage as the drivers tell of it. */
export function outage(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:27017 (secret-host)'), { code: 'ECONNREFUSED' });
}
export const down = (): Promise<never> => Promise.reject(outage());

export interface Response {
  status: number;
  headers: Headers;
  text: string;
  /** The body, where it is JSON. */
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}
export interface Request {
  key?: string | null;
  body?: unknown;
  /** Sent as it is. */
  raw?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** One replica of the app. */
export interface Replica {
  app: Api;
  url: string;
  metrics: Metrics;
  contract: Contract;
  document: OpenApiDocument;
  log: { level: string; fields: Record<string, unknown>; message: string }[];
  faults: Faults;
  /** Calls of stores, in order, as `store.method`. */
  calls: string[];
  bus: Bus;
  probes: Record<string, Probe>;
  request(method: string, path: string, request?: Request): Promise<Response>;
  /** Sends bytes and returns all that comes back. */
  raw(text: string): Promise<string>;
  close(): Promise<void>;
}

export interface World extends Replica {
  stores: AllStores & { reports: Reports };
  kubernetes: KubernetesConnection;
  db: Db;
  /** Another replica over the same stores. */
  replica(options?: WorldOptions): Promise<Replica>;
  /** A new organisation with a live key. */
  organisation(options?: { credits?: number; plan?: string }): Promise<{ id: string; key: string; keyId: string }>;
  /** A scan of an organisation, moved to where the test needs it. */
  scan(organisation: string, change?: Partial<ScanRow>): Promise<ScanRow>;
  /** Stores the two objects of a scan. */
  storeReports(scanId: string, which?: ('export' | 'pdf')[]): Promise<ScanRow['reports']>;
}

export type WorldOptions = Partial<AppOptions> & { messages?: boolean; clock?: () => Date };

const OPTIONS: AppOptions = {
  publicBaseUrl: 'https://curbcut.example',
  namespace: NAMESPACE,
  targets: { allow: [], deny: ['198.18.0.0/15'] },
  maxPagesLimit: 500,
  maxLiveScans: 2000,
  version: '0.0.0-test',
};
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  stack ??= startStack();
  const shared = await stack;
  const { documents, objects, kubeconfig } = shared;
  const url = new URL(documents.url);
  url.pathname = `/test-${randomUUID()}`;
  const database = url.toString();
  const opened: MongoConnection[] = [];
  const reports = createReports({
    endpoint: objects.endpoint,
    region: 'us-east-1',
    bucket: 'curbcut',
    accessKeyId: 'test',
    secretAccessKey: 'test-secret',
  });
  const kubernetes = connectKubernetes({ kubeconfig });
  const replicas: Replica[] = [];

  async function replica(more: WorldOptions = {}): Promise<Replica> {
    const mongo = connectMongo({ url: database, logger: silent });
    opened.push(mongo);
    const settings = { ...options, ...more };
    const bus = settings.messages ? createBus(await busOptions(shared)) : noBus();
    const scanResources = createScanResources(kubernetes, { namespace: NAMESPACE });
    const probes: Record<string, Probe> = {
      mongodb: { required: true, check: () => mongo.ping() },
      kubernetes: { required: true, check: () => scanResources.ping() },
      objects: { required: true, check: () => reports.ping() },
      nats: { required: false, check: () => (bus.connected ? Promise.resolve() : Promise.reject(new Error('away'))) },
    };
    const one = await startReplica({ ...openStores(mongo.db), reports, scanResources }, bus, probes, settings);
    replicas.push(one);
    return one;
  }

  const first = await replica();
  const stores = { ...openStores(opened[0]!.db), reports };
  await ensureIndexes(opened[0]!.db);

  return {
    ...first,
    stores,
    kubernetes,
    db: opened[0]!.db,
    replica,
    async organisation({ credits = 0, plan = 'team' } = {}) {
      const id = `org-${randomUUID().slice(0, 8)}`;
      await stores.organisations.add({ id, displayName: id, plan, namespaces: [] });
      if (credits > 0) await stores.credits.grant(id, 'first', credits);
      const { key, secret } = await stores.keys.issue({ organisation: id, name: 'test', expiresAt: null });
      return { id, key: secret, keyId: key.id };
    },
    async scan(organisation, change = {}) {
      const id = randomUUID();
      return stores.scans.create({
        id,
        organisation,
        origin: 'api',
        resource: { namespace: NAMESPACE, name: `scan-${id}` },
        submission: 'accepted',
        options: {
          url: 'https://example.com/',
          maxPages: 5,
          wcagLevel: 'AA',
          wcagVersion: '2.1',
          thresholds: {},
          crawl: { include: [], exclude: [], sitemap: true, respectRobots: true },
          locale: 'en',
        },
        pagesRequested: 5,
        pagesReserved: 5,
        phase: 'queued',
        pages: { scanned: 0, failed: 0, total: 0 },
        outcome: null,
        passed: null,
        message: null,
        reports: null,
        createdAt: new Date(),
        finishedAt: null,
        ...change,
      });
    },
    async storeReports(scanId, which = ['export', 'pdf']) {
      const keys = reportKeys(scanId);
      const types = { export: 'application/json', pdf: 'application/pdf' };
      for (const name of which) {
        const link = await reports.uploadLink(keys[name], types[name], 60);
        await fetch(link, { method: 'PUT', body: `the ${name}`, headers: { 'content-type': types[name] } });
      }
      const digest = 'a'.repeat(64);
      return { export: { key: keys.export, bytes: 10, sha256: digest }, pdf: { key: keys.pdf, bytes: 7, sha256: digest } };
    },
    async close() {
      for (const one of replicas) await one.close();
      await Promise.all(opened.map((mongo) => mongo.close()));
      await kubernetes.close();
      reports.close();
    },
  };
}

async function busOptions(shared: Stack) {
  const messages = await messagesOf(shared);
  return { url: messages.url, credentialsFile: messages.credentialsFile, logger: silent };
}

async function startReplica(real: Stores, bus: Bus, probes: Record<string, Probe>, settings: WorldOptions): Promise<Replica> {
  const faults: Faults = new Map();
  const calls: string[] = [];
  const log: Replica['log'] = [];
  const logger = recorder(log);
  const metrics = createMetrics();
  const names = ['organisations', 'keys', 'credits', 'scans', 'idempotency', 'limits', 'queueStates', 'reports', 'scanResources'] as const;
  const stores = Object.fromEntries(names.map((name) => [name, interceptable(name, real[name], faults, calls)])) as unknown as Stores;
  const app = await buildApp(
    {
      stores,
      bus,
      resolver: { resolve: (hostname) => Promise.resolve([...(ADDRESSES[hostname] ?? [])]) },
      clock: settings.clock ?? (() => new Date()),
      logger,
      metrics,
      probes,
    },
    { ...OPTIONS, ...settings },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const document = app.swagger() as unknown as OpenApiDocument;
  const contract = createContract(document);

  return {
    app,
    url,
    metrics,
    contract,
    document,
    log,
    faults,
    calls,
    bus,
    probes,
    async request(method, path, { key, body, raw, headers = {}, signal } = {}) {
      const response = await fetch(url + path, {
        method,
        signal,
        redirect: 'manual',
        headers: {
          ...(key != null && { 'X-API-Key': key }),
          ...((body !== undefined || raw !== undefined) && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
      });
      const text = await response.text();
      const answer = { status: response.status, headers: response.headers, text };
      contract.check(method, path, answer);
      const json = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
      return { ...answer, body: json ? JSON.parse(text) : undefined };
    },
    raw: (text) =>
      new Promise((resolve, reject) => {
        let answer = '';
        const socket = connect(port, '127.0.0.1', () => socket.write(text));
        socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        socket.on('error', reject).on('close', () => {
          const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
          if (body.startsWith('{')) remember(JSON.parse(body));
          resolve(answer);
        });
      }),
    async close() {
      await app.close();
      await bus.close();
    },
  };
}

function recorder(log: Replica['log'], shared: object = {}): Logger {
  const at = (level: string) => (fields: object, message: string) => void log.push({ level, fields: { ...shared, ...fields }, message });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recorder(log, { ...shared, ...fields }),
  };
}

/** A good submission. */
export const SUBMISSION = { url: 'https://example.com/' };

/** Waits until a condition holds. @throws after `withinMs` */
export async function eventually<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  withinMs = 10_000,
): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > until) throw new Error(`${what} did not come about within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
