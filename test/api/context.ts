/** Runs the real app with the real stores on the embedded stack. Each context has its own database and any number of replicas. */
import { randomUUID } from 'node:crypto';
import type { Db } from 'mongodb';
import { GROUP, SCANS_PLURAL, VERSION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { issueKey } from '../support/issue-key.ts';
import { monitored, recordCommands } from '../support/mongo-commands.ts';
import { opened } from '../support/opened.ts';
import { scanRow } from '../support/scan-rows.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { createMessageBus, noMessageBus } from '../../stores/nats.ts';
import { connectKubernetes } from '../../platform/kubernetes/connection.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { connectMongo, ensureIndexes, type MongoConnection } from '../../stores/mongo.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { createReports, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { createScheduleResources } from '../../stores/schedules/schedule-resources.ts';
import { createScanResources } from '../../stores/submissions/scan-resources.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { startReplica, type Replica, type ReplicaOptions } from './replica.ts';
import { messagesOf, NAMESPACE, sharedStack, type Stack } from './stack.ts';

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

/** A replica with the commands that it sent to MongoDB, as `find scans`. Set `length` to 0 to count from then on. */
export interface MonitoredReplica extends Replica {
  commands: string[];
}

export interface ApiContext extends MonitoredReplica {
  /** The stores of this replica. */
  stores: AllStores & { reports: Reports };
  kubernetes: KubernetesConnection;
  db: Db;
  /** Starts another replica on the same stores. */
  replica(options?: ReplicaOptions): Promise<MonitoredReplica>;
  /** Creates an organisation with a live key. */
  organisation(options?: { credits?: number; plan?: string }): Promise<{ id: string; key: string; keyId: string }>;
  /** Creates a scan of an organisation. @param change overrides fields of its row */
  scan(organisation: string, change?: Partial<ScanRow>): Promise<ScanRow>;
  /** The custom resource of a scan that was submitted. */
  resource(scanId: string): Promise<AccessibilityScan>;
  /** Stores the two objects of a scan. */
  storeReports(scanId: string, which?: ('export' | 'pdf')[]): Promise<ScanRow['reports']>;
}

export async function startContext(options: ReplicaOptions = {}): Promise<ApiContext> {
  const shared = await sharedStack();
  const { databases, objects, kubeconfig } = shared;
  const database = databases.newDatabase();
  const opened: MongoConnection[] = [];
  const allStores: AllStores[] = [];
  const reports = createReports({
    endpoint: objects.endpoint,
    region: 'us-east-1',
    bucket: 'curbcut',
    accessKeyId: 'test',
    secretAccessKey: 'test-secret',
  });
  const kubernetes = connectKubernetes({ kubeconfig });
  const replicas: Replica[] = [];

  async function replica(more: ReplicaOptions = {}): Promise<MonitoredReplica> {
    const mongo = connectMongo({ url: monitored(database), logger: silentLogger });
    opened.push(mongo);
    const settings = { ...options, ...more };
    const bus = settings.messages ? createMessageBus(await busOptions(shared)) : noMessageBus();
    const scanResources = createScanResources(kubernetes, { namespace: NAMESPACE });
    const scheduleResources = createScheduleResources(kubernetes, { namespace: NAMESPACE });
    const commands = recordCommands(mongo.db);
    const stores = openStores(mongo.db);
    const { anonymousConnections: poolSize } = settings;
    const apart = poolSize === undefined ? undefined : connectMongo({ url: monitored(database), poolSize });
    if (apart !== undefined) opened.push(apart);
    const anonymous = apart && { ...openStores(apart.db), reports, scanResources, scheduleResources };
    const replica = await startReplica({ ...stores, reports, scanResources, scheduleResources }, bus, settings, anonymous);
    const one = { ...replica, commands };
    allStores.push(stores);
    replicas.push(one);
    return one;
  }

  const first = await replica();
  const stores = { ...allStores[0]!, reports };
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
      const { key, secret } = await issueKey(stores.keys, id);
      return { id, key: secret, keyId: key.id };
    },
    async scan(organisation, change = {}) {
      const id = randomUUID();
      const resource = { namespace: NAMESPACE, name: `scan-${id}` };
      const row = await stores.scans.create(
        scanRow({
          id,
          organisation,
          resource,
          submission: 'accepted',
          options: withDefaults({ url: 'https://example.com/' }),
          pagesReserved: 5,
          ...change,
        }),
      );
      // As the operator does when the scan ends.
      await stores.sites.record([row]);
      return row;
    },
    resource: (scanId) => kubernetes.request('GET', kubernetes.path(SCANS, NAMESPACE, `scan-${scanId}`)),
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

/** A context for the tests of a suite. Faults end with each test. */
export function useContext(options?: ReplicaOptions): ApiContext {
  const context = opened(() => startContext(options));
  afterEach(() => context.faults?.clear());
  return context;
}

async function busOptions(shared: Stack) {
  const messages = await messagesOf(shared);
  return { url: messages.url, credentialsFile: messages.credentialsFile, logger: silentLogger };
}

const MANY = { limit: 1000, windowSeconds: 60 };
/** Rate limits that no test reaches. */
export const HIGH_LIMITS = { key: MANY, submissions: MANY, reports: MANY, 'key-creations': MANY };

/** A valid submission. */
export const SUBMISSION = { url: 'https://example.com/' };

/** Polls until the value is truthy, and returns it. @throws after `withinMs` milliseconds */
export async function eventually<T>(
  what: string,
  poll: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  withinMs = 60_000,
): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const value = await poll();
    if (value) return value;
    if (Date.now() > until) throw new Error(`timed out after ${withinMs} ms waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Sends a submission to a replica that crashes after a step took effect, and thereby before the next one. */
export async function crashAfter(context: ApiContext, step: string, submit: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  let crashed = false;
  context.faults.set(step, async (real, ...parameters) => {
    await real(...parameters);
    crashed = true;
    return new Promise(() => undefined);
  });
  const client = new AbortController();
  const request = submit(client.signal).catch(() => undefined);
  await eventually(`the crash after ${step}`, () => crashed);
  client.abort();
  await request;
  context.faults.clear();
}
