/** The custom resources as JSON (`crds/` holds their schemas), and the names derived from them. */
import { readTraceparent } from './traceparent.ts';
import type { Metadata } from '../scan/metadata.ts';
import type { BaselineChoice } from '../scan/baseline.ts';
import type { GivenOptions } from '../scan/options.ts';
import type { OutcomeStatus } from '../scan/outcome.ts';
import type { SignInSpec } from '../scan/sign-in.ts';
import type { Phase } from '../scan/phases.ts';

export const GROUP = 'curbcut.dev';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const SCANS_PLURAL = 'accessibilityscans';
export const QUEUES_PLURAL = 'scanqueues';
export const SCHEDULES_PLURAL = 'scanschedules';
export const ORGANISATIONS_PLURAL = 'organisations';

/** The scan ID that the API assigned. Trusted only in the API's own namespace. */
export const SCAN_ID_ANNOTATION = 'curbcut.dev/scan-id';
/** The ID of the HTTP request that submitted the scan. It correlates log lines. */
export const REQUEST_ID_ANNOTATION = 'curbcut.dev/request-id';
/** The request IDs that are accepted from callers: they are safe in logs, headers and shells. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:~+/=@-]{0,127}$/;
/** The W3C traceparent of the request that submitted the scan. */
export const TRACEPARENT_ANNOTATION = 'curbcut.dev/traceparent';
/** On Jobs, pods and Secrets: the ID of their scan. */
export const SCAN_ID_LABEL = 'curbcut.dev/scan-id';
/** On scans and the objects that they own: the organisation that is charged, for readers. Authors can change it. */
export const ORGANISATION_LABEL = 'curbcut.dev/organisation';
/** The prefix of annotations of scans: each is a pair of the scan's metadata. */
export const METADATA_ANNOTATION_PREFIX = 'metadata.curbcut.dev/';
/** On scans of test keys, with the value `true`, for readers and messages. What is charged does not depend on it. */
export const TEST_LABEL = 'curbcut.dev/test';
/** Delays the deletion of a scan until its credits are settled and its end is stored in MongoDB. */
export const SETTLE_FINALIZER = 'curbcut.dev/settle';
/** The namespace of the API's scans, the queues and the lease if none is configured: as in a release of the chart in the namespace `curbcut`. */
export const DEFAULT_NAMESPACE = 'curbcut-scans';
/** The operator class of scans that name none. The default of `spec.class` in the custom resource definition. */
export const DEFAULT_CLASS = 'curbcut';
/** The queue of scans that name none, and of all scans that organisations submit over HTTP. The default of `spec.queue`. */
export const DEFAULT_QUEUE = 'default';
/** The queue of public scans. Its places are its own, so that public scans and those of organisations never wait for each other. */
export const PUBLIC_QUEUE = 'public';
/** The queues that the operator creates if they are missing. */
export const BUILT_IN_QUEUES = [DEFAULT_QUEUE, PUBLIC_QUEUE] as const;
export type BuiltInQueue = (typeof BUILT_IN_QUEUES)[number];

export function isBuiltInQueue(name: string): name is BuiltInQueue {
  return BUILT_IN_QUEUES.some((queue) => queue === name);
}
/** The priority of scans that name none. The default of `spec.priority`. */
export const DEFAULT_PRIORITY = 0;

/** Kubernetes metadata as JSON: times are RFC 3339 strings. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean; blockOwnerDeletion?: boolean }[];
  /** Who has set which field, for server-side apply. The operator's caches do not have it. */
  managedFields?: { manager: string; operation: string; subresource?: string; fieldsV1?: object }[];
}

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** metav1.Condition. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface AccessibilityScanSpec extends GivenOptions {
  /** The operator class: only operators of this class act on the scan. Immutable. */
  class?: string;
  /** The ScanQueue, in the API's namespace. Immutable. Default: `DEFAULT_QUEUE`. */
  queue?: string;
  /** The order among the waiting scans of one organisation: higher first, then the oldest. Immutable. Default: `DEFAULT_PRIORITY`. */
  priority?: number;
  /** The sign-in to the site, with the name of a Secret. The pod mounts the Secret; the operator never reads it. Immutable. */
  auth?: SignInSpec;
  /** The earlier scan to compare with. Immutable. */
  baseline?: BaselineChoice;
  cancel?: boolean;
  /** The time for which the resource is kept after the scan has ended. Absent: until somebody deletes it. */
  ttlSecondsAfterFinished?: number;
  /** Overrides for the scanner's pod. */
  podTemplate?: {
    resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
    nodeSelector?: Record<string, string>;
    tolerations?: Record<string, unknown>[];
    affinity?: Record<string, unknown>;
    priorityClassName?: string;
    runtimeClassName?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
}

export interface AccessibilityScanStatus extends OutcomeStatus {
  phase?: Phase;
  /** The organisation that is charged. Set once, when the scan is vetted. Decisions read this field, never the label. */
  organisation?: string;
  conditions?: Condition[];
  observedGeneration?: number;
  startTime?: string;
  /** When the operator began to stop the pod of a canceled scan. Absent if there was none to stop. */
  cancelTime?: string;
  completionTime?: string;
  pages?: { requested: number; reserved: number; scanned: number; failed: number };
  passed?: boolean;
  message?: string;
  attempts?: number;
  /** The pods that the scan may have at a time, if more than one: the places that its queue has given it. */
  pods?: number;
  jobName?: string;
  /** The pod of the last attempt. */
  podName?: string;
  /** The uid of the last Job that was replaced, because it gave no results, or results of another version that cannot be verified. */
  replacedJob?: string;
  /** How often the scan went back into its queue because it could not be launched, and when it may be admitted again. */
  requeueState?: { count: number; requeueAt: string };
  /** The API paths that return the report links, relative to its base address, and the stored objects that were verified. */
  reports?: {
    pdf: string;
    json: string;
    stored?: { export: { bytes: number; sha256: string }; pdf: { bytes: number; sha256: string } };
  };
}

export interface AccessibilityScan extends KubernetesObject {
  spec: AccessibilityScanSpec;
  status?: AccessibilityScanStatus;
}

export interface ScanQueueSpec {
  paused?: boolean;
  maxRunning?: number;
  maxRunningPerOrganisation?: number;
  maxStartingPerOrganisation?: number;
  /** The namespaces whose scans may use the queue; absent: all. */
  allowedNamespaces?: string[];
  /** The IDs of the organisations whose scans may use the queue; absent: all, in the public queue only public scans. */
  allowedOrganisations?: string[];
  /** The shares of organisations that differ from 1, by organisation: one of weight 3 gets three places for each place of another. */
  weights?: Record<string, number>;
}

/** A time for which a queue was paused; without an end it still is. */
export interface QueuePause {
  startTime: string;
  endTime?: string;
}

export interface ScanQueue extends KubernetesObject {
  spec: ScanQueueSpec;
  status?: {
    queued: number;
    running: number;
    /** The running scans whose pod has not started. */
    starting?: number;
    oldestWaitSeconds: number;
    /** The pauses of the queue, oldest first. Their time is no waiting time. */
    pauses?: QueuePause[];
    /** The organisations with the most waiting scans. */
    organisations?: { name: string; queued: number; running: number; starting: number }[];
    observedGeneration?: number;
    conditions?: Condition[];
  };
}

/**
 * Returns the scan's ID: the annotation if the scan is in the API's own namespace, otherwise the object's uid. In other
 * namespaces users can write any annotation, but they cannot choose a uid.
 */
export function scanIdOf(scan: AccessibilityScan, apiNamespace: string): string {
  if (cameByApi(scan, apiNamespace)) return scan.metadata.annotations![SCAN_ID_ANNOTATION]!;
  if (scan.metadata.uid === undefined) throw new TypeError('a scan that was read from the API server has a uid');
  return scan.metadata.uid;
}

/** Whether the API submitted the scan. Every other one is a manifest. */
export function cameByApi({ metadata }: AccessibilityScan, apiNamespace: string): boolean {
  return metadata.namespace === apiNamespace && metadata.annotations?.[SCAN_ID_ANNOTATION] !== undefined;
}

/** Returns the operator class of a resource. The custom resource definitions set the default. */
export function classOf({ spec }: { spec: { class?: string } }): string {
  return spec.class ?? DEFAULT_CLASS;
}

/** Returns the name of the scan's queue. */
export function queueOf(scan: AccessibilityScan): string {
  return scan.spec.queue ?? DEFAULT_QUEUE;
}

/** Returns the scan's priority among the waiting scans of its organisation. */
export function priorityOf(scan: AccessibilityScan): number {
  return scan.spec.priority ?? DEFAULT_PRIORITY;
}

/** Returns the ID of the request that submitted the scan, or undefined if it is missing or unsafe: any user can write annotations. */
export function requestOf(scan: AccessibilityScan): string | undefined {
  const given = scan.metadata.annotations?.[REQUEST_ID_ANNOTATION];
  return given !== undefined && REQUEST_ID.test(given) ? given : undefined;
}

/** Returns the scan's traceparent, or undefined if it is missing or invalid. */
export function traceOf(scan: AccessibilityScan): string | undefined {
  const given = scan.metadata.annotations?.[TRACEPARENT_ANNOTATION];
  return readTraceparent(given) === null ? undefined : given;
}

/**
 * Returns the metadata that annotations state, unchecked. Those of a manifest count when the scan is vetted, and later changes have no
 * effect. Those of a ScanSchedule are for its run on demand.
 */
export function metadataOf({ metadata }: KubernetesObject): Metadata {
  const own = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(METADATA_ANNOTATION_PREFIX));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(METADATA_ANNOTATION_PREFIX.length), value]));
}

export function metadataAnnotations(metadata: Metadata): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [METADATA_ANNOTATION_PREFIX + key, value]));
}

/** The name of the resource that the API creates for a scan. It is derived from the ID, so a repeated create is a conflict, not a second scan. */
export function resourceNameOf(scanId: string): string {
  return `scan-${scanId}`;
}

/** The name of a scan's Job. Each scan has one Job. */
export function jobNameOf(scanId: string): string {
  return `scan-${scanId}`;
}
