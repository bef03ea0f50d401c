/** Derives the progress of a running scan from its pods and their messages: phase, pages, attempts and condition. Pure. */
import { mayMove, type Phase } from '../../../core/scan/phases.ts';
import type { AccessibilityScan, AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { PodProgress } from '../../../core/protocol/pod-messages.ts';
import { describePodEnd, diagnoseMissingPod, diagnosePendingPod, identityOf } from './pods.ts';
import { isPodTerminal, isPending, type Job, type Pod } from '../kube-types.ts';
import { liveUpdates, phaseOf, scanConditions, type StatusPatch } from './status.ts';
import { timestamp } from '../../../platform/clock.ts';
import { conditionReasonOf, sanitize, type WaitReason } from './condition-reasons.ts';
import type { Facts } from './facts.ts';

/** The plausible maximum of failed and of known pages. Progress with more is ignored. */
const PAGES_MAX = 100_000;

export function isPlausible({ pages }: Pick<PodProgress, 'pages'>, reserved: number): boolean {
  return pages.scanned <= reserved && pages.failed <= PAGES_MAX && pages.total <= PAGES_MAX;
}

export type Progress = ReturnType<typeof progressOf>;
type ProgressFacts = Pick<Facts, 'scan' | 'pods' | 'podMessages' | 'startFailure'>;

/** The newest progress that a pod has sent, if it is plausible. */
function said({ scan, podMessages: { progress } }: Pick<Facts, 'scan' | 'podMessages'>): PodProgress | null {
  return progress !== null && isPlausible(progress, scan.status?.pages?.reserved ?? 0) ? progress : null;
}

/**
 * The progress of a running scan. The phase never moves backwards and counts never fall: a new attempt leaves both
 * unchanged until it overtakes the previous one.
 */
export function progressOf(facts: ProgressFacts) {
  const { scan, pods } = facts;
  const pod = pods.at(-1);
  const phase = [said(facts)?.phase, pod !== undefined && !isPending(pod) ? ('crawling' as const) : undefined].reduce<Phase>(
    (now, next) => (next !== undefined && mayMove(now, next) ? next : now),
    phaseOf(scan),
  );
  return {
    phase,
    pages: pagesOf(facts),
    ...attemptsSoFar(scan.status, pods),
    state: stateOf(facts, phase),
  };
}

/** The pages so far. The pod's messages are newer than the status, which is written less often. */
export function pagesOf(facts: Pick<Facts, 'scan' | 'podMessages'>): PageProgress {
  const { status } = facts.scan;
  const pages = said(facts)?.pages;
  const scanned = Math.max(status?.pages?.scanned ?? 0, pages?.scanned ?? 0);
  const failed = Math.max(status?.pages?.failed ?? 0, pages?.failed ?? 0);
  return { scanned, failed, total: Math.max(scanned + failed, pages?.total ?? 0) };
}

/** The number of attempts and the pod of the last one. The pods of earlier attempts may be deleted. */
export function attemptsSoFar(
  status: AccessibilityScanStatus | undefined,
  pods: readonly Pod[],
): { attempts: number; podName: string | null } {
  const newest = pods.at(-1);
  const attempts = newest === undefined ? 0 : identityOf(newest).attempt + 1;
  return { attempts: Math.max(attempts, status?.attempts ?? 0), podName: newest?.metadata.name ?? status?.podName ?? null };
}

function stateOf({ scan, pods, startFailure }: ProgressFacts, phase: Phase): WaitReason {
  const pod = pods.at(-1);
  if (pod === undefined) {
    if ((scan.status?.attempts ?? 0) > 0) return { reason: 'Retrying', message: 'The pod was deleted; waiting for the next attempt.' };
    if (startFailure === null) return { reason: 'Launching', message: 'Waiting for the Job controller to create the pod.' };
    const cause = diagnoseMissingPod(startFailure);
    return { reason: cause.reason, message: sanitize(`Waiting for the Job controller to create the pod: ${cause.message}`) };
  }
  if (isPodTerminal(pod))
    return pod.status?.phase === 'Failed'
      ? {
          reason: 'Retrying',
          message: sanitize(`Attempt ${identityOf(pod).attempt + 1} failed (${describePodEnd(pod)}); waiting for the next attempt.`),
        }
      : { reason: 'Ending', message: 'The pod has finished.' };
  if (isPending(pod)) {
    const cause = diagnosePendingPod(pod, scan, startFailure);
    return { reason: cause.reason, message: sanitize(`The scanner has not started yet: ${cause.message}`) };
  }
  return { reason: conditionReasonOf(phase), message: `Pod ${pod.metadata.name} is running.` };
}

/** The part of the progress that is not in the status yet, and the most important thing that it changes; null if nothing differs. */
export function statusChange(
  scan: AccessibilityScan,
  seen: Progress,
  job: Job,
  now: Date,
): { patch: StatusPatch; about: 'phase' | 'pod' | 'pages' } | null {
  const status = scan.status ?? {};
  const succeeded = status.conditions?.find(({ type }) => type === 'Succeeded');
  const started = seen.phase !== 'queued' && status.startTime === undefined;
  const restated = succeeded?.reason !== seen.state.reason;
  const moves = seen.phase !== phaseOf(scan) || started;
  const pod =
    seen.attempts !== (status.attempts ?? 0) ||
    seen.podName !== (status.podName ?? null) ||
    job.metadata.name !== status.jobName ||
    restated;
  const { scanned = 0, failed = 0, requested = 0, reserved = 0 } = status.pages ?? {};
  const moved = seen.pages.scanned !== scanned || seen.pages.failed !== failed;
  if (!moves && !pod && !moved && succeeded?.message === seen.state.message) return null;
  const patch: StatusPatch = {
    phase: seen.phase,
    observedGeneration: scan.metadata.generation,
    attempts: seen.attempts,
    podName: seen.podName,
    jobName: job.metadata.name,
    pages: { requested, reserved, scanned: seen.pages.scanned, failed: seen.pages.failed },
    conditions: scanConditions(scan, liveUpdates(seen.state), now),
    ...(started && { startTime: timestamp(now) }),
  };
  return { patch, about: moves ? 'phase' : pod ? 'pod' : 'pages' };
}
