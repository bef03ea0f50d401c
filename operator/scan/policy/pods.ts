/** The pods of a scan: their attempts and upload slots, why one does not start, and how the last one ended. Pure. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import type { FailureReason } from '../../../core/scan/phases.ts';
import type { RequeueReason } from './condition-reasons.ts';
import { type Job, isPodTerminal, type Pod, scannerImage, scannerState } from '../kube-types.ts';
import { POD_IDENTITY_ANNOTATIONS, podIdentity, type PodIdentity } from '../../../core/protocol/pod-messages.ts';

/**
 * The number of evictions and lost nodes that have upload slots, in addition to the retries after crashes. Kubernetes does
 * not limit disruptions. More than three per scan are rare; later attempts share the last slot.
 */
const DISRUPTIONS = 3;

export function identityOf(pod: Pod): PodIdentity {
  const count = (name: keyof typeof POD_IDENTITY_ANNOTATIONS) => Number(pod.metadata.annotations?.[POD_IDENTITY_ANNOTATIONS[name]] ?? 0);
  return podIdentity({
    JOB_COMPLETION_INDEX: count('JOB_COMPLETION_INDEX'),
    JOB_INDEX_FAILURE_COUNT: count('JOB_INDEX_FAILURE_COUNT'),
    JOB_INDEX_IGNORED_FAILURE_COUNT: count('JOB_INDEX_IGNORED_FAILURE_COUNT'),
  });
}

export function byAttempt(pods: readonly Pod[]): Pod[] {
  const age = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  return pods.toSorted((a, b) => identityOf(a).attempt - identityOf(b).attempt || age(a).localeCompare(age(b)));
}

/**
 * Returns whether a pod of this attempt exists or existed. Attempts have no gaps, so a pod of a later attempt proves the
 * earlier ones, whose pods may be deleted. An attempt without a pod cannot have sent or stored anything.
 */
export function hadPod(pods: readonly Pod[], attempt: number): boolean {
  return pods.some((pod) => identityOf(pod).attempt >= attempt);
}

/** The largest setting for the number of retries after crashes. */
export const RETRIES_MAX = 10;
/** The number of pods that a scan may lose: deleted ones, evictions and lost nodes. More than any setting of the retries. */
export const LOST_MAX = RETRIES_MAX + 1;

/** The retries after crashes that were set when a Job was created. Those of earlier versions do not allow for lost pods. */
export function retriesOf({ spec }: Job): number | undefined {
  const limit = spec?.backoffLimitPerIndex;
  return limit === undefined || limit <= RETRIES_MAX ? limit : limit - LOST_MAX;
}

/** Whether the scanner itself ended a pod. One that was deleted, evicted or never started is lost. */
const hasCrashed = (pod: Pod): boolean =>
  pod.status?.phase === 'Failed' &&
  pod.metadata.deletionTimestamp === undefined &&
  conditionOf(pod.status.conditions, 'DisruptionTarget')?.status !== 'True' &&
  scannerState(pod).terminated !== undefined;

/** The pods of a Job that crashed, and the number of those that were lost. @param attempts the pods that it has had, deleted ones included */
export function failuresOf(pods: readonly Pod[], attempts: number): { crashed: Pod[]; lost: number } {
  const crashed = pods.filter(hasCrashed);
  const newest = pods.at(-1);
  const goesOn = newest !== undefined && (!isPodTerminal(newest) || newest.status?.phase === 'Succeeded');
  return { crashed, lost: Math.max(0, attempts - crashed.length - (goesOn ? 1 : 0)) };
}

/** The identities that get upload links at launch, ordered by attempt. @param retries after crashes */
export function uploadSlots(retries: number): PodIdentity[] {
  return Array.from({ length: retries + DISRUPTIONS + 1 }, (_, attempt) => ({ attempt, shard: 0 }));
}

/** A condition reason, and the end of the sentence "The scanner could not start …: ". */
export type PodProblem =
  | {
      reason: FailureReason;
      message: string;
      /** The pod will not start, however long it waits. */
      hopeless?: boolean;
    }
  | { reason: RequeueReason; message: string };

/** What kubelets, containerd, CRI-O and runc say about a node without user namespaces, or without ID-mapped mounts for them. */
const USER_NAMESPACES = /user ?namespaces?\b|\buserns\b|MOUNT_ATTR_IDMAP|id-?mapp?ed mounts?|\bidmap|max_user_namespaces/i;

/** The beginning of messages of the reason FailedCreatePodSandBox. */
const SANDBOX = /^Failed (to )?create pod sandbox/;
/** Names, of which authors of scans choose some. */
const QUOTED = /"[^"]*"/g;

const IMAGE = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
const CONTAINER_CONFIG = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError', 'CreateContainerFailed']);

const sentence = (text: string | undefined): string => (text ?? '').trim().replace(/\.?$/, '.');

/**
 * Returns why an existing pod does not run yet.
 * @param warning the message of its last FailedCreatePodSandBox or FailedMount Event, if any
 */
export function diagnosePendingPod(pod: Pod, scan: AccessibilityScan, warning: string | null = null): PodProblem {
  const { waiting } = scannerState(pod);
  const reason = waiting?.reason ?? '';
  // The state of the container is current. The Event may be over: the latest one stays.
  const isCurrent = CONTAINER_CONFIG.has(reason);
  const reported = (isCurrent ? waiting?.message : warning) ?? '';
  const secret = scan.spec.auth?.secretRef.name;
  if (secret !== undefined && reported.includes(`secret "${secret}" not found`))
    return {
      reason: 'SignInSecretMissing',
      message: `the Secret of the sign-in does not exist (${sentence(reported)}) Check that the Secret ${secret} exists in namespace ${scan.metadata.namespace}.`,
    };
  const isOfRuntime = isCurrent ? reason !== 'CreateContainerConfigError' : SANDBOX.test(reported);
  if (isOfRuntime && USER_NAMESPACES.test(reported.replaceAll(QUOTED, '')))
    return {
      reason: 'UserNamespacesUnavailable',
      message: `the node cannot start pods with user namespaces (${sentence(reported)}) They need Linux 6.3, containerd 2.0 or CRI-O 1.25, and runc 1.2 or crun 1.9. Ask the administrator of this installation to scan on other nodes (scanner.nodeSelector of the chart) or without user namespaces (scanner.hostUsers: true).`,
      hopeless: true,
    };
  if (IMAGE.has(reason))
    return {
      reason: 'ImagePull',
      message: `image pull failed (${reason}: ${sentence(waiting?.message ?? 'no details')}) Ask the administrator of this installation.`,
    };
  if (isCurrent)
    return {
      reason: 'ContainerConfig',
      message: `container creation failed (${reason}: ${sentence(waiting?.message ?? 'no details')})`,
    };
  const scheduled = conditionOf(pod.status?.conditions, 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      reason: 'Unschedulable',
      message: `unschedulable (${sentence(scheduled.message ?? scheduled.reason ?? 'no details')})`,
    };
  if (warning !== null) return { reason: 'PodPending', message: `pod ${pod.metadata.name} is pending (${sentence(warning)})` };
  const hint = secret === undefined ? '' : ` Check that the Secret ${secret} exists in namespace ${scan.metadata.namespace}.`;
  const image = scannerImage(pod);
  // A hanging image pull looks the same until the deadline.
  const pull = image === undefined ? '' : `; the node may be pulling the image ${image}`;
  return {
    reason: 'PodPending',
    message: `pod ${pod.metadata.name} is pending (${reason === '' ? 'Pending' : reason}${pull}).${hint}`,
  };
}

/** Whether a ResourceQuota is the cause of a refusal by the API server. */
export const isQuota = (message: string): boolean => /exceeded quota/i.test(message);

/** Returns why the pod does not exist. @param startFailure the message of the Job controller's last FailedCreate Event, if any */
export function diagnoseMissingPod(startFailure: string | null): PodProblem {
  if (startFailure === null) return { reason: 'PodNotCreated', message: 'the Job controller created no pod.' };
  if (isQuota(startFailure)) return { reason: 'QuotaExceeded', message: `quota exceeded (${sentence(startFailure)})` };
  if (/PodSecurity|forbidden/i.test(startFailure))
    return { reason: 'PodForbidden', message: `pod forbidden in this namespace (${sentence(startFailure)})` };
  return { reason: 'PodNotCreated', message: `pod creation failed (${sentence(startFailure)})` };
}

/** Describes how a pod ended, such as `exit code 137, out of memory`. */
export function describePodEnd(pod: Pod | undefined): string {
  if (pod === undefined || !isPodTerminal(pod)) return 'pod deleted';
  const { terminated } = scannerState(pod);
  const disrupted = conditionOf(pod.status?.conditions, 'DisruptionTarget');
  if (disrupted?.status === 'True') return `pod disrupted: ${disrupted.reason ?? 'unknown reason'}`;
  if (pod.status?.reason !== undefined) return `${pod.status.reason}${pod.status.message ? `: ${pod.status.message}` : ''}`;
  if (terminated === undefined) return 'pod failed';
  return terminated.reason === 'OOMKilled' ? `exit code ${terminated.exitCode}, out of memory` : `exit code ${terminated.exitCode}`;
}
