/** What a running scan's pods and messages amount to: phase, pages, attempts, and the condition that says so. Pure. */
import { mayMove, type Phase } from '../../../core/scan/phases.ts';
import type { AccessibilityScan, AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { PodProgress } from '../../../core/protocol/pod-messages.ts';
import { describePodEnd, diagnoseMissingPod, diagnosePendingPod } from './pod-diagnostics.ts';
import { isOver, isPending, type Job, type Pod } from '../kube-types.ts';
import { phaseOf, type StatusPatch } from './status.ts';
import { timestamp } from '../../runtime/clock.ts';
import { withConditions } from '../../runtime/conditions.ts';
import { tidy } from './condition-reasons.ts';

/** Failed or known pages that a scan can sensibly speak of; a pod that tells of more is not believed. */
const PAGES_MAX = 100_000;

/** The status that a running scan should have. */
export interface Progress {
  phase: Phase;
  pages: PageProgress;
  attempts: number;
  podName: string | null;
  state: { reason: string; message: string };
}

/** True if a pod may have come as far as it says. */
export function isPlausible(progress: PodProgress, reserved: number): boolean {
  const { scanned, failed, total } = progress.pages;
  return scanned <= reserved && failed <= PAGES_MAX && total <= PAGES_MAX;
}

/**
 * What is to be seen of a running scan. The phase never moves backwards and counts never fall: a new attempt that
 * begins again leaves both where they were until it has overtaken the last one.
 * @param pods the Job's, oldest first
 * @param trouble why the Job's pod could not be made, if it could not
 */
export function progressOf(scan: AccessibilityScan, pods: readonly Pod[], progress: PodProgress | null, trouble: string | null): Progress {
  const pod = pods.at(-1);
  const believed = progress !== null && isPlausible(progress, scan.status?.pages?.reserved ?? 0) ? progress : null;
  const phase = [believed?.phase, pod !== undefined && !isPending(pod) ? ('crawling' as const) : undefined].reduce<Phase>(
    (now, next) => (next !== undefined && mayMove(now, next) ? next : now),
    phaseOf(scan),
  );
  return {
    phase,
    pages: pagesSoFar(scan.status, believed?.pages),
    ...attemptsSoFar(scan.status, pods),
    state: stateOf(scan, pods, phase, trouble),
  };
}

function pagesSoFar(status: AccessibilityScanStatus | undefined, said: PageProgress | undefined): PageProgress {
  const scanned = Math.max(status?.pages?.scanned ?? 0, said?.scanned ?? 0);
  const failed = Math.max(status?.pages?.failed ?? 0, said?.failed ?? 0);
  return { scanned, failed, total: Math.max(scanned + failed, said?.total ?? 0) };
}

/** Counts attempts by the pods that were seen; an evicted pod may be gone before the next one comes. */
export function attemptsSoFar(
  status: AccessibilityScanStatus | undefined,
  pods: readonly Pod[],
): { attempts: number; podName: string | null } {
  const attempts = status?.attempts ?? 0;
  const podName = status?.podName ?? null;
  const newest = pods.at(-1)?.metadata.name;
  if (newest === undefined || newest === podName) return { attempts: Math.max(attempts, pods.length), podName };
  const known = pods.findIndex((pod) => pod.metadata.name === podName);
  const more = known < 0 ? 1 : pods.length - 1 - known;
  return { attempts: Math.max(attempts + more, pods.length), podName: newest };
}

function stateOf(scan: AccessibilityScan, pods: readonly Pod[], phase: Phase, trouble: string | null): Progress['state'] {
  const pod = pods.at(-1);
  if (pod === undefined) {
    if ((scan.status?.attempts ?? 0) > 0) return { reason: 'Retrying', message: 'Its pod is gone; another one follows.' };
    if (trouble === null) return { reason: 'Launching', message: 'Its Job waits for a pod.' };
    const cause = diagnoseMissingPod(trouble);
    return { reason: cause.reason, message: tidy(`Its Job waits for a pod: ${cause.message}`) };
  }
  if (isOver(pod))
    return pod.status?.phase === 'Failed'
      ? { reason: 'Retrying', message: tidy(`Attempt ${pods.length} ended (${describePodEnd(pod)}); another one follows.`) }
      : { reason: 'Ending', message: 'Its pod has ended.' };
  if (isPending(pod)) {
    const cause = diagnosePendingPod(pod, scan);
    return { reason: cause.reason, message: tidy(`The scanner has not started yet: ${cause.message}`) };
  }
  return { reason: phase[0]!.toUpperCase() + phase.slice(1), message: `Pod ${pod.metadata.name} is at work.` };
}

/** What of an observation is not in the status yet; null where nothing is. `urgent` changes are written at once, others may wait. */
export function statusChange(scan: AccessibilityScan, seen: Progress, job: Job, now: Date): { patch: StatusPatch; urgent: boolean } | null {
  const status = scan.status ?? {};
  const succeeded = status.conditions?.find(({ type }) => type === 'Succeeded');
  const started = seen.phase !== 'queued' && status.startTime === undefined;
  const restated = succeeded?.reason !== seen.state.reason;
  const urgent =
    seen.phase !== phaseOf(scan) ||
    seen.attempts !== (status.attempts ?? 0) ||
    seen.podName !== (status.podName ?? null) ||
    job.metadata.name !== status.jobName ||
    started ||
    restated;
  const { scanned = 0, failed = 0, requested = 0, reserved = 0 } = status.pages ?? {};
  const moved = seen.pages.scanned !== scanned || seen.pages.failed !== failed;
  if (!urgent && !moved && succeeded?.message === seen.state.message) return null;
  const patch: StatusPatch = {
    phase: seen.phase,
    observedGeneration: scan.metadata.generation,
    attempts: seen.attempts,
    podName: seen.podName,
    jobName: job.metadata.name,
    pages: { requested, reserved, scanned: seen.pages.scanned, failed: seen.pages.failed },
    conditions: withConditions(scan, [{ type: 'Succeeded', status: 'Unknown', ...seen.state }], now),
    ...(started && { startTime: timestamp(now) }),
  };
  return { patch, urgent };
}
