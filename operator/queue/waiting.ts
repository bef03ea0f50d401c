/** Which scans take part in admission, and how long they have waited. Pure. */
import { type AccessibilityScan, type QueuePause, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';
import { timestamp } from '../../platform/clock.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import type { Unreadable } from '../runtime/namespaces.ts';
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

/** `maxItems` in the custom resource definition. */
export const PAUSES_MAX = 20;

/** Returns the pauses after the queue was seen paused or not. They are in its status, so that they outlive the operator. The two oldest become one if there are too many: no scan ends too early. */
export function pausesAfter(pauses: readonly QueuePause[], paused: boolean, now: Date): QueuePause[] {
  const last = pauses.at(-1);
  const isOpen = last !== undefined && last.endTime === undefined;
  if (paused === isOpen) return [...pauses];
  if (!paused) return pauses.with(-1, { ...last!, endTime: timestamp(now) });
  const all = [...pauses, { startTime: timestamp(now) }];
  return all.length <= PAUSES_MAX ? all : [{ ...all[1]!, startTime: all[0]!.startTime }, ...all.slice(2)];
}

/** Without the pauses of its queue. */
export function waitedMs({ metadata }: Pick<AccessibilityScan, 'metadata'>, pauses: readonly QueuePause[], now: Date): number {
  const created = Date.parse(metadata.creationTimestamp!);
  const paused = pauses.reduce((sum, { startTime, endTime }) => {
    const end = Math.min(endTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(endTime), now.getTime());
    return sum + Math.max(0, end - Math.max(Date.parse(startTime), created));
  }, 0);
  return Math.max(0, now.getTime() - created - paused);
}

/** The namespaces that the operator cannot read; an empty name stands for all namespaces. */
export type UnreadableNamespaces = ReadonlyMap<string, Unreadable>;

/**
 * The time for which the admitted scans of an unreadable namespace keep their places, in milliseconds. Longer than an outage
 * of the API server or a mistake with a Role usually takes, because their pods may still run.
 */
const KEEP_PLACES_MS = 300_000;

/**
 * Returns the scans that take part in admission. A scan that waits in an unreadable namespace does not, because its
 * admission could not be written; an admitted one keeps its place for a while, but not for ever.
 */
export function scansInReach(scans: readonly AccessibilityScan[], unreadable: UnreadableNamespaces, now: Date): AccessibilityScan[] {
  return scans.filter((scan) => {
    const problem = unreadable.get(scan.metadata.namespace!) ?? unreadable.get('');
    return problem === undefined || (isAdmitted(scan) && now.getTime() - problem.since.getTime() < KEEP_PLACES_MS);
  });
}

const NAMED_MAX = 5;

/** The condition of the ScanQueue that states whether all namespaces can be read. */
export function namespacesReadable(unreadable: UnreadableNamespaces): ConditionUpdate {
  const type = 'NamespacesReadable';
  if (unreadable.size === 0) return { type, status: 'True', reason: 'Readable', message: 'The operator can read every watched namespace.' };
  const problems = [...unreadable].slice(0, NAMED_MAX).map(([namespace, { resource, message }]) => {
    const where = namespace === '' ? 'all namespaces' : `namespace ${namespace}`;
    return `cannot list ${resource} in ${where} (${message.slice(0, 500)})`;
  });
  const more = unreadable.size > NAMED_MAX ? `, and ${unreadable.size - NAMED_MAX} more` : '';
  return { type, status: 'False', reason: 'Unreadable', message: `Scans wait there: ${problems.join('; ')}${more}.` };
}
