/** The custom resources as they are on the wire (`crds/` holds their schemas), and the names derived from them. */
import { readTraceparent } from './traceparent.ts';
import type { GivenOptions } from '../scan/options.ts';
import type { OutcomeStatus } from '../scan/outcome.ts';
import type { Phase } from '../scan/phases.ts';

export const GROUP = 'curbcut.dev';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const SCANS_PLURAL = 'accessibilityscans';
export const QUEUES_PLURAL = 'scanqueues';

/** The scan id that the API gave; trusted only in the namespace that the API writes to. */
export const SCAN_ID_ANNOTATION = 'curbcut.dev/scan-id';
/** The HTTP request that submitted a scan: the thread through the logs. */
export const REQUEST_ID_ANNOTATION = 'curbcut.dev/request-id';
/** A caller's own request id is taken over only if it cannot break a log, a header or a shell. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:~+/=@-]{0,127}$/;
/** The W3C traceparent of the request that submitted a scan. */
export const TRACEPARENT_ANNOTATION = 'curbcut.dev/traceparent';
/** On Jobs, pods and Secrets: the scan they belong to, by id. */
export const SCAN_ID_LABEL = 'curbcut.dev/scan-id';
/** On scans and all that they own: the organisation that is charged. */
export const ORGANISATION_LABEL = 'curbcut.dev/organisation';
/** Keeps a scan until its credits are settled and its end is mirrored. */
export const SETTLE_FINALIZER = 'curbcut.dev/settle';
/** The one queue that exists in this version, in the operator's namespace. */
export const DEFAULT_QUEUE = 'default';

/** What every Kubernetes object of ours carries. Raw JSON: times are RFC 3339 strings. */
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
  /** A Secret in the scan's namespace that signs the scan in; mounted by the pod, never read by the operator. */
  auth?: { secretRef: { name: string } };
  cancel?: boolean;
  ttlSecondsAfterFinished?: number;
  /** What the operator lays over the scanner's pod. */
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
  conditions?: Condition[];
  observedGeneration?: number;
  startTime?: string;
  completionTime?: string;
  pages?: { requested: number; reserved: number; scanned: number; failed: number };
  passed?: boolean;
  message?: string;
  attempts?: number;
  jobName?: string;
  /** The pod of the last attempt. */
  podName?: string;
  /** Where the API gives the report links out, relative to its base address, and the stored objects as they were when they were checked. */
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

export interface ScanQueue extends KubernetesObject {
  spec: { paused?: boolean; maxRunning?: number };
  status?: { queued: number; running: number; oldestWaitSeconds: number; observedGeneration?: number };
}

/**
 * The scan's id: what the API gave it where the scan lives in the API's own namespace, else the object's uid.
 * (Anyone may write annotations in a namespace of their own; nobody may pick a uid.)
 */
export function scanIdOf(scan: AccessibilityScan, apiNamespace: string): string {
  const given = scan.metadata.annotations?.[SCAN_ID_ANNOTATION];
  if (given !== undefined && scan.metadata.namespace === apiNamespace) return given;
  if (scan.metadata.uid === undefined) throw new TypeError('a scan that was read from the API server has a uid');
  return scan.metadata.uid;
}

/** The request that submitted a scan, if it says so in words that a log can hold: anyone may write annotations. */
export function requestOf(scan: AccessibilityScan): string | undefined {
  const given = scan.metadata.annotations?.[REQUEST_ID_ANNOTATION];
  return given !== undefined && REQUEST_ID.test(given) ? given : undefined;
}

/** The trace that a scan is part of, if it says so. */
export function traceOf(scan: AccessibilityScan): string | undefined {
  const given = scan.metadata.annotations?.[TRACEPARENT_ANNOTATION];
  return readTraceparent(given) === null ? undefined : given;
}

/** The name of the resource that the API makes for a scan: derived, so that a second create is a conflict and not a second scan. */
export function resourceNameOf(scanId: string): string {
  return `scan-${scanId}`;
}

/** The name of a scan's Job in its given attempt's life; one Job a scan. */
export function jobNameOf(scanId: string): string {
  return `scan-${scanId}`;
}

/** The name of the Secret that tells a scan's pod what to do. */
export function secretNameOf(scanId: string): string {
  return `scan-${scanId}-input`;
}
