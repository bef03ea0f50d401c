/** Which scans of a schedule have completed since the last comparison, and which are beyond the history limits. Pure. */
import { type AccessibilityScan, scanIdOf } from '../../../core/protocol/custom-resources.ts';
import type { CompletedScan, FailedScan, ScanSchedule, ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import { hasEnded } from '../../scan/policy/status.ts';
import type { ConditionUpdate } from '../../runtime/conditions.ts';
import { isUnsettled } from './child.ts';
import type { Note, ScheduleFacts } from './facts.ts';
/** CronJob's defaults, for schedules that are older than the fields. */
const DEFAULT_LIMITS = { successful: 3, failed: 1 };
/** The maximum number of deletions per plan, so that a lowered limit does not occupy a worker for long. */
const REMOVALS_MAX = 20;

/** A completed scan has a result, whether or not it met its thresholds. */
const isCompleted = (scan: AccessibilityScan): boolean => scan.status?.phase === 'done' && scan.status.completionTime !== undefined;

function toCompleted(scan: AccessibilityScan, apiNamespace: string): CompletedScan {
  const { completionTime, passed, score, violations } = scan.status!;
  return {
    name: scan.metadata.name,
    scanId: scanIdOf(scan, apiNamespace),
    completionTime: completionTime!,
    ...(typeof passed === 'boolean' && { passed }),
    ...(score !== undefined && { score }),
    ...(violations !== undefined && { violations: violations.total }),
  };
}

type Ended = Pick<CompletedScan, 'name' | 'completionTime'>;

/** By end. Ends are whole seconds; names of the same second give a stable order. */
function byCompletion(a: Ended, b: Ended): number {
  return Date.parse(a.completionTime) - Date.parse(b.completionTime) || a.name.localeCompare(b.name);
}

/** Returns the completed scans that the status does not record yet, in the order of their ends. */
export function unrecorded({ schedule, children, apiNamespace, state }: ScheduleFacts): CompletedScan[] {
  const last = schedule.status?.lastCompleted;
  const held = children.filter(isCompleted).map((scan) => toCompleted(scan, apiNamespace));
  // A scan with a short TTL may be gone before its comparison ends.
  const compared = state.comparison?.completed;
  const all = compared === undefined || held.some(({ scanId }) => scanId === compared.scanId) ? held : [...held, compared];
  const isNew = (scan: CompletedScan): boolean => {
    if (last === undefined) return true;
    const later = Date.parse(scan.completionTime) - Date.parse(last.completionTime);
    return later > 0 || (later === 0 && scan.scanId !== last.scanId && !(state.recorded?.has(scan.scanId) ?? true));
  };
  return all.filter(isNew).toSorted(byCompletion);
}

/** The scans that another process may have recorded. */
export function recordedBefore(schedule: ScanSchedule, children: readonly AccessibilityScan[], apiNamespace: string): Set<string> {
  const last = schedule.status?.lastCompleted;
  if (last === undefined) return new Set();
  const completed = children.filter(isCompleted).map((scan) => toCompleted(scan, apiNamespace));
  return new Set(completed.filter(({ completionTime }) => completionTime === last.completionTime).map(({ scanId }) => scanId));
}

/** Adds a recorded scan, and forgets those of earlier seconds. */
export function withRecorded(recorded: ReadonlySet<string> | null, last: CompletedScan | undefined, completed: CompletedScan): Set<string> {
  const same = last?.completionTime === completed.completionTime;
  return new Set([...(same ? (recorded ?? []) : []), ...(same ? [last.scanId] : []), completed.scanId]);
}

export function lastTimes({ schedule, children }: ScheduleFacts): Pick<ScanScheduleStatus, 'lastSuccessfulTime' | 'lastPassedTime'> {
  const { lastSuccessfulTime, lastPassedTime } = schedule.status ?? {};
  const ends = children.filter(isCompleted).map(({ status }) => ({ at: status!.completionTime!, passed: status!.passed === true }));
  const latest = (times: (string | undefined)[]): string | undefined =>
    times
      .filter((time) => time !== undefined)
      .toSorted((a, b) => Date.parse(a) - Date.parse(b))
      .at(-1);
  const successful = latest([lastSuccessfulTime, ...ends.map(({ at }) => at)]);
  const passed = latest([lastPassedTime, ...ends.filter((end) => end.passed).map(({ at }) => at)]);
  return { ...(successful && { lastSuccessfulTime: successful }), ...(passed && { lastPassedTime: passed }) };
}

/** Returns the ended scans beyond the history limits, oldest first. A scan is kept until it is settled and recorded. */
export function beyondLimits(facts: ScheduleFacts): AccessibilityScan[] {
  const { schedule, children } = facts;
  const { successfulScansHistoryLimit = DEFAULT_LIMITS.successful, failedScansHistoryLimit = DEFAULT_LIMITS.failed } = schedule.spec;
  const pending = new Set(unrecorded(facts).map(({ name }) => name));
  const kept = children.filter((scan) => hasEnded(scan) && scan.metadata.deletionTimestamp === undefined);
  const over = (scans: AccessibilityScan[], limit: number) => scans.toSorted(byEnd).slice(0, Math.max(0, scans.length - limit));
  return [
    ...over(kept.filter(isCompleted), successfulScansHistoryLimit),
    ...over(
      kept.filter((scan) => !isCompleted(scan)),
      failedScansHistoryLimit,
    ),
  ]
    .filter((scan) => !isUnsettled(scan) && !pending.has(scan.metadata.name))
    .slice(0, REMOVALS_MAX);
}

function byEnd(a: AccessibilityScan, b: AccessibilityScan): number {
  const end = ({ status, metadata }: AccessibilityScan) => Date.parse(status?.completionTime ?? metadata.creationTimestamp ?? '');
  return end(a) - end(b) || a.metadata.name.localeCompare(b.metadata.name);
}

/** After this many failures in a row somebody has to act: one may be an outage of the site. */
export const STALLED_AFTER = 3;
const MESSAGE_MAX = 1000;

export interface Failures {
  /** Without a failure the fields are absent. */
  status: Pick<ScanScheduleStatus, 'lastFailed' | 'consecutiveFailures'>;
  condition: ConditionUpdate;
  /** Whether as many scans failed in a row that the schedule counts as stalled. */
  repeated: boolean;
  notes: Note[];
}

/** A failed scan has no result. One that was canceled, or missed its thresholds, has not failed. */
const isFailed = (scan: ScheduleFacts['children'][number]): boolean =>
  scan.status?.phase === 'failed' && scan.status.completionTime !== undefined;

/** Counts the failures since the last scan with a result. The status records the last one, so each is counted once. */
export function failuresOf(facts: ScheduleFacts): Failures {
  const { lastFailed: before, consecutiveFailures = 0 } = facts.schedule.status ?? {};
  const { lastSuccessfulTime } = lastTimes(facts);
  const counts = ({ completionTime }: FailedScan): boolean =>
    lastSuccessfulTime === undefined || Date.parse(completionTime) > Date.parse(lastSuccessfulTime);
  const unrecorded = facts.children
    .filter(isFailed)
    .map(({ metadata, status }) => ({
      name: metadata.name,
      completionTime: status!.completionTime!,
      message: (status!.message ?? '').slice(0, MESSAGE_MAX).toWellFormed(),
    }))
    .filter((scan) => before === undefined || byCompletion(scan, before) > 0)
    .toSorted(byCompletion);
  const recorded = before !== undefined && counts(before) ? consecutiveFailures : 0;
  const added = unrecorded.filter(counts);
  const consecutive = recorded + added.length;
  const last = unrecorded.at(-1) ?? before;
  return {
    status: { ...(last && { lastFailed: last, consecutiveFailures: consecutive }) },
    condition: conditionOf(consecutive, last),
    repeated: consecutive >= STALLED_AFTER,
    notes: added.map((scan, at) => noteOf(scan, recorded + at + 1)),
  };
}

function conditionOf(consecutive: number, last: FailedScan | undefined): ConditionUpdate {
  if (consecutive === 0 || last === undefined)
    return { type: 'Failing', status: 'False', reason: 'NoFailure', message: 'No scan has failed since the last one with a result.' };
  return { type: 'Failing', status: 'True', reason: 'ScanFailed', message: sentence(last, consecutive) };
}

const noteOf = (scan: FailedScan, inARow: number): Note => ({
  type: 'Warning',
  reason: 'ScanFailed',
  message: sentence(scan, inARow),
  failed: { repeated: inARow >= STALLED_AFTER },
});

const sentence = ({ name, message }: FailedScan, inARow: number): string =>
  `${name} failed${inARow > 1 ? ` (${inARow} in a row)` : ''}: ${message === '' ? 'it has no result.' : message}`;
