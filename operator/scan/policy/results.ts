/** Decides about the results and the failures that a scan's pods report, and about results that no message announced. Pure. */
import { EXIT_PERMANENT } from '../../../core/protocol/pod-messages.ts';
import { IMAGE_ANNOTATION, isPending, isPodTerminal, type Job, jobEnd, scannerState } from '../kube-types.ts';
import { type FinalMessage, terminationMessage } from '../results/pod-message-log.ts';
import { conditionOf } from '../../runtime/conditions.ts';
import { CURBCUT_VERSION } from '../../../platform/version.ts';
import * as reasons from './condition-reasons.ts';
import { act, type Action, type AnnouncedResult, end, type Facts, type Plan, type Search, type Timeouts } from './facts.ts';
import { identityOf } from './pods.ts';
import { attemptsSoFar, pagesOf } from './progress.ts';
import { isOutdated } from './status.ts';
/** The maximum number of attempts whose results are verified. */
export const VERIFICATIONS_MAX = 3;
/** The time for which a search for results is current, in milliseconds. */
const SEARCH_FRESH_MS = 30_000;
/** The longest outage of the object store that a scan with results survives, in milliseconds. */
export const OUTAGE_MAX_MS = 6 * 3_600_000;
/** The interval of checks while results are searched or verified, in milliseconds. Their end is an event of its own. */
export const TASK_CHECK_MS = 30_000;

/** The final messages of the scan's pods, latest last: from the bus, then from terminated pods. */
function finalMessages({ podMessages, pods, scanId }: Facts): FinalMessage[] {
  return [...podMessages.final, ...pods.flatMap((pod) => terminationMessage(pod, scanId) ?? [])];
}

/**
 * The results of the scan's pods, the most credible last, because a pod has links for all slots. Announced results are the most
 * credible, then found results of an attempt that is known to have had a pod, then those of other attempts.
 */
export function announcedResults(facts: Facts): AnnouncedResult[] {
  const { attempts } = attemptsSoFar(facts.scan.status, facts.pods);
  const found = facts.state.search?.found ?? [];
  return [
    ...found.filter(({ stored }) => stored.attempt >= attempts),
    ...found.filter(({ stored }) => stored.attempt < attempts),
    ...finalMessages(facts).flatMap((stored) => (stored.kind === 'stored' ? [{ stored }] : [])),
  ];
}

export function failedPermanently(facts: Facts): Plan | null {
  const gaveUp = finalMessages(facts).findLast((message) => message.kind === 'failed');
  if (gaveUp?.kind === 'failed') {
    const why = reasons.failedPermanently(gaveUp);
    if (gaveUp.attempt === 0) return end(why);
    // An earlier attempt may have stored its results and died before Kubernetes saw it succeed.
    const earlier = announcedResults(facts).some(({ stored }) => stored.attempt < gaveUp.attempt && !isRefused(facts, stored));
    return earlier ? null : endAfterSearch(facts, why);
  }
  const last = facts.pods.at(-1);
  if (last !== undefined && isPodTerminal(last) && scannerState(last).terminated?.exitCode === EXIT_PERMANENT)
    return announcedResults(facts).length > 0 ? null : endAfterSearch(facts, reasons.FAILED_WITHOUT_REASON);
  return null;
}

export function stored(facts: Facts): Plan | null {
  const { state, pods } = facts;
  const results = announcedResults(facts);
  if (state.verified !== null) return act({ do: 'complete', result: state.verified });
  // Verification costs a download. Limit it, so that a pod cannot keep the operator busy with repeated announcements.
  if (state.refused.size >= VERIFICATIONS_MAX) return runAgain(facts) ?? end(reasons.resultsRefused([...state.refused.values()].at(-1)!));
  const unverified = results.findLast((result) => !isRefused(facts, result.stored));
  if (unverified !== undefined) return startOnce(facts, { do: 'ingest', result: unverified });
  const last = results.at(-1)?.stored;
  if (last === undefined) return null;
  // If a later attempt is still running, wait for its results.
  const newest = pods.at(-1);
  const isSuperseded = newest !== undefined && !isPodTerminal(newest) && identityOf(newest).attempt > last.attempt;
  return isSuperseded ? null : (runAgain(facts) ?? end(reasons.resultsRefused(state.refused.get(last.attempt)!)));
}

/**
 * Runs a scan once more whose refused results were made by another version, as during an upgrade or a rollback: its rules or its
 * report may differ. Null if they were not. The next Job has the image of this operator, so only another change of the version
 * replaces it. A version is what a pod says, and two builds with different tags may have the same: it decides only once.
 */
export function runAgain(facts: Facts): Plan | null {
  const { job, scan, scannerImage } = facts;
  const image = job?.metadata.annotations?.[IMAGE_ANNOTATION];
  const hasOtherImage = image !== undefined && image !== scannerImage;
  const other = announcedResults(facts).findLast(
    ({ stored }) =>
      isRefused(facts, stored) && (hasOtherImage || (stored.version !== CURBCUT_VERSION && scan.status?.replacedJob === undefined)),
  );
  return other === undefined ? null : act({ do: 'replaceJob', why: reasons.otherVersion(other.stored.version, image) });
}

export function isRefused({ state }: Facts, stored: AnnouncedResult['stored']): boolean {
  return state.refused.has(stored.attempt);
}

/** Ends the scan, but first searches for results that no message announced: messages and pods may be gone before they are seen. */
export function endAfterSearch(facts: Facts, why: reasons.EndReason): Plan {
  return search(facts) ?? end(why);
}

/** Searches for results that are unknown. Returns null if that has just been done. */
export function search(facts: Facts): Plan | null {
  return needsSearch(facts) ? startOnce(facts, { do: 'search' }) : null;
}

/** Starts work on results, or waits for its end. While the object store is down, the scan says so and waits. */
function startOnce(facts: Facts, action: Action): Plan {
  const { scan, now, state } = facts;
  if (state.task === null) return act(action);
  if (state.outageSince !== null) {
    const left = state.outageSince.getTime() + OUTAGE_MAX_MS - now.getTime();
    if (left <= 0) return end(reasons.storeUnavailable(OUTAGE_MAX_MS / 3_600_000));
    if (conditionOf(scan.status?.conditions, 'Succeeded')?.reason !== reasons.STORE_UNAVAILABLE) return act({ do: 'reportOutage' });
  }
  return { actions: [], wakeAfterMs: TASK_CHECK_MS };
}

/** A search before the Job's end may have missed the last upload. An end in the future comes from another clock. */
function isOlderThanEnd({ at }: Search, job: Job | null, now: Date): boolean {
  const ended = (job && jobEnd(job)?.at) ?? null;
  return ended !== null && ended <= now && at < ended;
}

/** Returns whether pods may have stored results that are unknown. */
export function needsSearch({ state: { search }, job, pods, now }: Facts): boolean {
  if (search !== null && now.getTime() - search.at.getTime() < SEARCH_FRESH_MS && !isOlderThanEnd(search, job, now)) return false;
  const oldest = pods[0];
  const noneHasRun = oldest !== undefined && identityOf(oldest).attempt === 0 && pods.every(isPending);
  return !noneHasRun;
}

/**
 * Decides how a canceled scan ends: with the report of the pages that were tested until then, if its pod stores one in time. The
 * results of a scan that had tested all its pages before complete it. Pods have a time limit; results that are stored do not count
 * towards it, because the operator itself may have been down or busy. Pure.
 */
export function canceled(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, state, job, pods, now } = facts;
  if (state.verified !== null) return act({ do: 'complete', result: state.verified });
  const since = scan.status?.cancelTime;
  if (since === undefined) return mayHaveReport(facts) ? act({ do: 'markCanceling' }) : endWithout(facts, 'the scanner was not running');

  if (isOutdated(scan)) return act({ do: 'observeGeneration' });
  const left = Date.parse(since) + timeouts.cancelMs - now.getTime();
  const mayWait = left > 0;
  const wait: Plan = { actions: [], wakeAfterMs: left };
  if (mayWait && job !== null && job.spec?.suspend !== true && jobEnd(job) === null && !state.podsStopped) return act({ do: 'stopPods' });
  // One task at a time.
  if (state.task !== null) return mayWait ? wait : awaitTask(facts, timeouts);
  const unverified = announcedResults(facts).findLast(({ stored }) => !isRefused(facts, stored));
  if (unverified !== undefined && state.refused.size < VERIFICATIONS_MAX) return act({ do: 'ingest', result: unverified });
  const isRunning = pods.some((pod) => !isPodTerminal(pod));
  if (isRunning && mayWait) return wait;
  if (needsSearch(facts)) return act({ do: 'search' });
  const refused = [...state.refused.values()].at(-1);
  if (refused === undefined)
    return endWithout(
      facts,
      isRunning ? `it was not stored within ${Math.round(timeouts.cancelMs / 1000)} s` : 'the scanner ended without one',
    );
  return endWithout(facts, `it was refused: ${refused.replace(/\.$/, '')}`);
}

/** Past the limit of the pods, only an outage ends the wait: work that waits for that of other scans is done, however late it began. */
function awaitTask(facts: Facts, { cancelMs }: Timeouts): Plan {
  const { outageSince } = facts.state;
  if (outageSince === null) return { actions: [], wakeAfterMs: TASK_CHECK_MS };
  const left = outageSince.getTime() + cancelMs - facts.now.getTime();
  return left > 0 ? { actions: [], wakeAfterMs: left } : endWithout(facts, 'the object store did not respond in time');
}

/** Whether a pod has stored results, or tested pages that it can store. Without the bus, what it has tested is unknown. */
function mayHaveReport(facts: Facts): boolean {
  const { job, pods, busSince } = facts;
  if (announcedResults(facts).some(({ stored }) => !isRefused(facts, stored)) || (job && jobEnd(job))?.succeeded) return true;
  const isRunning = pods.some((pod) => !isPodTerminal(pod) && !isPending(pod));
  return isRunning && (pagesOf(facts).scanned > 0 || busSince === null);
}

const endWithout = (facts: Facts, why: string): Plan => end(reasons.canceled(facts.scan, pagesOf(facts), why));
