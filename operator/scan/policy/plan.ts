/**
 * Decides what to do about a scan: a pure function from facts to a list of actions. It checks in a fixed
 * order (that of Tekton): deleted, done, canceled, timed out, failed permanently, stored, pending too long, running.
 */
import { isDeepStrictEqual } from 'node:util';
import { type AccessibilityScan, SETTLE_FINALIZER } from '../../../core/protocol/custom-resources.ts';
import { waitedMs } from '../../queue/waiting.ts';
import { dueIn, timestamp } from '../../../platform/clock.ts';
import { admittedAt, isPending, isPodTerminal, type Job, jobEnd, type Pod } from '../kube-types.ts';
import { describePodEnd, diagnoseMissingPod, diagnosePendingPod, failuresOf, identityOf, LOST_MAX, type PodProblem } from './pods.ts';
import * as reasons from './condition-reasons.ts';
import {
  act,
  type Action,
  end,
  type Facts,
  type MirroredRow,
  OPERATOR_MARGIN_SECONDS,
  type Plan,
  reservedPages,
  secondsGiven,
  type Timeouts,
} from './facts.ts';
import { announcedResults, canceled, endAfterSearch, failedPermanently, isRefused, runAgain, search, stored } from './results.ts';
import { attemptsSoFar, pagesOf, progressOf, statusChange } from './progress.ts';
import { hasEnded, isOutdated, noPages, phaseOf, type StatusPatch, waitingStatus, withStatus } from './status.ts';
/** The time after which the pauses of a queue should be known. */
const PAUSES_KNOWN_MS = 1_000;

export function plan(facts: Facts, timeouts: Timeouts): Plan {
  const { scan } = facts;
  const claimed = scan.metadata.finalizers?.includes(SETTLE_FINALIZER) ?? false;

  if (scan.metadata.deletionTimestamp !== undefined) return deleted(facts, claimed);
  if (hasEnded(scan)) return settled(facts, claimed, timeouts);
  if (!claimed) return act({ do: 'claim' });
  if (scan.spec.cancel === true) return canceled(facts, timeouts);
  if (isOutdated(scan)) return act({ do: 'observeGeneration' });
  if (scan.status?.phase === undefined) return unvetted(facts, timeouts);

  const admitted = admittedAt(scan);
  if (admitted === null) return queued(facts, timeouts);
  const isLaunched = scan.status.jobName !== undefined || facts.state.launched;
  if (facts.job === null && isLaunched) return stored(facts) ?? endAfterSearch(facts, reasons.JOB_LOST);
  // A suspended Job has no Secret: its launch was interrupted.
  if (facts.job === null || (facts.job.spec?.suspend === true && !isLaunched)) return launchOrRequeue(facts, admitted, timeouts);
  // Its successor has the same name.
  if (facts.job.metadata.uid === scan.status.replacedJob) return act({ do: 'removeJob' });

  return (
    timedOut(facts) ??
    failedPermanently(facts) ??
    stored(facts) ??
    failedTooOften(facts) ??
    jobOver(facts, timeouts) ??
    running(facts, timeouts)
  );
}

function deleted(facts: Facts, claimed: boolean): Plan {
  const { scan, job } = facts;
  // Foreground deletion and other controllers keep the resource for a while, so its status must be right and its Job must stop.
  // Otherwise the resource is gone at once, and garbage collection deletes the Job and its pods.
  const stays = scan.metadata.finalizers?.some((name) => name !== SETTLE_FINALIZER) ?? false;
  const stopJob: Action[] = job !== null && stays && hasEnded(scan) ? [{ do: 'removeJob' }] : [];
  // Without the settle finalizer no credits are reserved. Other controllers handle other finalizers.
  if (!claimed) return act(...stopJob);
  if (!hasEnded(scan)) {
    const why = reasons.deleted(facts.scan, pagesOf(facts));
    return stays ? end(why) : act({ do: 'finish', end: why }, { do: 'release' });
  }
  return act(...stopJob, { do: 'finish' }, { do: 'release' });
}

function settled({ scan, job, now }: Facts, claimed: boolean, timeouts: Timeouts): Plan {
  const actions: Action[] = isOutdated(scan) ? [{ do: 'observeGeneration' }] : [];
  const ended = new Date(scan.status?.completionTime ?? now).getTime();
  const wakes: number[] = [];
  if (job !== null) {
    const finished = jobEnd(job);
    // Give a pod that announced its results time to exit by itself, and keep the log of a finished Job for a while.
    const kept =
      finished !== null
        ? Math.max(ended, finished.at?.getTime() ?? 0) + timeouts.jobTtlMs
        : ended + (scan.status?.phase === 'done' ? timeouts.lingerMs : 0);
    const left = kept - now.getTime();
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'removeJob' });
  }
  if (claimed) actions.push({ do: 'finish' }, { do: 'release' });
  const ttl = scan.spec.ttlSecondsAfterFinished;
  if (ttl !== undefined && !claimed) {
    const left = ended + ttl * 1000 - now.getTime();
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'expire' });
  }
  return { actions, wakeAfterMs: soonest(wakes) };
}

/** A scan that is not in its queue yet. It waits while no name server answers. */
function unvetted(facts: Facts, timeouts: Timeouts): Plan {
  const waiting = queued(facts, timeouts);
  if (facts.state.vetting) return waiting;
  const left = dueIn(facts.state.unresolved?.at ?? null, timeouts.resolveAgainMs, facts.now);
  if (left <= 0) return act({ do: 'vet' });
  return { actions: waiting.actions, wakeAfterMs: soonest([left, waiting.wakeAfterMs ?? Infinity]) };
}

function queued(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, job, queuePauses, now } = facts;
  // It has given its place back. A later Job is of an admission that the cache does not hold yet.
  if (job !== null && createdAt(job) < Date.parse(scan.status?.requeueState?.requeueAt ?? '')) return act({ do: 'removeJob' });
  if (queuePauses === null) return { actions: [], wakeAfterMs: PAUSES_KNOWN_MS };
  const why = reasons.waitMessage(scan);
  const left = timeouts.queueMs - waitedMs(scan, queuePauses, now);
  if (left <= 0) return end(reasons.queuedTooLong(timeouts.queueMs / 3_600_000, why));
  const { action, left: mirrorIn } = mirror(facts, { phase: phaseOf(scan), pages: pagesOf(facts), message: why }, timeouts);
  return { actions: action === null ? [] : [action], wakeAfterMs: soonest([left, mirrorIn]) };
}

/** Mirrors the row, unless that was done shortly before. `left`: milliseconds until it may be done. */
function mirror(
  { state: { mirrored, mirroredAt }, now }: Facts,
  row: MirroredRow,
  { mirrorEveryMs }: Timeouts,
): { action: Action | null; left: number } {
  if (isDeepStrictEqual(mirrored, row)) return { action: null, left: Infinity };
  const left = mirrored?.phase !== row.phase ? 0 : dueIn(mirroredAt, mirrorEveryMs, now);
  return left > 0 ? { action: null, left } : { action: { do: 'mirror', row }, left: Infinity };
}

/** The operator's own deadline for the scan, in milliseconds since the epoch, based on the deadline in the Job. */
function giveUpAt({ job }: Facts): number {
  const seconds = job?.spec?.activeDeadlineSeconds;
  return seconds === undefined ? Number.POSITIVE_INFINITY : createdAt(job!) + (seconds + OPERATOR_MARGIN_SECONDS) * 1000;
}

const createdAt = ({ metadata }: Job): number => Date.parse(metadata.creationTimestamp!);

function timedOut(facts: Facts): Plan | null {
  if (facts.now.getTime() < giveUpAt(facts)) return null;
  // Accept results that were stored in time, even if the operator sees them late. Refused ones do not prolong the scan.
  // So does the scan that runs again for results of another version.
  if (announcedResults(facts).some(({ stored }) => !isRefused(facts, stored)) || (runAgain(facts) !== null && stored(facts) !== null))
    return null;
  return endAfterSearch(facts, reasons.timedOut(secondsGiven(facts.job!.spec!.activeDeadlineSeconds)));
}

function jobOver(facts: Facts, timeouts: Timeouts): Plan | null {
  const over = facts.job && jobEnd(facts.job);
  if (!over) return null;
  // The Job's end may arrive before its pod's, because they come by different watches.
  const left = (over.at?.getTime() ?? 0) + timeouts.jobEndGraceMs - facts.now.getTime();
  if (left > 0) return { actions: [], wakeAfterMs: left };
  const searching = search(facts);
  if (searching !== null) return searching;
  if (over.succeeded) return mayReplace(facts) ? act({ do: 'replaceJob', why: reasons.RUN_AGAIN }) : end(reasons.NO_RESULTS);
  if (over.reason === 'DeadlineExceeded') return end(reasons.timedOut(secondsGiven(facts.job?.spec?.activeDeadlineSeconds)));
  if (over.reason === 'PodFailurePolicy') return end(reasons.FAILED_WITHOUT_REASON);
  const { crashed, lost } = failures(facts);
  const last = describePodEnd(facts.pods.at(-1));
  return end(crashed.length === 0 ? reasons.podsLost(Math.max(1, lost), last) : reasons.crashed(crashed.length, last));
}

const failures = ({ scan, pods }: Facts) => failuresOf(pods, attemptsSoFar(scan.status, pods).attempts);

/** Crashes are the scan's own. Lost pods have a limit of their own: whatever deletes them, each runs the scan from its start. */
function failedTooOften(facts: Facts): Plan | null {
  const { crashed, lost } = failures(facts);
  if (crashed.length > facts.retries) return endAfterSearch(facts, reasons.crashed(crashed.length, describePodEnd(crashed.at(-1))));
  return lost > LOST_MAX ? endAfterSearch(facts, reasons.podsLost(lost, describePodEnd(facts.pods.at(-1)))) : null;
}

/** A Job is replaced once, if the deadline of its pods has not passed. */
function mayReplace({ scan, job, now }: Facts): boolean {
  const deadline = createdAt(job!) + secondsGiven(job?.spec?.activeDeadlineSeconds) * 1000;
  return scan.status?.replacedJob === undefined && now.getTime() < deadline;
}

/** The time for which a pod may be pending that its node cannot start, in milliseconds: the kubelet has tried several times. */
const HOPELESS_MS = 30_000;

interface NotStarted {
  since: number;
  problem: PodProblem;
  /** The Event that says why; null if there is none. */
  event: string | null;
}

/** Returns why the scan has not started, and since when, or null while a pod runs. */
function notStarted(facts: Facts): NotStarted | null {
  const { pods, scan, job, startFailure } = facts;
  const { noPodSince } = facts.state;
  const newest = pods.at(-1);
  // The Job's status will follow.
  if (newest?.status?.phase === 'Succeeded') return null;
  if (newest !== undefined && !isPodTerminal(newest))
    return isPending(newest)
      ? {
          since: Date.parse(newest.metadata.creationTimestamp!),
          problem: diagnosePendingPod(newest, scan, startFailure),
          event: startFailure,
        }
      : null;
  const since =
    newest === undefined && (scan.status?.attempts ?? 0) === 0 ? createdAt(job!) : (noPodSince?.getTime() ?? facts.now.getTime());
  const event = newest === undefined ? startFailure : null;
  return { since, problem: diagnoseMissingPod(event), event };
}

/** The longest time after which the Job controller creates the next pod, and a margin, in milliseconds. */
const JOB_BACK_OFF_MS = 660_000;

/** How long a pod may wait for its start until the scan ends, or gives its place back. */
function allowedWaitMs({ problem, event }: NotStarted, { pods, scan }: Facts, { pendingMs, roomMs, launchMs }: Timeouts): number {
  if (problem.reason === 'Unschedulable') return roomMs;
  if (!reasons.isOfCluster(problem)) return problem.hopeless ? Math.min(HOPELESS_MS, pendingMs) : pendingMs;
  if (event !== null) return launchMs;
  // The Job controller waits longer after each pod that ended.
  const isNext = pods.length > 0 || (scan.status?.attempts ?? 0) > 0;
  return isNext && problem.reason === 'PodNotCreated' ? Math.max(JOB_BACK_OFF_MS, pendingMs) : pendingMs;
}

function running(facts: Facts, timeouts: Timeouts): Plan {
  const { now, scan, job, pods, state } = facts;
  const wakes = [giveUpAt(facts) - now.getTime()];

  const waits = notStarted(facts);
  if (waits !== null) {
    const { problem } = waits;
    const allowedMs = allowedWaitMs(waits, facts, timeouts);
    const left = waits.since + allowedMs - now.getTime();
    if (left <= 0)
      return reasons.isOfCluster(problem)
        ? (search(facts) ?? requeue(facts, problem, timeouts))
        : endAfterSearch(facts, reasons.pendingTooLong(Math.round(allowedMs / 1000), problem));
    wakes.push(left);
  }
  const stuckLeft = stuckIn(facts, timeouts);
  if (stuckLeft !== null) {
    if (stuckLeft <= 0) return endAfterSearch(facts, reasons.stuck(Math.round(timeouts.stuckMs / 1000)));
    wakes.push(stuckLeft);
  }

  const actions: Action[] = [];
  for (const pod of pods) {
    const left = lostIn(pod, now, timeouts);
    if (left === null) continue;
    if (left <= 0) actions.push({ do: 'failLostPod', pod });
    else wakes.push(left);
  }
  const seen = progressOf(facts);
  const change = statusChange(scan, seen, job!, now);
  let stated = scan;
  if (change !== null) {
    const waits = { phase: 0, pod: timeouts.podStateMs, pages: timeouts.statusEveryMs };
    const left = dueIn(state.statusAt, waits[change.about], now);
    if (left > 0) wakes.push(left);
    else {
      actions.push({ do: 'observe', status: change.patch });
      stated = withStatus(scan, change.patch);
    }
  }
  const { action, left } = mirror(facts, { phase: seen.phase, pages: seen.pages, message: reasons.waitMessage(stated) }, timeouts);
  wakes.push(left);
  if (action !== null) actions.push(action);
  return { actions, wakeAfterMs: soonest(wakes) };
}

/** Milliseconds until a pod without messages counts as stuck; null if the bus is disconnected or the attempt never sent one. */
function stuckIn({ podMessages, busSince, pods, now }: Facts, timeouts: Timeouts): number | null {
  const newest = pods.at(-1);
  if (busSince === null || newest === undefined || isPodTerminal(newest) || isPending(newest)) return null;
  const { at, progress } = podMessages;
  if (at === null || progress?.attempt !== identityOf(newest).attempt) return null;
  return Math.max(at.getTime(), busSince.getTime()) + timeouts.stuckMs - now.getTime();
}

/** Milliseconds until a terminating pod is considered lost; null if it is not being deleted. */
function lostIn(pod: Pod, now: Date, timeouts: Timeouts): number | null {
  // A pod's deletionTimestamp is the end of its grace period.
  if (pod.metadata.deletionTimestamp === undefined || isPodTerminal(pod)) return null;
  return Date.parse(pod.metadata.deletionTimestamp) + timeouts.lostPodMs - now.getTime();
}

function soonest(waits: readonly number[]): number | null {
  const finite = waits.filter((wait) => Number.isFinite(wait));
  return finite.length === 0 ? null : Math.max(0, Math.min(...finite));
}

/** The consecutive failures after which a place is given back: about two seconds if each of them is immediate. */
const FAILURES_MAX = 5;

/**
 * Reserves the credits of an admitted manifest, chooses the baseline and then creates the Job. After a refusal, too many failures or
 * too much time it gives the place back, as when an admission webhook of one namespace fails.
 */
function launchOrRequeue(facts: Facts, admitted: Date, timeouts: Timeouts): Plan {
  const { scan, state, now } = facts;
  const { launchFailure: failure } = state;
  // A second Job is created long after the admission.
  const isLate = scan.status?.replacedJob === undefined && now.getTime() - admitted.getTime() >= timeouts.launchMs;
  const isOver = failure !== null && (failure.reason !== 'LaunchFailed' || failure.count >= FAILURES_MAX || isLate);
  return isOver ? requeue(facts, failure, timeouts) : act({ do: nextStep(scan) });
}

/** The scan waits in its queue with back-off, as Kueue's requeued workloads do. The attempts of its next Job count from 0. */
function requeue({ scan, now }: Facts, problem: reasons.Requeue, timeouts: Timeouts): Plan {
  const why = reasons.requeued(problem);
  const noJob = { jobName: null, podName: null, pods: null, attempts: 0, ...noPages(scan) };
  return act({ do: 'requeue', why, status: { ...waitingStatus(scan, why, now), ...noJob, requeueState: nextTry(scan, timeouts, now) } });
}

/** The baseline is chosen once and written to the status first, so that the input of each Job names the same one. */
function nextStep(scan: AccessibilityScan): 'reserve' | 'chooseBaseline' | 'launch' {
  if (reservedPages(scan) === 0) return 'reserve';
  return scan.spec.baseline !== undefined && scan.status?.baseline === undefined ? 'chooseBaseline' : 'launch';
}

/** The wait doubles each time. */
function nextTry({ status }: AccessibilityScan, { requeueBaseMs, requeueMaxMs }: Timeouts, now: Date): StatusPatch['requeueState'] {
  const before = status?.requeueState?.count ?? 0;
  const waitMs = Math.min(requeueMaxMs, requeueBaseMs * 2 ** Math.min(before, 30));
  return { count: before + 1, requeueAt: timestamp(new Date(now.getTime() + waitMs)) };
}
