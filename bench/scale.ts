/**
 * Measures an operator beside thousands of resources, on a cluster's API server: its CPU and memory at rest, how late
 * schedules start that are all due in the same minute, and how long deletion of their live scans takes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, type AccessibilityScan } from '../core/protocol/custom-resources.ts';
import { SCHEDULE_LABEL, SCHEDULED_AT_ANNOTATION, type ScanSchedule } from '../core/protocol/scan-schedules.ts';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import { SCANS, SCHEDULES } from '../operator/scan/kube-types.ts';
import { isEmpty, measureDeletion } from './deletions.ts';
import { metric, pace, quantile, startInstallation, type Installation } from './installation.ts';

export interface Scale {
  scans: number;
  schedules: number;
  /** The operator's CPU at rest as a share of one core, and its resident memory in bytes. */
  rest: { cpu: number; memory: number };
  /** Seconds that the bare creation of the schedules took, 16 at once: what this API server can do. */
  bare: number;
  /** Seconds from the scheduled minute until a scan exists, of schedules that are all due in one minute. */
  late: { p50: number; p99: number; max: number };
  /** The operator's resident memory in bytes when all scans of the schedules are live. */
  memoryLive: number;
  /** Seconds from the start of the deletion of all live scans until none exists, and until no credits are held. */
  deletion: { scans: number; gone: number; settled: number };
}

const NAMESPACE = 'curbcut-bench-scale';
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };
const MERGE = 'application/merge-patch+json';
const POLL_MS = 200;
/** The time after the start before CPU at rest is measured, and the time over which it is measured. */
const SETTLE_MS = 30_000;
const REST_MS = 60_000;
const WITHIN_MS = 600_000;
const URL = 'http://127.0.0.1:8080/';

/** @param kubeconfig of a cluster with the custom resource definitions */
export async function measureScale(kubeconfig: string, scans: number, schedules: number): Promise<Scale> {
  const connection = connectKubernetes({ kubeconfig });
  await connection.request('POST', connection.path(NAMESPACES), {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
  });
  let installation: Installation | undefined;
  try {
    await pace(scans, (index) => createEnded(connection, index));
    const minute = nextQuietHour(new Date());
    const { seconds: bare } = await pace(schedules, (index) => createSchedule(connection, index, `${minute.getUTCMinutes()} * * * *`));
    installation = await startInstallation({
      scans: 1,
      maxRunning: 10_000,
      asInImage: true,
      kubeconfig,
      namespace: NAMESPACE,
      environment: { POD_TEMPLATE_ALLOW: 'resources,nodeSelector' },
    });
    const { operatorUrl } = installation.product;
    await sleep(SETTLE_MS);
    const before = await metric(operatorUrl, 'curbcut_process_cpu_seconds_total');
    await sleep(REST_MS);
    const cpu = ((await metric(operatorUrl, 'curbcut_process_cpu_seconds_total')) - before) / (REST_MS / 1000);
    const memory = await metric(operatorUrl, 'curbcut_process_resident_memory_bytes');
    const late = await fire(connection, schedules);
    await untilHeld(installation, schedules);
    const memoryLive = await metric(operatorUrl, 'curbcut_process_resident_memory_bytes');
    const deletion = await deleteLive(connection, installation, schedules);
    return { scans, schedules, rest: { cpu, memory }, bare, late, memoryLive, deletion };
  } finally {
    await clear(connection).catch((error: unknown) => console.error(error));
    await installation?.close();
    await connection.close();
  }
}

/** A minute that is not near, so that schedules which name it do not start by themselves while the operator is at rest. */
function nextQuietHour(now: Date): Date {
  return new Date(now.getTime() + 30 * 60_000);
}

async function createEnded(connection: KubernetesConnection, index: number): Promise<void> {
  const metadata = { name: `ended-${index}`, namespace: NAMESPACE };
  await connection.request('POST', connection.path(SCANS, NAMESPACE), {
    body: { apiVersion: API_VERSION, kind: 'AccessibilityScan', metadata, spec: { url: URL, maxPages: 1 } },
  });
  const completionTime = `${new Date().toISOString().slice(0, 19)}Z`;
  const status = { phase: 'done', organisation: 'bench-0', observedGeneration: 1, completionTime, score: '98.5', message: 'x'.repeat(200) };
  await connection.request('PATCH', connection.path(SCANS, NAMESPACE, metadata.name, 'status'), { contentType: MERGE, body: { status } });
}

async function createSchedule(connection: KubernetesConnection, index: number, schedule: string): Promise<void> {
  // No node has the label, so pods stay pending.
  const spec = { url: URL, maxPages: 1, podTemplate: { nodeSelector: { 'curbcut.test/stage': 'nowhere' } } };
  await connection.request('POST', connection.path(SCHEDULES, NAMESPACE), {
    body: {
      apiVersion: API_VERSION,
      kind: 'ScanSchedule',
      metadata: { name: `schedule-${index}` },
      spec: { schedule, scanTemplate: { spec } },
    },
  });
}

/** Makes every schedule due in the minute after next. @returns how late their scans were created */
async function fire(connection: KubernetesConnection, schedules: number): Promise<Scale['late']> {
  const due = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 60_000);
  const spec = { schedule: `${due.getUTCMinutes()} * * * *` };
  await pace(schedules, (index) =>
    connection.request('PATCH', connection.path(SCHEDULES, NAMESPACE, `schedule-${index}`), { contentType: MERGE, body: { spec } }),
  );
  if (Date.now() > due.getTime() - 5_000) throw new Error('the schedules could not be written in time; measure fewer');
  const late: number[] = [];
  const watching = new AbortController();
  const timer = setTimeout(() => watching.abort(), due.getTime() - Date.now() + 120_000);
  const { metadata } = await connection.request<{ metadata: { resourceVersion: string } }>('GET', connection.path(SCANS, NAMESPACE), {
    query: { limit: 1, labelSelector: SCHEDULE_LABEL },
  });
  const query = { labelSelector: SCHEDULE_LABEL, resourceVersion: metadata.resourceVersion };
  try {
    for await (const { type, object } of connection.watch<AccessibilityScan>(connection.path(SCANS, NAMESPACE), {
      query,
      signal: watching.signal,
      idleMs: 120_000,
    })) {
      if (type !== 'ADDED') continue;
      const at = object.metadata.annotations?.[SCHEDULED_AT_ANNOTATION];
      if (at !== undefined && Date.parse(at) === due.getTime()) late.push((Date.now() - due.getTime()) / 1000);
      if (late.length === schedules) break;
    }
  } catch (error) {
    if (!watching.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    watching.abort();
  }
  if (late.length < schedules) throw new Error(`only ${late.length} of ${schedules} schedules started within 120 s`);
  late.sort((one, other) => one - other);
  console.error(`bench: ${schedules} schedules started, the last ${late.at(-1)!.toFixed(1)} s late`);
  return { p50: quantile(late, 0.5), p99: quantile(late, 0.99), max: late.at(-1)! };
}

async function untilHeld(installation: Installation, pages: number): Promise<void> {
  for (const until = Date.now() + WITHIN_MS; (await installation.held()) < pages; await sleep(POLL_MS))
    if (Date.now() > until) throw new Error(`after ${WITHIN_MS / 1000} s not all scans hold credits`);
}

async function deleteLive(connection: KubernetesConnection, installation: Installation, scans: number): Promise<Scale['deletion']> {
  const scansLeft = (): Promise<boolean> => isEmpty(connection, connection.path(SCANS, NAMESPACE), SCHEDULE_LABEL);
  const { gone, settled } = await measureDeletion(installation, ['-l', SCHEDULE_LABEL, '-n', NAMESPACE], scansLeft);
  return { scans, gone, settled };
}

/** Deletes the namespace, and first the finalizers that only an operator would remove. */
async function clear(connection: KubernetesConnection): Promise<void> {
  const { items } = await connection.request<{ items: (AccessibilityScan | ScanSchedule)[] }>('GET', connection.path(SCANS, NAMESPACE));
  const held = items.filter(({ metadata }) => (metadata.finalizers?.length ?? 0) > 0);
  await pace(held.length, (index) =>
    connection
      .request('PATCH', connection.path(SCANS, NAMESPACE, held[index]!.metadata.name), {
        contentType: MERGE,
        body: { metadata: { finalizers: [] } },
      })
      .catch(() => undefined),
  );
  await connection.request('DELETE', connection.path(NAMESPACES, undefined, NAMESPACE));
}
