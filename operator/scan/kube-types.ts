/** The Kubernetes resources that the operator uses, and predicates for Jobs, pods and scans. */
import type { V1ContainerState, V1ContainerStatus, V1JobSpec, V1JobStatus, V1PodStatus } from '@kubernetes/client-node';
import {
  type AccessibilityScan,
  classOf,
  GROUP,
  type KubernetesObject,
  type ObjectMeta,
  ORGANISATION_LABEL,
  queueOf,
  QUEUES_PLURAL,
  SCAN_ID_LABEL,
  scanIdOf,
  SCANS_PLURAL,
  SCHEDULES_PLURAL,
  VERSION,
} from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { POD_IDENTITY_ANNOTATIONS } from '../../core/protocol/pod-messages.ts';
import type { ResourceType, Wire } from '../../platform/kubernetes/kubernetes.ts';
import { type Cache, fromKey, toKey } from '../runtime/cache.ts';
import type { Manager } from '../runtime/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
export const SCANS: ResourceType = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };
export const QUEUES: ResourceType = { group: GROUP, version: VERSION, plural: QUEUES_PLURAL };
export const SCHEDULES: ResourceType = { group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL };
export const JOBS: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs' };
export const PODS: ResourceType = { group: '', version: 'v1', plural: 'pods' };
export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

/** batch/v1 Job, reduced to the fields that the caches hold. */
export interface Job extends KubernetesObject {
  spec?: Pick<Wire<V1JobSpec>, 'activeDeadlineSeconds' | 'backoffLimitPerIndex' | 'suspend'>;
  status?: Pick<Wire<V1JobStatus>, 'conditions'>;
}

type ContainerStatus = Pick<Wire<V1ContainerStatus>, 'name' | 'image' | 'state'>;

/** core/v1 Pod, reduced to the fields that the caches hold. */
export interface Pod extends KubernetesObject {
  status?: Pick<Wire<V1PodStatus>, 'phase' | 'reason' | 'message' | 'conditions'> & { containerStatuses?: ContainerStatus[] };
}

/**
 * Reduces a Job to the fields that the operator reads. With a thousand scans, the other fields would dominate the operator's
 * memory. Never write such an object back.
 */
export function essentialJob({ apiVersion, kind, metadata, spec, status }: Job): Job {
  return {
    apiVersion,
    kind,
    metadata: essentialMeta(metadata, JOB_ANNOTATIONS),
    ...(spec && { spec: essentialSpec(spec) }),
    ...(status && { status: { conditions: status.conditions } }),
  };
}

function essentialSpec({ activeDeadlineSeconds, backoffLimitPerIndex, suspend }: NonNullable<Job['spec']>): Job['spec'] {
  return { activeDeadlineSeconds, backoffLimitPerIndex, ...(suspend === true && { suspend }) };
}

/** On Jobs: the image that the operator chose for their pods. An admission webhook may rewrite the one of the containers. */
export const IMAGE_ANNOTATION = 'curbcut.dev/scanner-image';
const JOB_ANNOTATIONS: readonly string[] = [IMAGE_ANNOTATION];
const POD_ANNOTATIONS: readonly string[] = Object.values(POD_IDENTITY_ANNOTATIONS);

/** Reduces a pod to the fields that the operator reads, including the annotations that identify its attempt. */
export function essentialPod({ apiVersion, kind, metadata: whole, status }: Pod): Pod {
  const metadata = essentialMeta(whole, POD_ANNOTATIONS);
  if (status === undefined) return { apiVersion, kind, metadata };
  const { phase, reason, message, conditions } = status;
  const containerStatuses = status.containerStatuses?.map(({ name, image, state }) => ({ name, image, state }));
  return { apiVersion, kind, metadata, status: { phase, reason, message, conditions, containerStatuses } };
}

function essentialMeta(metadata: ObjectMeta, kept: readonly string[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, ownerReferences } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([annotation]) => kept.includes(annotation));
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp && { deletionTimestamp }),
    labels,
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    ownerReferences,
  };
}

export const CONTAINER = 'scanner';

export function isOwnedBy(object: KubernetesObject, uid: string): boolean {
  return object.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) ?? false;
}

/** The reference of an object that its owner controls. */
export const ownerReference = ({ apiVersion, kind, metadata: { name, uid } }: KubernetesObject) =>
  ({ apiVersion, kind, name, uid: uid!, controller: true, blockOwnerDeletion: true }) as const;

/** The uid of the object's controller as the values of an index; empty if it has none. */
export function controllerUids({ metadata }: KubernetesObject): string[] {
  return metadata.ownerReferences?.filter(({ controller }) => controller).map(({ uid }) => uid) ?? [];
}

/** Returns how a Job ended, or null while it runs. Do not rely on `active`: it is 0 between two pods. */
export function jobEnd(job: Job): { succeeded: boolean; reason: string; message: string; at: Date | null } | null {
  for (const type of ['Complete', 'Failed'] as const) {
    const condition = conditionOf(job.status?.conditions, type);
    if (condition?.status !== 'True') continue;
    const at = condition.lastTransitionTime === undefined ? null : new Date(condition.lastTransitionTime);
    return { succeeded: type === 'Complete', reason: condition.reason ?? '', message: condition.message ?? '', at };
  }
  return null;
}

export function isPodTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Returns whether a pod has not started yet: it waits for its node, image or volumes. */
export function isPending(pod: Pod): boolean {
  return !isPodTerminal(pod) && pod.status?.phase !== 'Running';
}

/** The state of the scanner container; empty if it is not known yet. */
export function scannerState(pod: Pod): Wire<V1ContainerState> {
  return scannerOf(pod)?.state ?? {};
}

/** The image of the scanner container; undefined before the pod is scheduled. */
export function scannerImage(pod: Pod): string | undefined {
  return scannerOf(pod)?.image || undefined;
}

function scannerOf(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find((status) => status.name === CONTAINER);
}

export const isAdmitted = ({ status }: AccessibilityScan): boolean => conditionOf(status?.conditions, 'Admitted')?.status === 'True';

/** The admission time; null if the scan is not admitted. */
export function admittedAt({ status }: AccessibilityScan): Date | null {
  const condition = conditionOf(status?.conditions, 'Admitted');
  return condition?.status === 'True' ? new Date(condition.lastTransitionTime) : null;
}

/** Reads and writes the scans of the cluster, with reads from a cache that includes own writes. */
export type ScanClient = ResourceClient<AccessibilityScan>;

interface WatchedScans {
  namespace: string;
  watchNamespaces: readonly string[];
  operatorClass: string;
}

/**
 * Returns whose work a scan is, so that no one's work delays that of others: its namespace, and in the API's namespace, where all
 * organisations have scans, also its organisation. Of manifests the label does not count, because their authors write it.
 */
export const shareOfScans =
  (scans: Pick<ScanClient, 'get'>, apiNamespace: string) =>
  (key: string): string => {
    const { namespace, name } = fromKey(key);
    if (namespace !== apiNamespace) return namespace;
    const { status, metadata } = scans.get(namespace, name) ?? {};
    return toKey(namespace, status?.organisation ?? metadata?.labels?.[ORGANISATION_LABEL] ?? '');
  };

/** Watches the scans of the operator's class in the installation's namespaces, indexed by scan ID, queue, and the uid of the owner. */
export const watchScans = (
  manager: Pick<Manager, 'watchResource'>,
  { namespace, watchNamespaces, operatorClass }: WatchedScans,
): ScanClient =>
  manager.watchResource<AccessibilityScan>({
    resource: SCANS,
    namespaces: watchNamespaces,
    // Here and not with a field selector, which Kubernetes supports for custom resources only from 1.31.
    accepts: (scan) => classOf(scan) === operatorClass,
    indexes: { id: (scan) => [scanIdOf(scan, namespace)], queue: (scan) => [queueOf(scan)], owner: controllerUids },
  });

export const watchJobs = (manager: Pick<Manager, 'watchResource'>, namespaces: readonly string[]): ResourceClient<Job> =>
  manager.watchResource<Job>({ resource: JOBS, namespaces, labelSelector: SCAN_ID_LABEL, keep: essentialJob });

/** Watches the pods of scans, indexed by the uid of their Job. */
export const watchPods = (manager: Pick<Manager, 'watch'>, namespaces: readonly string[]): Cache<Pod> =>
  manager.watch<Pod>({ resource: PODS, namespaces, labelSelector: SCAN_ID_LABEL, keep: essentialPod, indexes: { owner: controllerUids } });
