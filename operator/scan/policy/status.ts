/** Builds the status patch for each step of a scan's life. Pure. */
import type { AccessibilityScan, AccessibilityScanStatus, Condition } from '../../../core/protocol/custom-resources.ts';
import { isTerminal, type Phase } from '../../../core/scan/phases.ts';
import { type Outcome, toOutcomeStatus } from '../../../core/scan/outcome.ts';
import { hasThresholds, judgeWithoutResult, notesOf, type Verdict } from '../../../core/scan/thresholds.ts';
import { timestamp } from '../../../platform/clock.ts';
import { conditionOf, type ConditionUpdate, withConditions } from '../../runtime/conditions.ts';
import type { MergePatch } from '../../runtime/resource-client.ts';
import { CANCELING, type EndReason, partialMessage, STORE_UNAVAILABLE, type WaitReason } from './condition-reasons.ts';
export type StatusPatch = MergePatch<AccessibilityScanStatus>;

/** Returns the phase; `queued` for a scan without a status. */
export function phaseOf(scan: AccessibilityScan): Phase {
  return scan.status?.phase ?? 'queued';
}

export function hasEnded(scan: AccessibilityScan): boolean {
  return isTerminal(phaseOf(scan));
}

/** The part of every status that says what the scan does, and that its whole spec was considered. */
const stating = (
  scan: AccessibilityScan,
  updates: readonly ConditionUpdate[],
  now: Date,
): Pick<AccessibilityScanStatus, 'observedGeneration' | 'conditions'> => ({
  observedGeneration: scan.metadata.generation,
  conditions: scanConditions(scan, updates, now),
});

/** Why a scan waits. The position is not stated: each scan that leaves the queue would change the status of all behind it. */
export const QUEUED: WaitReason = { reason: 'Queued', message: 'Waiting in the queue.' };
export const QUEUE_PAUSED: WaitReason = { reason: 'QueuePaused', message: 'The queue is paused; the scan waits until it is resumed.' };

const waitingUpdates = (why: WaitReason): ConditionUpdate[] => [{ type: 'Admitted', status: 'False', ...why }, ...liveUpdates(why)];
const ADMITTED_UPDATES: readonly ConditionUpdate[] = [
  { type: 'Admitted', status: 'True', reason: 'Admitted', message: 'The queue has admitted the scan.' },
  ...liveUpdates({ reason: 'Launching', message: 'Creating the Job.' }),
];

/** The status after the credits are reserved. @param granted the places that were free at once */
export function vettedStatus(
  scan: AccessibilityScan,
  { organisation, pages }: { organisation: string; pages: { requested: number; reserved: number } },
  granted: number,
  now: Date,
): StatusPatch {
  const passed: ConditionUpdate[] = hasThresholds(scan.spec.thresholds ?? {})
    ? [{ type: 'Passed', status: 'Unknown', reason: 'Pending', message: 'The scan has not ended.' }]
    : [];
  return {
    phase: 'queued',
    organisation,
    pages: { ...pages, scanned: 0, failed: 0 },
    attempts: 0,
    ...placesOf(granted),
    message: granted > 0 ? null : QUEUED.message,
    ...stating(scan, [...(granted > 0 ? ADMITTED_UPDATES : waitingUpdates(QUEUED)), ...passed], now),
  };
}

/** The status of a waiting scan after the reason why it waits has changed, as when its queue was paused. */
export function waitingStatus(scan: AccessibilityScan, why: WaitReason, now: Date): StatusPatch {
  return { message: why.message, ...stating(scan, waitingUpdates(why), now) };
}

const placesOf = (pods: number): StatusPatch => (pods > 1 ? { pods } : {});

export function admittedStatus(scan: AccessibilityScan, now: Date, pods = 1): StatusPatch {
  return { ...placesOf(pods), message: null, ...stating(scan, ADMITTED_UPDATES, now) };
}

export function outageStatus(scan: AccessibilityScan, jobName: string | undefined, now: Date): StatusPatch {
  const message = 'The object store is unavailable; the results are read when it responds again.';
  return { ...(jobName !== undefined && { jobName }), ...stating(scan, liveUpdates({ reason: STORE_UNAVAILABLE, message }), now) };
}

/** The pages count from 0 again. What a Job tested is lost with it, and costs nothing if the scan is canceled. */
export function noPages({ status }: AccessibilityScan): StatusPatch {
  return status?.pages === undefined ? {} : { pages: { ...status.pages, scanned: 0, failed: 0 } };
}

/** The status of a scan whose Job is replaced, because it gave no results that can be used. */
export function replacedStatus(scan: AccessibilityScan, job: string, why: WaitReason, now: Date): StatusPatch {
  return { replacedJob: job, jobName: null, podName: null, ...noPages(scan), ...stating(scan, liveUpdates(why), now) };
}

export function cancelingStatus(scan: AccessibilityScan, now: Date): StatusPatch {
  return { cancelTime: timestamp(now), message: CANCELING.message, ...stating(scan, liveUpdates(CANCELING), now) };
}

/** Whether the status states an older generation of the spec than the current one. Not before the first status. */
export function isOutdated({ metadata, status }: AccessibilityScan): boolean {
  return status?.conditions !== undefined && status.observedGeneration !== metadata.generation;
}

/** The status after a change of the spec that changes nothing else, such as another TTL. */
export function observedStatus(scan: AccessibilityScan, now: Date): StatusPatch {
  return stating(scan, [], now);
}

/** Applies a patch to a scan without writing it. */
export function withStatus(scan: AccessibilityScan, patch: StatusPatch): AccessibilityScan {
  const status = Object.fromEntries(Object.entries({ ...scan.status, ...patch }).filter(([, value]) => value !== null));
  return { ...scan, status: status };
}

/** The status of a scan that ended without a result. It states the pages that are charged. */
export function endedStatus(scan: AccessibilityScan, end: EndReason, now: Date): StatusPatch {
  const passed = judgeWithoutResult(scan.spec.thresholds ?? {});
  const why = { reason: end.reason, message: end.message };
  const updates = endedUpdates(false, why, end.phase === 'failed' || passed === false ? why : null);
  if (passed === false)
    updates.push({ type: 'Passed', status: 'False', reason: 'NoResult', message: 'A scan without a result does not pass.' });
  // The scan was never admitted and no longer waits.
  if (conditionOf(scan.status?.conditions, 'Admitted')?.status !== 'True') updates.push({ type: 'Admitted', status: 'False', ...why });
  return {
    phase: end.phase,
    completionTime: timestamp(now),
    message: end.message,
    passed,
    ...(end.pages && scan.status?.pages && { pages: { ...scan.status.pages, scanned: end.pages.scanned, failed: end.pages.failed } }),
    ...stating(scan, updates, now),
  };
}

export interface VerifiedResult {
  /** The scan was canceled, and the results are of the pages that were tested until then. */
  partial: boolean;
  outcome: Outcome;
  verdict: Verdict;
  export: { bytes: number; sha256: string };
  pdf: { bytes: number; sha256: string };
}

/** The status of a scan that ended with results: it is done, or was canceled and has a partial report. */
export function resultStatus(scan: AccessibilityScan, scanId: string, found: VerifiedResult, now: Date): StatusPatch {
  const stored = toOutcomeStatus(found.outcome);
  const { scanned } = found.outcome.pages;
  const { requested, reserved } = scan.status?.pages ?? { requested: scanned, reserved: scanned };
  return {
    observedGeneration: scan.metadata.generation,
    startTime: scan.status?.startTime ?? timestamp(now),
    completionTime: timestamp(now),
    ...stored,
    pages: { requested, reserved, ...stored.pages },
    passed: found.verdict.passed,
    reports: {
      pdf: `/v1/scans/${scanId}/report`,
      json: `/v1/scans/${scanId}/report/json`,
      stored: { export: found.export, pdf: found.pdf },
    },
    ...(found.partial ? partialEnd(scan, found, now) : doneEnd(scan, found, now)),
  };
}

function doneEnd(scan: AccessibilityScan, { outcome, verdict: { passed, message } }: VerifiedResult, now: Date): StatusPatch {
  const { score, violations } = outcome;
  const { scanned } = outcome.pages;
  const summary = `${scanned} ${scanned === 1 ? 'page' : 'pages'} tested, score ${score}, ${violations.total} ${violations.total === 1 ? 'violation' : 'violations'}.`;
  const missed = passed === false ? { reason: 'ThresholdsMissed', message: message ?? '' } : null;
  const updates = endedUpdates(true, { reason: 'Done', message: summary }, missed);
  if (passed === true)
    updates.push({
      type: 'Passed',
      status: 'True',
      reason: 'ThresholdsMet',
      message: ['Every threshold is met.', message].filter(Boolean).join(' '),
    });
  if (missed !== null) updates.push({ type: 'Passed', status: 'False', ...missed });
  return { phase: 'done', message, conditions: scanConditions(scan, updates, now) };
}

function partialEnd(scan: AccessibilityScan, { outcome, verdict }: VerifiedResult, now: Date): StatusPatch {
  const message = [partialMessage(scan, outcome.pages), ...notesOf([], outcome)].join(' ');
  const why = { reason: 'Canceled', message };
  const hasMissed = verdict.passed === false;
  const updates = endedUpdates(false, why, hasMissed ? why : null);
  if (hasMissed)
    updates.push({ type: 'Passed', status: 'False', reason: 'PartialReport', message: 'A scan that was canceled does not pass.' });
  return { phase: 'canceled', message, conditions: scanConditions(scan, updates, now) };
}

/**
 * The updates for a scan in progress. `Succeeded` and `Complete` are for users and `kubectl wait`; `Reconciling` and `Stalled` are
 * those of kstatus, with which Flux and other tools judge custom resources.
 */
export function liveUpdates(why: WaitReason): ConditionUpdate[] {
  return [
    { type: 'Complete', status: 'False', reason: 'InProgress', message: 'The scan has not ended.' },
    { type: 'Reconciling', status: 'True', ...why },
    { type: 'Succeeded', status: 'Unknown', ...why },
  ];
}

/**
 * The updates for a scan that ended.
 * @param problem why tools should report the scan as failed: it failed, or did not pass. Null if they should not
 */
function endedUpdates(succeeded: boolean, why: WaitReason, problem: WaitReason | null): ConditionUpdate[] {
  return [
    { type: 'Complete', status: 'True', ...why },
    { type: 'Reconciling', status: 'False', reason: why.reason, message: 'The scan has ended.' },
    problem === null
      ? { type: 'Stalled', status: 'False', reason: why.reason, message: 'The scan did not fail.' }
      : { type: 'Stalled', status: 'True', ...problem },
    { type: 'Succeeded', status: succeeded ? 'True' : 'False', ...why },
  ];
}

/**
 * The scan's conditions with updates. Each write of the status considers the whole spec, so every condition states the current
 * generation: `kubectl wait` ignores a condition of an older one.
 */
export function scanConditions(scan: AccessibilityScan, updates: readonly ConditionUpdate[], now: Date): Condition[] {
  return withConditions(scan, updates, now).map((condition) => ({ ...condition, observedGeneration: scan.metadata.generation }));
}
