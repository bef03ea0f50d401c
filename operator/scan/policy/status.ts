/** Builds the status patch for each step of a scan's life. Pure. */
import type { AccessibilityScan, AccessibilityScanStatus } from '../../../core/protocol/custom-resources.ts';
import { isTerminal, type Phase } from '../../../core/scan/phases.ts';
import { toOutcomeStatus, type Outcome } from '../../../core/scan/outcome.ts';
import { hasThresholds, judgeWithoutResult, type Verdict } from '../../../core/scan/thresholds.ts';
import { timestamp } from '../../runtime/clock.ts';
import { conditionOf, withConditions, type ConditionUpdate } from '../../runtime/conditions.ts';
import type { EndReason } from './condition-reasons.ts';

/** A merge patch of a status: null deletes a field. */
export type StatusPatch = { [K in keyof AccessibilityScanStatus]?: AccessibilityScanStatus[K] | null };

/** Returns the phase; `queued` for a scan without a status. */
export function phaseOf(scan: AccessibilityScan): Phase {
  return scan.status?.phase ?? 'queued';
}

export function hasEnded(scan: AccessibilityScan): boolean {
  return isTerminal(phaseOf(scan));
}

/** The status after the credits are reserved. */
export function queuedStatus(scan: AccessibilityScan, pages: { requested: number; reserved: number }, now: Date): StatusPatch {
  const passed: ConditionUpdate[] = hasThresholds(scan.spec.thresholds ?? {})
    ? [{ type: 'Passed', status: 'Unknown', reason: 'Pending', message: 'The scan has not ended.' }]
    : [];
  return {
    phase: 'queued',
    observedGeneration: scan.metadata.generation,
    pages: { ...pages, scanned: 0, failed: 0 },
    attempts: 0,
    message: 'Waiting in the queue.',
    conditions: withConditions(
      scan,
      [
        { type: 'Admitted', status: 'False', reason: 'Queued', message: 'Waiting in the queue.' },
        { type: 'Succeeded', status: 'Unknown', reason: 'Queued', message: 'Waiting in the queue.' },
        ...passed,
      ],
      now,
    ),
  };
}

/** The status of a waiting scan, with the reason. */
export function waitingStatus(scan: AccessibilityScan, why: { reason: string; message: string }, now: Date): StatusPatch {
  return {
    observedGeneration: scan.metadata.generation,
    message: why.message,
    conditions: withConditions(
      scan,
      [
        { type: 'Admitted', status: 'False', ...why },
        { type: 'Succeeded', status: 'Unknown', reason: 'Queued', message: why.message },
      ],
      now,
    ),
  };
}

/** The status after admission. */
export function admittedStatus(scan: AccessibilityScan, now: Date): StatusPatch {
  return {
    observedGeneration: scan.metadata.generation,
    message: null,
    conditions: withConditions(
      scan,
      [
        { type: 'Admitted', status: 'True', reason: 'Admitted', message: 'The queue has admitted the scan.' },
        { type: 'Succeeded', status: 'Unknown', reason: 'Launching', message: 'Creating the Job.' },
      ],
      now,
    ),
  };
}

/** The status of a scan that ended without a result. */
export function endedStatus(scan: AccessibilityScan, end: EndReason, now: Date): StatusPatch {
  const passed = judgeWithoutResult(scan.spec.thresholds ?? {});
  const updates: ConditionUpdate[] = [{ type: 'Succeeded', status: 'False', reason: end.reason, message: end.message }];
  if (passed === false)
    updates.push({ type: 'Passed', status: 'False', reason: 'NoResult', message: 'A scan without a result does not pass.' });
  // The scan was never admitted and no longer waits.
  if (conditionOf(scan.status?.conditions, 'Admitted')?.status !== 'True')
    updates.push({ type: 'Admitted', status: 'False', reason: end.reason, message: end.message });
  return {
    phase: end.phase,
    observedGeneration: scan.metadata.generation,
    completionTime: timestamp(now),
    message: end.message,
    passed,
    conditions: withConditions(scan, updates, now),
  };
}

/** The verified results of a scan. */
export interface VerifiedResult {
  outcome: Outcome;
  verdict: Verdict;
  export: { bytes: number; sha256: string };
  pdf: { bytes: number; sha256: string };
}

/** The status of a completed scan. */
export function doneStatus(scan: AccessibilityScan, scanId: string, found: VerifiedResult, now: Date): StatusPatch {
  const { outcome } = found;
  const { passed, message } = found.verdict;
  const { score, violations } = outcome;
  const { scanned } = outcome.pages;
  const { requested, reserved } = scan.status?.pages ?? { requested: scanned, reserved: scanned };
  const summary = `${scanned} ${scanned === 1 ? 'page' : 'pages'} tested, score ${score}, ${violations.total} ${violations.total === 1 ? 'violation' : 'violations'}.`;
  const stored = toOutcomeStatus(outcome);
  const updates: ConditionUpdate[] = [{ type: 'Succeeded', status: 'True', reason: 'Done', message: summary }];
  if (passed === true) updates.push({ type: 'Passed', status: 'True', reason: 'ThresholdsMet', message: 'Every threshold is met.' });
  if (passed === false) updates.push({ type: 'Passed', status: 'False', reason: 'ThresholdsMissed', message: message ?? '' });
  return {
    phase: 'done',
    observedGeneration: scan.metadata.generation,
    startTime: scan.status?.startTime ?? timestamp(now),
    completionTime: timestamp(now),
    ...stored,
    pages: { requested, reserved, ...stored.pages },
    passed,
    message,
    reports: {
      pdf: `/v1/scans/${scanId}/report`,
      json: `/v1/scans/${scanId}/report/json`,
      stored: { export: found.export, pdf: found.pdf },
    },
    conditions: withConditions(scan, updates, now),
  };
}
