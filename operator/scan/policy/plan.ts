/**
 * Decides what is to be done about a scan: one pure function from what is known to a list of actions, asking its
 * questions in a fixed order (Tekton's): deleted, done, cancelled, timed out, failed for good, stored, pending too long, run.
 * Everything that decides is here and in what it calls; everything that acts is elsewhere.
 */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { SETTLE_FINALIZER } from '../../../core/protocol/custom-resources.ts';
import { EXIT_PERMANENT, type PodStored } from '../../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import type { Phase } from '../../../core/scan/phases.ts';
import { describePodEnd, diagnoseMissingPod, diagnosePendingPod, type Diagnosis } from './pod-diagnostics.ts';
import * as ends from './condition-reasons.ts';
import type { EndReason } from './condition-reasons.ts';
import { admittedAt, isOver, isPending, jobEnd, scannerState, type Job, type Pod } from '../kube-types.ts';
import type { ReconcileState } from '../reconcile-state.ts';
import { identityKey, identityOf } from './pod-identity.ts';
import { attemptsSoFar, progressOf, statusChange } from './progress.ts';
import { JOB_MARGIN_SECONDS, OPERATOR_MARGIN_SECONDS } from './run-time.ts';
import { terminationMessage, type PodMessages, type FinalMessage } from '../results/pod-message-log.ts';
import { hasEnded, type StatusPatch } from './status.ts';

/** How long each state may last, in milliseconds. */
export interface Timeouts {
  /** From the scan's creation to its admission. */
  queueMs: number;
  /** From a pod's creation to its start, and from the Job's creation to its pod. */
  pendingMs: number;
  /** From one message of a pod to the next. */
  stuckMs: number;
  /** From the time by which a deleted pod should have ended until its node is taken for lost. */
  lostPodMs: number;
  /** From the scan's end to that of its pod, where the pod said that it is finished. */
  lingerMs: number;
  /** From the end of a Job that tells nothing until nothing more is expected: other news may be on its way. */
  lateNewsMs: number;
  /** Between two writes of page counts to the status. */
  statusEveryMs: number;
  /** Between two writes of page counts to the read model. */
  mirrorEveryMs: number;
}

/** All that is known about a scan. */
export interface Facts {
  scan: AccessibilityScan;
  scanId: string;
  now: Date;
  /** Null: surely none (it was asked for, where the status speaks of one). */
  job: Job | null;
  /** The Job's pods, oldest first. */
  pods: readonly Pod[];
  /** What kept the Job controller from making a pod, as its Events tell. */
  trouble: string | null;
  podMessages: PodMessages;
  /** Since when the bus has been connected without a break; null while it is not. */
  busSince: Date | null;
  /** What this operator remembers of the scan. */
  state: Readonly<ReconcileState>;
}

export type Action =
  /** Put the finalizer on it, and the label of who is charged. */
  | { do: 'claim' }
  /** Judge it, hold its credits, and queue it. */
  | { do: 'vet' }
  /** Make its Secret and its Job. */
  | { do: 'launch' }
  | { do: 'observe'; status: StatusPatch }
  | { do: 'mirror'; phase: Phase; pages: PageProgress }
  /** Check what the pod stored, and write the result. */
  | { do: 'ingest'; stored: PodStored }
  /** Write its end without a result. */
  | { do: 'end'; end: EndReason }
  /** Tell the Job controller that a pod on a dead node has failed. */
  | { do: 'giveUpPod'; pod: Pod }
  | { do: 'removeJob' }
  /** Settle its credits, mirror its end and tell of it. */
  | { do: 'finish' }
  /** Take the finalizer off. */
  | { do: 'release' }
  /** Remove the resource. */
  | { do: 'expire' };

export interface Plan {
  actions: Action[];
  /** When to look again although nothing happens. */
  wakeAfterMs: number | null;
}

/** Attempts whose results are verified. */
const VERIFICATIONS_MAX = 3;
/** How often a Job without a pod is looked at, in milliseconds: what keeps it from one is told by Events, which are not watched. */
const NO_POD_LOOK_MS = 10_000;

const act = (...actions: Action[]): Plan => ({ actions, wakeAfterMs: null });
const end = (why: EndReason): Plan => act({ do: 'end', end: why });

/** What is to be done now, in this order; each action may be repeated. */
export function plan(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, now } = facts;
  const claimed = scan.metadata.finalizers?.includes(SETTLE_FINALIZER) ?? false;

  if (scan.metadata.deletionTimestamp !== undefined) return deleted(facts, claimed);
  if (hasEnded(scan)) return settled(facts, claimed, timeouts);
  if (!claimed) return act({ do: 'claim' });
  if (scan.spec.cancel === true) return end(ends.CANCELED);
  if (scan.status?.phase === undefined) return act({ do: 'vet' });

  const admitted = admittedAt(scan);
  if (admitted === null) return queued(scan, now, timeouts);
  if (facts.job === null) return scan.status.jobName === undefined ? act({ do: 'launch' }) : end(ends.JOB_LOST);

  return (
    timedOut(facts, admitted) ?? failedForGood(facts) ?? stored(facts) ?? jobOver(facts, timeouts) ?? running(facts, admitted, timeouts)
  );
}

function deleted(facts: Facts, claimed: boolean): Plan {
  // Without the finalizer nothing is held for it, and with another's it is none of our business any more.
  if (!claimed) return act();
  if (!hasEnded(facts.scan)) return end(ends.DELETED);
  return act(...(facts.job ? [{ do: 'removeJob' } as const] : []), { do: 'finish' }, { do: 'release' });
}

function settled({ scan, job, now }: Facts, claimed: boolean, timeouts: Timeouts): Plan {
  const actions: Action[] = [];
  const ended = new Date(scan.status?.completionTime ?? now).getTime();
  const wakes: number[] = [];
  if (job !== null && jobEnd(job) === null) {
    // A pod that said that its results are stored is given a moment to end by itself.
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
  return left > 0 ? { actions: [], wakeAfterMs: left } : end(ends.queuedTooLong(timeouts.queueMs / 3_600_000));
}

/** The moment at which the operator gives up whatever the Job says, in milliseconds since the epoch. The Job knows what it was given. */
function giveUpAt({ job }: Facts, admitted: Date): number {
  const seconds = job?.spec?.activeDeadlineSeconds;
  return seconds === undefined ? Number.POSITIVE_INFINITY : admitted.getTime() + (seconds + OPERATOR_MARGIN_SECONDS) * 1000;
}

function timedOut(facts: Facts, admitted: Date): Plan | null {
  if (facts.now.getTime() < giveUpAt(facts, admitted)) return null;
  // Results that were stored in time count, however late the operator comes to see them.
  if (storedMessages(facts).length > 0) return null;
  return end(ends.timedOut(facts.job!.spec!.activeDeadlineSeconds! - JOB_MARGIN_SECONDS));
}

/** The final messages of the scan's pods, the latest last: from the bus, then from terminated pods. */
function finalMessages({ podMessages, pods, scanId }: Facts): FinalMessage[] {
  return [...[...podMessages.values()].flatMap(({ final }) => final), ...pods.flatMap((pod) => terminationMessage(pod, scanId) ?? [])];
}

function storedMessages(facts: Facts): PodStored[] {
  return finalMessages(facts).filter((message): message is PodStored => message.kind === 'stored');
}

function failedForGood(facts: Facts): Plan | null {
  const gaveUp = finalMessages(facts).findLast((message) => message.kind === 'failed');
  if (gaveUp?.kind === 'failed') return end(ends.gaveUp(gaveUp));
  const last = facts.pods.at(-1);
  if (last !== undefined && isOver(last) && scannerState(last).terminated?.exitCode === EXIT_PERMANENT) return end(ends.UNEXPLAINED);
  return null;
}

function stored(facts: Facts): Plan | null {
  const { state, pods } = facts;
  const messages = storedMessages(facts);
  // Verification costs a download; a pod that announces results again and again must not keep the operator busy.
  if (state.refused.size >= VERIFICATIONS_MAX) return end(ends.resultsRefused([...state.refused.values()].at(-1)!));
  const unverified = messages.findLast((message) => !state.refused.has(identityKey(message)));
  if (unverified !== undefined) return act({ do: 'ingest', stored: unverified });
  const last = messages.at(-1);
  if (last === undefined) return null;
  // A later attempt is still running: its own results count.
  const newest = pods.at(-1);
  const isSuperseded = newest !== undefined && !isOver(newest) && identityOf(newest).attempt > last.attempt;
  return isSuperseded ? null : end(ends.resultsRefused(state.refused.get(identityKey(last))!));
}

function jobOver(facts: Facts, timeouts: Timeouts): Plan | null {
  const over = facts.job && jobEnd(facts.job);
  if (!over) return null;
  // The Job's end may be known here before its pod's: the two come by different watches.
  const left = (over.at?.getTime() ?? 0) + timeouts.lateNewsMs - facts.now.getTime();
  if (left > 0) return { actions: [], wakeAfterMs: left };
  if (over.succeeded) return end(ends.NO_RESULTS);
  if (over.reason === 'DeadlineExceeded') return end(ends.timedOut((facts.job?.spec?.activeDeadlineSeconds ?? 0) - JOB_MARGIN_SECONDS));
  if (over.reason === 'PodFailurePolicy') return end(ends.UNEXPLAINED);
  return end(ends.crashed(Math.max(1, attemptsSoFar(facts.scan.status, facts.pods).attempts), describePodEnd(facts.pods.at(-1))));
}

/** What keeps the scan from running, and since when; null while a pod runs. */
function notStarted(facts: Facts): { since: number; cause: Diagnosis } | null {
  const { pods, scan, job, trouble } = facts;
  const { noPodSince } = facts.state;
  const newest = pods.at(-1);
  // It did its work; the Job will say so.
  if (newest?.status?.phase === 'Succeeded') return null;
  if (newest !== undefined && !isOver(newest))
    return isPending(newest) ? { since: Date.parse(newest.metadata.creationTimestamp!), cause: diagnosePendingPod(newest, scan) } : null;
  const since =
    newest === undefined && (scan.status?.attempts ?? 0) === 0
      ? Date.parse(job!.metadata.creationTimestamp!)
      : (noPodSince?.getTime() ?? facts.now.getTime());
  return { since, cause: diagnoseMissingPod(trouble) };
}

function running(facts: Facts, admitted: Date, timeouts: Timeouts): Plan {
  const { now, scan, job, pods, podMessages, trouble, state } = facts;
  const wakes = [giveUpAt(facts, admitted) - now.getTime()];

  const waits = notStarted(facts);
  if (waits !== null) {
    const left = waits.since + timeouts.pendingMs - now.getTime();
    if (left <= 0) return end(ends.pendingTooLong(Math.round(timeouts.pendingMs / 1000), waits.cause));
    wakes.push(left, ...(pods.length === 0 ? [NO_POD_LOOK_MS] : []));
  }
  const silent = silenceLeft(facts, timeouts);
  if (silent !== null) {
    if (silent <= 0) return end(ends.stuck(Math.round(timeouts.stuckMs / 1000)));
    wakes.push(silent);
  }

  const actions: Action[] = [];
  for (const pod of pods) {
    const left = lostIn(pod, now, timeouts);
    if (left === null) continue;
    if (left <= 0) actions.push({ do: 'giveUpPod', pod });
    else wakes.push(left);
  }
  const seen = progressOf(scan, pods, podMessages, trouble);
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

/** Milliseconds until a pod that used to speak counts as stuck; null where silence proves nothing (no bus, or it never spoke). */
function silenceLeft({ podMessages, busSince, pods, now }: Facts, timeouts: Timeouts): number | null {
  const newest = pods.at(-1);
  if (busSince === null || newest === undefined || isOver(newest) || isPending(newest)) return null;
  const { attempt, shard } = identityOf(newest);
  const messages = podMessages.get(shard);
  if (!messages?.at || messages.progress?.attempt !== attempt) return null;
  return Math.max(messages.at.getTime(), busSince.getTime()) + timeouts.stuckMs - now.getTime();
}

/** Milliseconds until a deleted pod that does not end is taken for lost; null where it is not being deleted. */
function lostIn(pod: Pod, now: Date, timeouts: Timeouts): number | null {
  // A pod's deletionTimestamp is when its grace period ends.
  if (pod.metadata.deletionTimestamp === undefined || isOver(pod)) return null;
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
