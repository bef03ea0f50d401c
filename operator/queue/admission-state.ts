/** The admission state of a scan in its queue. Pure. */
import { SETTLE_FINALIZER, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';

/** Returns the organisation that the operator has determined. Labels do not count, because authors can write them. */
export function organisationOf(scan: AccessibilityScan): string {
  return scan.status?.organisation ?? '';
}

/** A scan waits if it was vetted, is not admitted, and is not being canceled or deleted. */
export function isWaiting(scan: AccessibilityScan): boolean {
  const ending = scan.spec.cancel === true || scan.metadata.deletionTimestamp !== undefined;
  return scan.status?.phase !== undefined && !hasEnded(scan) && !isAdmitted(scan) && !ending;
}

/** The time until a scan that could not be launched may be admitted again, in milliseconds; 0 if it may be. */
export function backOffMs({ status }: AccessibilityScan, now: Date): number {
  return Math.max(0, Date.parse(status?.requeueState?.requeueAt ?? '') - now.getTime() || 0);
}

/**
 * Returns whether a scan has not ended, whether it was vetted or not. A deleted scan is settled without a last status; afterwards
 * only foreign finalizers keep it.
 */
export function isLive(scan: AccessibilityScan): boolean {
  const settled = scan.metadata.deletionTimestamp !== undefined && !scan.metadata.finalizers?.includes(SETTLE_FINALIZER);
  return !hasEnded(scan) && !settled;
}

/** What a queue counts a scan as. */
export type AdmissionState = 'none' | 'live' | 'waiting' | 'starting' | 'running';

export function admissionStateOf(scan: AccessibilityScan): AdmissionState {
  if (!isLive(scan)) return 'none';
  if (isAdmitted(scan)) return scan.status?.startTime === undefined ? 'starting' : 'running';
  return isWaiting(scan) ? 'waiting' : 'live';
}

/** Returns whether a change of a scan can change what its queue decides. Progress, which changes most often, cannot. */
export function isMoved(scan: AccessibilityScan, previous: AccessibilityScan | undefined): boolean {
  if (previous === undefined) return true;
  return admissionStateOf(scan) !== admissionStateOf(previous) || organisationOf(scan) !== organisationOf(previous);
}
