/** Why a scan's pod does not start, and how its last one ended: each cause by its name, in words that say whom to ask. Pure. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import { isOver, scannerImage, scannerState, type Pod } from '../kube-types.ts';

/** The end of the sentence "The scanner could not start …: ". */
export interface Diagnosis {
  reason: string;
  message: string;
}

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

/** Why a pod that was taken on does not run. */
export function diagnosePendingPod(pod: Pod, scan: AccessibilityScan): Diagnosis {
  const { waiting } = scannerState(pod);
  const reason = waiting?.reason ?? '';
  if (IMAGE.has(reason))
    return {
      reason: 'ImagePull',
      message: `its image cannot be had (${reason}: ${sentence(waiting?.message ?? 'no details')}) Ask the administrator of this installation.`,
    };
  if (CONTAINER_CONFIG.has(reason))
    return {
      reason: 'ContainerConfig',
      message: `its container cannot be made (${reason}: ${sentence(waiting?.message ?? 'no details')})`,
    };
  const scheduled = conditionOf(pod.status?.conditions, 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      reason: 'Unschedulable',
      message: `no node takes its pod (${sentence(scheduled.message ?? scheduled.reason ?? 'no details')})`,
    };
  const secret = scan.spec.auth?.secretRef.name;
  const hint = secret === undefined ? '' : ` Check that the Secret ${secret} exists in namespace ${scan.metadata.namespace}.`;
  const image = scannerImage(pod);
  // A pull that hangs looks like this to the end.
  const pull = image === undefined ? '' : `; its node may be pulling the image ${image}`;
  return {
    reason: 'PodPending',
    message: `its pod ${pod.metadata.name} is still being prepared (${reason === '' ? 'Pending' : reason}${pull}).${hint}`,
  };
}

/**
 * Why there is no pod.
 * @param trouble what the Job controller said of its last try, if anything
 */
export function diagnoseMissingPod(trouble: string | null): Diagnosis {
  if (trouble === null) return { reason: 'PodNotCreated', message: 'the cluster made no pod for its Job.' };
  if (/exceeded quota/i.test(trouble))
    return { reason: 'QuotaExceeded', message: `the namespace's quota does not allow its pod (${sentence(trouble)})` };
  if (/PodSecurity|forbidden/i.test(trouble))
    return { reason: 'PodForbidden', message: `the namespace does not allow its pod (${sentence(trouble)})` };
  return { reason: 'PodNotCreated', message: `its pod could not be made (${sentence(trouble)})` };
}

/** How a pod ended, as a few words: `exit code 137, out of memory`. */
export function describePodEnd(pod: Pod | undefined): string {
  if (pod === undefined || !isOver(pod)) return 'its pod is gone';
  const { terminated } = scannerState(pod);
  const disrupted = conditionOf(pod.status?.conditions, 'DisruptionTarget');
  if (disrupted?.status === 'True') return `its pod was taken away: ${disrupted.reason ?? 'a disruption'}`;
  if (pod.status?.reason !== undefined) return `${pod.status.reason}${pod.status.message ? `: ${pod.status.message}` : ''}`;
  if (terminated === undefined) return 'its pod failed';
  return terminated.reason === 'OOMKilled' ? `exit code ${terminated.exitCode}, out of memory` : `exit code ${terminated.exitCode}`;
}
