/**
 * Decides what to do about a scan: a pure function from facts to a list of actions. It checks in a fixed
 * order (that of Tekton): deleted, done, canceled, timed out, failed permanently, stored, pending too long, running.
 */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { SETTLE_FINALIZER } from '../../../core/protocol/custom-resources.ts';
import { EXIT_PERMANENT, type PodStored } from '../../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { Phase } from '../../../core/scan/phases.ts';
import { describePodEnd, diagnoseMissingPod, diagnosePendingPod, type PodProblem } from './pod-diagnostics.ts';
import * as reasons from './condition-reasons.ts';
import type { EndReason } from './condition-reasons.ts';
import { admittedAt, isPodTerminal, isPending, jobEnd, scannerState, type Job, type Pod } from '../kube-types.ts';
import type { ReconcileState } from '../reconcile-state.ts';
import { identityKey, identityOf } from './pod-identity.ts';
import { attemptsSoFar, progressOf, statusChange } from './progress.ts';
import { JOB_MARGIN_SECONDS, OPERATOR_MARGIN_SECONDS } from './run-time.ts';
import { terminationMessage, type PodMessages, type FinalMessage } from '../results/pod-message-log.ts';
import { hasEnded, type StatusPatch } from './status.ts';

/** The time limit of each state, in milliseconds. */
export interface Timeouts {
  /** From the scan's creation to its admission. */
  queueMs: number;
  /** From a pod's creation to its start, and from the Job's creation to its pod. */
  pendingMs: number;
  /** From one message of a pod to the next. */
  stuckMs: number;
  /** From the end of a deleted pod's grace period until its node is considered lost. */
  lostPodMs: number;
  /** From the end of a completed scan to the deletion of its Job, so that the pod can exit by itself. */
  lingerMs: number;
  /** From the end of a Job without results until the scan fails, because the pod's status arrives by another watch. */
  jobEndGraceMs: number;
  /** Between two writes of page counts to the status. */
  statusEveryMs: number;
  /** Between two writes of page counts to the read model. */
  mirrorEveryMs: number;
}

/** The input of the plan. */
export interface Facts {
  scan: AccessibilityScan;
  scanId: string;
  now: Date;
  /** Null only if the Job does not exist: the gatherer asks the API server if the status names one. */
  job: Job | null;
  /** The Job's pods, ordered by attempt. */
  pods: readonly Pod[];
  /** The message of the Job controller's latest FailedCreate Event, if the Job has no pod. */
  podCreationError: string | null;
  podMessages: PodMessages;
  /** The start of the current bus connection; null while disconnected. */
  busSince: Date | null;
  state: Readonly<ReconcileState>;
}

export type Action =
  /** Add the finalizer, and the label of the organisation that is charged. */
  | { do: 'claim' }
  /** Run the preflight checks, reserve credits, and queue the scan. */
  | { do: 'vet' }
  /** Create the Secret and the Job. */
  | { do: 'launch' }
  | { do: 'observe'; status: StatusPatch }
  | { do: 'mirror'; phase: Phase; pages: PageProgress }
  /** Verify the pod's results and write the outcome. */
  | { do: 'ingest'; stored: PodStored }
  /** End the scan without a result. */
  | { do: 'end'; end: EndReason }
  /** Mark a pod on a lost node as failed, so that the Job controller replaces it. */
  | { do: 'failLostPod'; pod: Pod }
  | { do: 'removeJob' }
  /** Settle credits, and mirror and publish the end. */
  | { do: 'finish' }
  /** Remove the finalizer. */
  | { do: 'release' }
  /** Delete the resource. */
  | { do: 'expire' };

export interface Plan {
  actions: Action[];
  /** The delay until the next plan if no event arrives, in milliseconds; null waits for an event. */
  wakeAfterMs: number | null;
}

/** The maximum number of attempts whose results are verified. */
const VERIFICATIONS_MAX = 3;
/** The interval of checks of a Job without a pod, in milliseconds, because its Events are not watched. */
const NO_POD_CHECK_MS = 10_000;

const act = (...actions: Action[]): Plan => ({ actions, wakeAfterMs: null });
const end = (why: EndReason): Plan => act({ do: 'end', end: why });

/** Plans the next actions, in order. Each action is idempotent. */
export function plan(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, now } = facts;
  const claimed = scan.metadata.finalizers?.includes(SETTLE_FINALIZER) ?? false;

  if (scan.metadata.deletionTimestamp !== undefined) return deleted(facts, claimed);
  if (hasEnded(scan)) return settled(facts, claimed, timeouts);
  if (!claimed) return act({ do: 'claim' });
  if (scan.spec.cancel === true) return end(reasons.CANCELED);
  if (scan.status?.phase === undefined) return act({ do: 'vet' });

  const admitted = admittedAt(scan);
  if (admitted === null) return queued(scan, now, timeouts);
  if (facts.job === null) return scan.status.jobName === undefined ? act({ do: 'launch' }) : end(reasons.JOB_LOST);

  return (
    timedOut(facts, admitted) ?? failedPermanently(facts) ?? stored(facts) ?? jobOver(facts, timeouts) ?? running(facts, admitted, timeouts)
  );
}

function deleted(facts: Facts, claimed: boolean): Plan {
  // Without the settle finalizer no credits are reserved. Other controllers handle other finalizers.
  if (!claimed) return act();
  if (!hasEnded(facts.scan)) return end(reasons.DELETED);
  return act(...(facts.job ? [{ do: 'removeJob' } as const] : []), { do: 'finish' }, { do: 'release' });
}

function settled({ scan, job, now }: Facts, claimed: boolean, timeouts: Timeouts): Plan {
  const actions: Action[] = [];
  const ended = new Date(scan.status?.completionTime ?? now).getTime();
  const wakes: number[] = [];
  if (job !== null && jobEnd(job) === null) {
    // Give a pod that announced its results time to exit by itself.
    const lingers = scan.status?.phase === 'done' ? ended + timeouts.lingerMs - now.getTime() : 0;
    if (lingers > 0) wakes.push(lingers);
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

function queued(scan: AccessibilityScan, now: Date, timeouts: Timeouts): Plan {
  const left = new Date(scan.metadata.creationTimestamp!).getTime() + timeouts.queueMs - now.getTime();
  return left > 0 ? { actions: [], wakeAfterMs: left } : end(reasons.queuedTooLong(timeouts.queueMs / 3_600_000));
}

/** The operator's own deadline for the scan, in milliseconds since the epoch, based on the deadline in the Job. */
function giveUpAt({ job }: Facts, admitted: Date): number {
  const seconds = job?.spec?.activeDeadlineSeconds;
  return seconds === undefined ? Number.POSITIVE_INFINITY : admitted.getTime() + (seconds + OPERATOR_MARGIN_SECONDS) * 1000;
}

function timedOut(facts: Facts, admitted: Date): Plan | null {
  if (facts.now.getTime() < giveUpAt(facts, admitted)) return null;
  // Accept results that were stored in time, even if the operator sees them late.
  if (storedMessages(facts).length > 0) return null;
  return end(reasons.timedOut(facts.job!.spec!.activeDeadlineSeconds! - JOB_MARGIN_SECONDS));
}

/** The final messages of the scan's pods, latest last: from the bus, then from terminated pods. */
function finalMessages({ podMessages, pods, scanId }: Facts): FinalMessage[] {
  return [...[...podMessages.values()].flatMap(({ final }) => final), ...pods.flatMap((pod) => terminationMessage(pod, scanId) ?? [])];
}

function storedMessages(facts: Facts): PodStored[] {
  return finalMessages(facts).filter((message): message is PodStored => message.kind === 'stored');
}

function failedPermanently(facts: Facts): Plan | null {
  const gaveUp = finalMessages(facts).findLast((message) => message.kind === 'failed');
  if (gaveUp?.kind === 'failed') return end(reasons.failedPermanently(gaveUp));
  const last = facts.pods.at(-1);
  if (last !== undefined && isPodTerminal(last) && scannerState(last).terminated?.exitCode === EXIT_PERMANENT)
    return end(reasons.FAILED_WITHOUT_REASON);
  return null;
}

function stored(facts: Facts): Plan | null {
  const { state, pods } = facts;
  const messages = storedMessages(facts);
  // Verification costs a download. Limit it, so that a pod cannot keep the operator busy with repeated announcements.
  if (state.refused.size >= VERIFICATIONS_MAX) return end(reasons.resultsRefused([...state.refused.values()].at(-1)!));
  const unverified = messages.findLast((message) => !state.refused.has(identityKey(message)));
  if (unverified !== undefined) return act({ do: 'ingest', stored: unverified });
  const last = messages.at(-1);
  if (last === undefined) return null;
  // If a later attempt is still running, wait for its results.
  const newest = pods.at(-1);
  const isSuperseded = newest !== undefined && !isPodTerminal(newest) && identityOf(newest).attempt > last.attempt;
  return isSuperseded ? null : end(reasons.resultsRefused(state.refused.get(identityKey(last))!));
}

function jobOver(facts: Facts, timeouts: Timeouts): Plan | null {
  const over = facts.job && jobEnd(facts.job);
  if (!over) return null;
  // The Job's end may arrive before its pod's, because they come by different watches.
  const left = (over.at?.getTime() ?? 0) + timeouts.jobEndGraceMs - facts.now.getTime();
  if (left > 0) return { actions: [], wakeAfterMs: left };
  if (over.succeeded) return end(reasons.NO_RESULTS);
  if (over.reason === 'DeadlineExceeded') return end(reasons.timedOut((facts.job?.spec?.activeDeadlineSeconds ?? 0) - JOB_MARGIN_SECONDS));
  if (over.reason === 'PodFailurePolicy') return end(reasons.FAILED_WITHOUT_REASON);
  return end(reasons.crashed(Math.max(1, attemptsSoFar(facts.scan.status, facts.pods).attempts), describePodEnd(facts.pods.at(-1))));
}

/** Returns why the scan has not started, and since when, or null while a pod runs. */
function notStarted(facts: Facts): { since: number; problem: PodProblem } | null {
  const { pods, scan, job, podCreationError } = facts;
  const { noPodSince } = facts.state;
  const newest = pods.at(-1);
  // The Job's status will follow.
  if (newest?.status?.phase === 'Succeeded') return null;
  if (newest !== undefined && !isPodTerminal(newest))
    return isPending(newest) ? { since: Date.parse(newest.metadata.creationTimestamp!), problem: diagnosePendingPod(newest, scan) } : null;
  const since =
    newest === undefined && (scan.status?.attempts ?? 0) === 0
      ? Date.parse(job!.metadata.creationTimestamp!)
      : (noPodSince?.getTime() ?? facts.now.getTime());
  return { since, problem: diagnoseMissingPod(podCreationError) };
}

function running(facts: Facts, admitted: Date, timeouts: Timeouts): Plan {
  const { now, scan, job, pods, podMessages, podCreationError, state } = facts;
  const wakes = [giveUpAt(facts, admitted) - now.getTime()];

  const waits = notStarted(facts);
  if (waits !== null) {
    const left = waits.since + timeouts.pendingMs - now.getTime();
    if (left <= 0) return end(reasons.pendingTooLong(Math.round(timeouts.pendingMs / 1000), waits.problem));
    wakes.push(left, ...(pods.length === 0 ? [NO_POD_CHECK_MS] : []));
  }
  const stuckLeft = stuckIn(facts, timeouts);
  if (stuckLeft !== null) {
    if (stuckLeft <= 0) return end(reasons.stuck(Math.round(timeouts.stuckMs / 1000)));
    wakes.push(stuckLeft);
  }

  const actions: Action[] = [];
  for (const pod of pods) {
    const left = lostIn(pod, now, timeouts);
    if (left === null) continue;
    if (left <= 0) actions.push({ do: 'failLostPod', pod });
    else wakes.push(left);
  }
  const seen = progressOf(scan, pods, podMessages, podCreationError);
  const change = statusChange(scan, seen, job!, now);
  if (change !== null) {
    const left = change.urgent ? 0 : dueIn(state.statusAt, timeouts.statusEveryMs, now);
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'observe', status: change.patch });
  }
  const { mirrored } = state;
  if (mirrored === null || mirrored.phase !== seen.phase || !samePages(mirrored.pages, seen.pages)) {
    const left = mirrored?.phase !== seen.phase ? 0 : dueIn(state.mirroredAt, timeouts.mirrorEveryMs, now);
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'mirror', phase: seen.phase, pages: seen.pages });
  }
  return { actions, wakeAfterMs: soonest(wakes) };
}

/** Milliseconds until a pod without messages counts as stuck; null if the bus is disconnected or the attempt never sent one. */
function stuckIn({ podMessages, busSince, pods, now }: Facts, timeouts: Timeouts): number | null {
  const newest = pods.at(-1);
  if (busSince === null || newest === undefined || isPodTerminal(newest) || isPending(newest)) return null;
  const { attempt, shard } = identityOf(newest);
  const messages = podMessages.get(shard);
  if (!messages?.at || messages.progress?.attempt !== attempt) return null;
  return Math.max(messages.at.getTime(), busSince.getTime()) + timeouts.stuckMs - now.getTime();
}

/** Milliseconds until a terminating pod is considered lost; null if it is not being deleted. */
function lostIn(pod: Pod, now: Date, timeouts: Timeouts): number | null {
  // A pod's deletionTimestamp is the end of its grace period.
  if (pod.metadata.deletionTimestamp === undefined || isPodTerminal(pod)) return null;
  return Date.parse(pod.metadata.deletionTimestamp) + timeouts.lostPodMs - now.getTime();
}

function dueIn(last: Date | null, everyMs: number, now: Date): number {
  return last === null ? 0 : last.getTime() + everyMs - now.getTime();
}

function samePages(a: PageProgress, b: PageProgress): boolean {
  return a.scanned === b.scanned && a.failed === b.failed && a.total === b.total;
}

function soonest(waits: readonly number[]): number | null {
  const finite = waits.filter((wait) => Number.isFinite(wait));
  return finite.length === 0 ? null : Math.max(0, Math.min(...finite));
}
