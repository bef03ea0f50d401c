/** Creates, reads and deletes a scan's Job, Secret and pods. Each step is idempotent. */
import type { CoreV1Event, V1Secret } from '@kubernetes/client-node';
import { type AccessibilityScan, jobNameOf, type KubernetesObject, SCAN_ID_LABEL } from '../../../core/protocol/custom-resources.ts';
import {
  hasCode,
  isForbiddenByCluster,
  isRejection,
  type KubernetesConnection,
  readIfThere,
  type ResourceType,
  type ObjectOf,
  type Wire,
} from '../../../platform/kubernetes/kubernetes.ts';
import { essentialJob, essentialPod, isOwnedBy, type Job, JOBS, type Pod, PODS, SECRETS } from '../kube-types.ts';
import { EVENTS } from '../../runtime/events.ts';
import { timestamp } from '../../../platform/clock.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import type { Manager } from '../../runtime/manager.ts';
import type { Cache } from '../../runtime/cache.ts';
/** The API server rejected an object permanently: a foreign object has its name (`taken`), or the object is `invalid`. */
export class ChildRefused extends Error {
  readonly kind: 'taken' | 'invalid';
  constructor(kind: 'taken' | 'invalid', message: string) {
    super(message);
    this.name = 'ChildRefused';
    this.kind = kind;
  }
}

export type InputSecret = ObjectOf<V1Secret> & Required<Pick<V1Secret, 'type' | 'immutable' | 'data'>>;

export type Children = ReturnType<typeof createChildren>;

export function createChildren(connection: KubernetesConnection) {
  async function create<T>(type: ResourceType, body: InputSecret | Job, signal: AbortSignal): Promise<T> {
    try {
      return await connection.request<T>('POST', connection.path(type, body.metadata.namespace), { body, signal });
    } catch (error) {
      throw isRejection(error) && !isForbiddenByCluster(error) ? new ChildRefused('invalid', error.message) : error;
    }
  }

  async function setSuspended({ metadata }: Job, suspend: boolean, signal: AbortSignal): Promise<Job> {
    const path = connection.path(JOBS, metadata.namespace, metadata.name);
    const body = { metadata: { uid: metadata.uid }, spec: { suspend } };
    return essentialJob(await connection.request<Job>('PATCH', path, { contentType: 'application/merge-patch+json', body, signal }));
  }

  async function deleteJob({ metadata }: Job, preconditions: object, signal: AbortSignal): Promise<void> {
    // The default policy for Jobs would not delete their pods.
    const body = { propagationPolicy: 'Background', preconditions };
    await unlessChanged(connection.request('DELETE', connection.path(JOBS, metadata.namespace, metadata.name), { body, signal }));
  }

  return {
    /** Reads the scan's Job from the API server. Returns null if it has none. */
    async readJob(scan: AccessibilityScan, scanId: string, signal: AbortSignal): Promise<Job | null> {
      const job = await readIfThere<Job>(connection, connection.path(JOBS, scan.metadata.namespace, jobNameOf(scanId)), { signal });
      return job !== null && isOwnedBy(job, scan.metadata.uid!) ? job : null;
    },
    /** Never accepts an existing Secret, which anybody may have created. @throws ChildRefused; KubernetesError 409 if the name is taken */
    createSecret: (secret: InputSecret, signal: AbortSignal) => create<void>(SECRETS, secret, signal),
    /** Creates the suspended Job, or returns the existing one if it was resumed. Deletes one that is still suspended. @throws ChildRefused */
    async createJob(scan: AccessibilityScan, job: Job, signal: AbortSignal): Promise<Job> {
      try {
        return essentialJob(await create<Job>(JOBS, job, signal));
      } catch (error) {
        if (!hasCode(error, 409)) throw error;
        const { namespace, name } = job.metadata;
        const there = await connection.request<Job>('GET', connection.path(JOBS, namespace, name), { signal });
        const isLeaving = there.metadata.deletionTimestamp !== undefined || there.metadata.uid === scan.status?.replacedJob;
        if (isOwnedBy(there, scan.metadata.uid!) && isLeaving) throw new Error(`the replaced Job ${name} is not deleted yet`);
        if (!isOwnedBy(there, scan.metadata.uid!)) throw new ChildRefused('taken', name);
        if (there.spec?.suspend !== true) return essentialJob(there);
        // Whether its Secret exists is unknown, because the operator cannot read Secrets.
        await deleteJob(there, { uid: there.metadata.uid, resourceVersion: there.metadata.resourceVersion }, signal);
        throw new Error(`the launch of Job ${name} was interrupted, starting again`);
      }
    },
    /** Creates the Job of a further pod. @throws ChildRefused */
    createHelper: (job: Job, signal: AbortSignal) => create<void>(JOBS, job, signal),
    /** Lets the Job controller create the pods of a Job. */
    resumeJob: (job: Job, signal: AbortSignal) => setSuspended(job, false, signal),
    /** Lets the Job controller delete the pods of a Job, which then have the time of their grace period. The Job and its ended pods stay. */
    suspendJob: (job: Job, signal: AbortSignal) => setSuspended(job, true, signal),
    async listPods(job: Job, scanId: string, signal: AbortSignal): Promise<Pod[]> {
      const query = { labelSelector: `${SCAN_ID_LABEL}=${scanId}` };
      const listing = connection.request<{ items: Pod[] }>('GET', connection.path(PODS, job.metadata.namespace), { query, signal });
      // Without the right to list, the caches are all there is.
      const { items } = await listing.catch((error: unknown) => {
        if (hasCode(error, 403, 404)) return { items: [] };
        throw error;
      });
      return items.filter((pod) => isOwnedBy(pod, job.metadata.uid!)).map(essentialPod);
    },
    /** Deletes a Job and its pods. No error if it does not exist. */
    removeJob: (job: Job, signal: AbortSignal) => deleteJob(job, { uid: job.metadata.uid }, signal),
    /** Marks a pod on a lost node as failed, as the pod garbage collector does when a node is deleted. */
    async failLostPod({ metadata, status }: Pod, now: Date, signal: AbortSignal): Promise<void> {
      const kept = (status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
      const disrupted = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'NodeLost',
        message: 'The node did not terminate the pod in time.',
        lastTransitionTime: conditionOf(status?.conditions, 'DisruptionTarget')?.lastTransitionTime ?? timestamp(now),
      };
      const body = { metadata: { uid: metadata.uid }, status: { phase: 'Failed', reason: 'NodeLost', conditions: [...kept, disrupted] } };
      const path = connection.path(PODS, metadata.namespace, metadata.name, 'status');
      await unlessChanged(connection.request('PATCH', path, { contentType: 'application/merge-patch+json', body, signal }));
    },
  };
}

/** The object may be gone, or another one may have its name by now. */
async function unlessChanged(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!hasCode(error, 404, 409)) throw error;
  });
}

/** Why the pods of Jobs do not exist or do not start: Events of the Job controller and the kubelet, from one watch per reason. */
type WholeEvent = KubernetesObject & Pick<Wire<CoreV1Event>, 'involvedObject' | 'message' | 'lastTimestamp' | 'eventTime'>;

/** core/v1 Event, reduced to the fields that the cache holds. */
export interface StartFailure extends KubernetesObject {
  involvedObject: { name?: string; uid?: string };
  message?: string;
  /** RFC 3339. */
  at: string;
}

/** The reasons that are watched, and the kind of their objects. A field selector has no "or". */
const REASONS = { FailedCreate: 'Job', FailedCreatePodSandBox: 'Pod', FailedMount: 'Pod' } as const;

/** Jobs and pods of scans have names with this prefix. It keeps the Events of others out of the caches. */
const SCAN_NAME = /^scan-/;

/** A cache for each reason, indexed by the uid of the object. Without permission to watch, only the messages of scans are less precise. */
export function watchStartFailures(manager: Pick<Manager, 'watch'>, namespaces: readonly string[]): Cache<StartFailure>[] {
  return Object.entries(REASONS).map(([reason, kind]) =>
    manager.watch<StartFailure>({
      resource: EVENTS,
      namespaces,
      fieldSelector: `reason=${reason},involvedObject.kind=${kind}`,
      optional: true,
      accepts: ({ involvedObject }) => SCAN_NAME.test(involvedObject?.name ?? ''),
      keep: (event) => essentialFailure(event as KubernetesObject as WholeEvent),
      indexes: { object: ({ involvedObject }) => (involvedObject.uid === undefined ? [] : [involvedObject.uid]) },
    }),
  );
}

function essentialFailure({ apiVersion, kind, metadata, involvedObject, message, lastTimestamp, eventTime }: WholeEvent): StartFailure {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion },
    involvedObject: { name: involvedObject?.name, uid: involvedObject?.uid },
    message,
    at: lastTimestamp ?? eventTime ?? '',
  };
}

/** Returns the message of the latest Event of a Job or pod, or null. */
export function startFailureOf(failures: readonly Pick<Cache<StartFailure>, 'byIndex'>[], object: KubernetesObject): string | null {
  return (
    failures
      .flatMap((cache) => cache.byIndex('object', object.metadata.uid!))
      .toSorted((a, b) => a.at.localeCompare(b.at))
      .at(-1)?.message ?? null
  );
}
