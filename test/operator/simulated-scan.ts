/** A scan in a test whose pod the test simulates: the kubelet's status updates, and the scanner's messages and uploads. */
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { connect, jwtAuthenticator } from '@nats-io/transport-node';
import { uploadSlotOf, type PodFailed, type PodInput, type PodProgress, type PodStored } from '../../core/protocol/pod-messages.ts';
import { jobNameOf, scanIdOf, type AccessibilityScan, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { JOBS, PODS, SCANS, SECRETS, type Job, type Pod } from '../../operator/scan/kube-types.ts';
import { EVENTS } from '../../operator/runtime/events.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import type { MessageBus } from '../../stores/nats.ts';
import { KubernetesError, type KubernetesConnection, type ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { until } from '../runtime/cluster.ts';
import { PDF, digestOf } from '../support/scan-results.ts';

const MERGE = 'application/merge-patch+json';
/** Reached only by a failing test. A busy Job controller delays the second attempt. */
const WAIT_MS = 60_000;
const POD_WAIT_MS = 100_000;

/** What a kubelet reports of a container that ended. */
export interface ContainerEnd {
  exitCode: number;
  message?: string;
  reason?: string;
}

/** A scan, and controls for its simulated pod. */
export interface Scan {
  id: string;
  namespace: string;
  name: string;
  read(): Promise<AccessibilityScan | null>;
  row(): Promise<ScanRow | null>;
  /** Waits until `is` accepts the scan. @param what completes "the scan is …" in the error */
  reaches(what: string, is: (scan: AccessibilityScan) => unknown): Promise<AccessibilityScan>;
  /** Waits until the scan has ended and its finalizer is removed, which is the operator's last step. */
  settles(): Promise<AccessibilityScan>;
  patch(body: object): Promise<AccessibilityScan>;
  remove(): Promise<void>;
  job(): Promise<Job | null>;
  /** Waits for the pod of the given attempt. */
  pod(attempt?: number): Promise<Pod>;
  pods(): Promise<Pod[]>;
  /** Reads the pod input from the Secret. */
  input(): Promise<PodInput>;
  /** Patches the pod's status, as the kubelet does. */
  setPod(pod: Pod, status: object): Promise<void>;
  startPod(pod: Pod): Promise<void>;
  endPod(pod: Pod, end: ContainerEnd): Promise<void>;
  evictPod(pod: Pod): Promise<void>;
  /** Assigns the pod to a node that does not exist, so that its deletion waits for the kubelet, which the test simulates. */
  assignPod(pod: Pod): Promise<void>;
  /** Confirms the deletion of an assigned pod, as the kubelet does when its containers have ended. */
  confirmDeletion(pod: Pod): Promise<void>;
  /** Publishes with the pod's own credential. */
  publish(message: PodProgress | PodStored | PodFailed | string): Promise<void>;
  /** Uploads through the pod's own links, the statement of the results last. @returns the final message of the pod, to be published */
  upload(pod: Pod, export_: Uint8Array, pdf?: Uint8Array, pages?: PodStored['pages'], version?: string): Promise<PodStored>;
  events(): Promise<string[]>;
  /** The row as it was read after each status message. */
  messages: Pick<ScanRow, 'version' | 'phase'>[];
}

/** The dependencies of a simulated scan. */
export interface SimulationDeps {
  connection: KubernetesConnection;
  stores: Pick<AllStores, 'scans'>;
  bus: MessageBus;
  organisation: string;
  apiNamespace: string;
  onClose: (close: () => Promise<unknown>) => void;
}

interface JobWithVolumes extends KubernetesObject {
  spec: { template: { spec: { volumes: { name: string; secret: { secretName: string } }[] } } };
}

export const isGone = (error: unknown): boolean => error instanceof KubernetesError && error.code === 404;

/** Reads an object; returns null if it does not exist. */
export async function getIfThere<T>(
  connection: KubernetesConnection,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
): Promise<T | null> {
  try {
    return await connection.request<T>('GET', connection.path(type, namespace, name));
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Follows a newly created scan and simulates its pod. */
export function simulateScan(
  { connection, stores, bus, organisation, apiNamespace, onClose }: SimulationDeps,
  created: AccessibilityScan,
): Scan {
  const { name } = created.metadata;
  const at = created.metadata.namespace!;
  const id = scanIdOf(created, apiNamespace);
  const received: Scan['messages'] = [];
  let reading: Promise<unknown> = Promise.resolve();
  const unfollow = bus.followStatus(organisation, id, () => {
    reading = reading.then(async () => received.push((await stores.scans.find(id))!));
  });
  onClose(async () => (unfollow(), void (await reading)));
  async function list<T>(type: ResourceType, labelSelector: string): Promise<T[]> {
    return (await connection.request<{ items: T[] }>('GET', connection.path(type, at), { query: { labelSelector } })).items;
  }
  const get = <T>(type: ResourceType, of: string, object: string) => getIfThere<T>(connection, type, of, object);
  const read = () => get<AccessibilityScan>(SCANS, at, name);

  const scan: Scan = {
    id,
    namespace: at,
    name,
    messages: received,
    read,
    row: () => stores.scans.find(id),
    async reaches(what, is) {
      let last: AccessibilityScan | null = null;
      try {
        return await until(
          `the scan is ${what}`,
          async () => {
            last = await read();
            return last !== null && is(last) ? last : null;
          },
          WAIT_MS,
        );
      } catch (error) {
        throw new Error(`${(error as Error).message}; its status is ${JSON.stringify((last as AccessibilityScan | null)?.status)}`);
      }
    },
    settles: () => scan.reaches('settled', ({ status, metadata }) => status?.completionTime !== undefined && !metadata.finalizers?.length),
    patch: (body) => connection.request('PATCH', connection.path(SCANS, at, name), { contentType: MERGE, body }),
    async remove() {
      await connection.request('DELETE', connection.path(SCANS, at, name), { body: { propagationPolicy: 'Background' } });
    },
    job: () => get<Job>(JOBS, at, jobNameOf(id)),
    async pods() {
      const pods = await list<Pod>(PODS, `curbcut.dev/scan-id=${id}`);
      return pods.toSorted(
        (a, b) =>
          a.metadata.creationTimestamp!.localeCompare(b.metadata.creationTimestamp!) || a.metadata.name.localeCompare(b.metadata.name),
      );
    },
    async pod(attempt = 1) {
      const seen = (pod: Pod) => !taken.has(pod.metadata.uid!);
      const pod = await until(`pod ${attempt} of the scan`, async () => (await scan.pods()).find(seen), POD_WAIT_MS);
      taken.add(pod.metadata.uid!);
      return pod;
    },
    async input() {
      const job = await get<JobWithVolumes>(JOBS, at, jobNameOf(id));
      const { secretName } = job!.spec.template.spec.volumes.find((volume) => volume.name === 'input')!.secret;
      const secret = await get<KubernetesObject & { data: Record<string, string> }>(SECRETS, at, secretName);
      return JSON.parse(Buffer.from(secret!.data['scan.json']!, 'base64').toString()) as PodInput;
    },
    async setPod(pod, status) {
      await connection.request('PATCH', connection.path(PODS, at, pod.metadata.name, 'status'), { contentType: MERGE, body: { status } });
    },
    startPod: (pod) => scan.setPod(pod, { phase: 'Running', containerStatuses: [container({ running: { startedAt: stamp() } }, true)] }),
    endPod: (pod, end) =>
      scan.setPod(pod, {
        phase: end.exitCode === 0 ? 'Succeeded' : 'Failed',
        containerStatuses: [
          container(
            { terminated: { reason: end.exitCode === 0 ? 'Completed' : 'Error', startedAt: stamp(), finishedAt: stamp(), ...end } },
            false,
          ),
        ],
      }),
    evictPod: (pod) =>
      scan.setPod(pod, {
        phase: 'Failed',
        reason: 'Evicted',
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', lastTransitionTime: stamp() }],
        containerStatuses: [container({ terminated: { exitCode: 137, reason: 'Error', startedAt: stamp(), finishedAt: stamp() } }, false)],
      }),
    async assignPod({ metadata }) {
      const path = connection.path(PODS, at, metadata.name);
      const target = { apiVersion: 'v1', kind: 'Node', name: 'curbcut-test-nowhere' };
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target };
      await connection.request('POST', `${path}/binding`, { body }).catch((error: unknown) => {
        if (!isGone(error)) throw error;
        // The embedded Kubernetes has no bindings.
        return connection.request('PATCH', path, { contentType: MERGE, body: { spec: { nodeName: target.name } } });
      });
    },
    async confirmDeletion({ metadata }) {
      const path = connection.path(PODS, at, metadata.name);
      await connection.request('DELETE', path, { body: { gracePeriodSeconds: 0 } }).catch((error: unknown) => {
        if (!isGone(error)) throw error;
      });
    },
    async publish(message) {
      const { messages: grant } = await scan.input();
      const pod = await connect({
        servers: grant!.url,
        authenticator: jwtAuthenticator(grant!.jwt, Buffer.from(grant!.seed)),
        reconnect: false,
      });
      // The operator refuses messages of pods that it has not seen. The status counts the attempts that it has seen.
      if (typeof message !== 'string')
        await scan.reaches('launched and its pod observed', ({ status }) => (status?.attempts ?? 0) > message.attempt);
      pod.publish(grant!.subject, typeof message === 'string' ? message : JSON.stringify(message));
      await pod.flush();
      await pod.close();
    },
    async upload(pod, export_, pdf = PDF, pages = { scanned: 2, failed: 0, total: 2 }, version = CURBCUT_VERSION) {
      const { uploads } = await scan.input();
      const slot = uploadSlotOf(uploads, identityOf(pod))!;
      const stored: PodStored = {
        kind: 'stored',
        scanId: id,
        ...identityOf(pod),
        pages,
        export: digestOf(export_),
        pdf: digestOf(pdf),
        version,
      };
      for (const [link, body, type] of [
        [slot.export, export_, 'application/json'],
        [slot.pdf, pdf, 'application/pdf'],
        [slot.result, Buffer.from(JSON.stringify(stored)), 'application/json'],
      ] as const) {
        const response = await fetch(link, { method: 'PUT', body: new Uint8Array(body), headers: { 'content-type': type } });
        if (!response.ok) throw new Error(`the upload was refused: ${response.status} ${await response.text()}`);
      }
      return stored;
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

const stamp = () => `${new Date().toISOString().slice(0, 19)}Z`;

function container(state: object, ready: boolean): object {
  return { name: 'scanner', image: 'curbcut.test/nowhere:none', imageID: '', ready, restartCount: 0, started: ready, state };
}

export function reasonOf(scan: AccessibilityScan, type: string): string | undefined {
  return conditionOf(scan.status?.conditions, type)?.reason;
}

export function statusOf(scan: AccessibilityScan, type: string): string | undefined {
  return conditionOf(scan.status?.conditions, type)?.status;
}
