/** Creates, reads and deletes a scan's Job, Secret and pods. Each step is idempotent. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { SCAN_ID_LABEL, jobNameOf } from '../../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../../platform/kubernetes/kubernetes.ts';
import { JOBS, PODS, SECRETS, essentialJob, essentialPod, isOwnedBy, type Job, type Pod } from '../kube-types.ts';
import { timestamp } from '../../../platform/clock.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import type { InputSecret } from './secret.ts';

/** The API server rejected an object permanently: a foreign object has its name (`taken`), or the request was refused. */
export class ChildRefused extends Error {
  readonly kind: 'taken' | 'refused';
  constructor(kind: 'taken' | 'refused', message: string) {
    super(message);
    this.name = 'ChildRefused';
    this.kind = kind;
  }
}

export interface Children {
  /** Reads the scan's Job from the API server. Returns null if it has none. */
  readJob(scan: AccessibilityScan, scanId: string, signal: AbortSignal): Promise<Job | null>;
  /** Creates the Secret. Never accepts an existing one, which anybody may have created. @throws ChildRefused; KubernetesError 409 if the name is taken */
  createSecret(secret: InputSecret, signal: AbortSignal): Promise<void>;
  /** Creates the suspended Job, or returns the existing one if it was resumed. Deletes one that is still suspended. @throws ChildRefused */
  createJob(scan: AccessibilityScan, job: Job, signal: AbortSignal): Promise<Job>;
  /** Lets the Job controller create the pods of a Job. */
  resumeJob(job: Job, signal: AbortSignal): Promise<Job>;
  /** Lets the Job controller delete the pods of a Job, which then have the time of their grace period. The Job and its ended pods stay. */
  suspendJob(job: Job, signal: AbortSignal): Promise<Job>;
  /** Lists a Job's pods on the API server. */
  listPods(job: Job, scanId: string, signal: AbortSignal): Promise<Pod[]>;
  /** Deletes a Job and its pods. No error if it does not exist. */
  removeJob(job: Job, signal: AbortSignal): Promise<void>;
  /** Marks a pod on a lost node as failed, as the pod garbage collector does when a node is deleted. */
  failLostPod(pod: Pod, now: Date, signal: AbortSignal): Promise<void>;
}

const isCode = (error: unknown, ...codes: number[]): error is KubernetesError =>
  error instanceof KubernetesError && codes.includes(error.code);

export function createChildren(connection: KubernetesConnection): Children {
  return {
    readJob: (scan, scanId, signal) => readJob(connection, scan, scanId, signal),
    createSecret: (secret, signal) => createSecret(connection, secret, signal),
    createJob: (scan, job, signal) => createJob(connection, scan, job, signal),
    resumeJob: (job, signal) => setSuspended(connection, job, false, signal),
    suspendJob: (job, signal) => setSuspended(connection, job, true, signal),
    listPods: (job, scanId, signal) => listPods(connection, job, scanId, signal),
    removeJob: (job, signal) => deleteJob(connection, job, { uid: job.metadata.uid }, signal),
    failLostPod: (pod, now, signal) => failLostPod(connection, pod, now, signal),
  };
}

async function readJob(
  connection: KubernetesConnection,
  scan: AccessibilityScan,
  scanId: string,
  signal: AbortSignal,
): Promise<Job | null> {
  try {
    const job = await connection.request<Job>('GET', connection.path(JOBS, scan.metadata.namespace, jobNameOf(scanId)), { signal });
    return isOwnedBy(job, scan.metadata.uid!) ? job : null;
  } catch (error) {
    if (isCode(error, 404)) return null;
    throw error;
  }
}

async function createSecret(connection: KubernetesConnection, secret: InputSecret, signal: AbortSignal): Promise<void> {
  try {
    await connection.request('POST', connection.path(SECRETS, secret.metadata.namespace), { body: secret, signal });
  } catch (error) {
    if (isCode(error, 400, 403, 422)) throw new ChildRefused('refused', error.message);
    throw error;
  }
}

async function createJob(connection: KubernetesConnection, scan: AccessibilityScan, job: Job, signal: AbortSignal): Promise<Job> {
  try {
    return essentialJob(await connection.request<Job>('POST', connection.path(JOBS, job.metadata.namespace), { body: job, signal }));
  } catch (error) {
    if (isCode(error, 400, 403, 422)) throw new ChildRefused('refused', error.message);
    if (!isCode(error, 409)) throw error;
    const there = await connection.request<Job>('GET', connection.path(JOBS, job.metadata.namespace, job.metadata.name), { signal });
    if (there.metadata.uid === scan.status?.replacedJob) throw new Error(`the replaced Job ${job.metadata.name} is not deleted yet`);
    if (!isOwnedBy(there, scan.metadata.uid!)) throw new ChildRefused('taken', job.metadata.name);
    if (there.spec?.suspend !== true) return essentialJob(there);
    // Whether its Secret exists is unknown, because the operator cannot read Secrets.
    await deleteJob(connection, there, { uid: there.metadata.uid, resourceVersion: there.metadata.resourceVersion }, signal);
    throw new Error(`the launch of Job ${job.metadata.name} was interrupted, starting again`);
  }
}

async function setSuspended(connection: KubernetesConnection, { metadata }: Job, suspend: boolean, signal: AbortSignal): Promise<Job> {
  const path = connection.path(JOBS, metadata.namespace, metadata.name);
  const body = { metadata: { uid: metadata.uid }, spec: { suspend } };
  return essentialJob(await connection.request<Job>('PATCH', path, { contentType: 'application/merge-patch+json', body, signal }));
}

async function listPods(connection: KubernetesConnection, job: Job, scanId: string, signal: AbortSignal): Promise<Pod[]> {
  const query = { labelSelector: `${SCAN_ID_LABEL}=${scanId}` };
  const listing = connection.request<{ items: Pod[] }>('GET', connection.path(PODS, job.metadata.namespace), { query, signal });
  // Without the right to list, the caches are all there is.
  const { items } = await listing.catch((error: unknown) => {
    if (isCode(error, 403, 404)) return { items: [] };
    throw error;
  });
  return items.filter((pod) => isOwnedBy(pod, job.metadata.uid!)).map(essentialPod);
}

async function deleteJob(connection: KubernetesConnection, job: Job, preconditions: object, signal: AbortSignal): Promise<void> {
  const path = connection.path(JOBS, job.metadata.namespace, job.metadata.name);
  // The default policy for Jobs would not delete their pods.
  const body = { propagationPolicy: 'Background', preconditions };
  try {
    await connection.request('DELETE', path, { body, signal });
  } catch (error) {
    if (!isCode(error, 404, 409)) throw error;
  }
}

async function failLostPod(connection: KubernetesConnection, pod: Pod, now: Date, signal: AbortSignal): Promise<void> {
  const path = connection.path(PODS, pod.metadata.namespace, pod.metadata.name, 'status');
  const kept = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  const disrupted = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'NodeLost',
    message: 'The node did not terminate the pod in time.',
    lastTransitionTime: conditionOf(pod.status?.conditions, 'DisruptionTarget')?.lastTransitionTime ?? timestamp(now),
  };
  const body = {
    metadata: { uid: pod.metadata.uid },
    status: { phase: 'Failed', reason: 'NodeLost', conditions: [...kept, disrupted] },
  };
  try {
    await connection.request('PATCH', path, { contentType: 'application/merge-patch+json', body, signal });
  } catch (error) {
    if (!isCode(error, 404, 409)) throw error;
  }
}
