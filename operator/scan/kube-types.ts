/** Jobs and pods as the API server gives them, as far as a scan needs them, and the questions that are asked of them. */
import type { AccessibilityScan, Condition, KubernetesObject, ObjectMeta } from '../../core/protocol/custom-resources.ts';
import { GROUP, QUEUES_PLURAL, SCANS_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../runtime/conditions.ts';
import type { ResourceType } from '../../platform/kubernetes/kubernetes.ts';

export const SCANS: ResourceType = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };
export const QUEUES: ResourceType = { group: GROUP, version: VERSION, plural: QUEUES_PLURAL };
export const JOBS: ResourceType = { group: 'batch', version: 'v1', plural: 'jobs' };
export const PODS: ResourceType = { group: '', version: 'v1', plural: 'pods' };
export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };
export const EVENTS: ResourceType = { group: '', version: 'v1', plural: 'events' };

interface StatusCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** batch/v1 Job. */
export interface Job extends KubernetesObject {
  spec?: { activeDeadlineSeconds?: number };
  status?: { conditions?: StatusCondition[] };
}

interface ContainerStatus {
  name: string;
  image?: string;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: { exitCode: number; reason?: string; message?: string; finishedAt?: string };
  };
}

/** core/v1 Pod. */
export interface Pod extends KubernetesObject {
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: StatusCondition[];
    containerStatuses?: ContainerStatus[];
  };
}

/**
 * What is worth holding of a Job: of a thousand, the rest is the most of the operator's memory. Nobody may write such an
 * object back.
 */
export function essentialJob({ apiVersion, kind, metadata, spec, status }: Job): Job {
  return {
    apiVersion,
    kind,
    metadata: essentialMeta(metadata),
    ...(spec && { spec: { activeDeadlineSeconds: spec.activeDeadlineSeconds } }),
    ...(status && { status: { conditions: status.conditions } }),
  };
}

/** Likewise of a pod. */
export function essentialPod({ apiVersion, kind, metadata, status }: Pod): Pod {
  if (status === undefined) return { apiVersion, kind, metadata: essentialMeta(metadata) };
  const { phase, reason, message, conditions } = status;
  const containerStatuses = status.containerStatuses?.map(({ name, image, state }) => ({ name, image, state }));
  return { apiVersion, kind, metadata: essentialMeta(metadata), status: { phase, reason, message, conditions, containerStatuses } };
}

function essentialMeta(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, ownerReferences } = metadata;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp && { deletionTimestamp }),
    labels,
    ownerReferences,
  };
}

/** A scan without the API server's notes on who wrote which of its fields: they are as long as the rest. */
export function withoutFieldOwners(scan: AccessibilityScan): AccessibilityScan {
  const { managedFields: _, ...metadata } = scan.metadata as ObjectMeta & { managedFields?: unknown };
  return { ...scan, metadata };
}

/** The name of the one container of a scanner's pod. */
export const CONTAINER = 'scanner';

/** True if the object is owned, as its controller, by what has this uid. */
export function isOwnedBy(object: KubernetesObject, uid: string): boolean {
  return object.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) ?? false;
}

/** How a Job ended, if it did. `active == 0` does not say so: a Job between two pods has none. */
export function jobEnd(job: Job): { succeeded: boolean; reason: string; message: string; at: Date | null } | null {
  for (const type of ['Complete', 'Failed'] as const) {
    const condition = conditionOf(job.status?.conditions, type);
    if (condition?.status !== 'True') continue;
    const at = condition.lastTransitionTime === undefined ? null : new Date(condition.lastTransitionTime);
    return { succeeded: type === 'Complete', reason: condition.reason ?? '', message: condition.message ?? '', at };
  }
  return null;
}

/** True once a pod has run to its end, well or not. */
export function isOver(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** True while a pod has been taken on but does not run: its image, its volumes or its node are missing. */
export function isPending(pod: Pod): boolean {
  return !isOver(pod) && pod.status?.phase !== 'Running';
}

/** The scanner container's state. */
export function scannerState(pod: Pod): NonNullable<ContainerStatus['state']> {
  return scannerOf(pod)?.state ?? {};
}

/** The image that the scanner container is made from, as soon as a node has the pod. */
export function scannerImage(pod: Pod): string | undefined {
  return scannerOf(pod)?.image || undefined;
}

function scannerOf(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find((status) => status.name === CONTAINER);
}

/** Pods from the first attempt to the last. Two of the same second are told apart by name, always the same way. */
export function byAge<T extends KubernetesObject>(objects: readonly T[]): T[] {
  const age = (object: T) => object.metadata.creationTimestamp ?? '';
  return objects.toSorted((a, b) => age(a).localeCompare(age(b)) || a.metadata.name.localeCompare(b.metadata.name));
}

/** True once the scan has its place among the running. */
export function isAdmitted(scan: AccessibilityScan): boolean {
  return admitted(scan)?.status === 'True';
}

/** Since when the scan has its place; null while it has none. */
export function admittedAt(scan: AccessibilityScan): Date | null {
  const condition = admitted(scan);
  return condition?.status === 'True' ? new Date(condition.lastTransitionTime) : null;
}

function admitted(scan: AccessibilityScan): Condition | undefined {
  return conditionOf(scan.status?.conditions, 'Admitted');
}
