/** Which scans of a schedule have completed since the last comparison, and which are beyond the history limits. Pure. */
import { scanIdOf, type AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { CompletedScan, ScanSchedule, ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import { hasEnded } from '../../scan/policy/status.ts';
import { isUnsettled } from './child.ts';
import type { ScheduleFacts } from './facts.ts';

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

/** By end. Ends are whole seconds; names of the same second give a stable order. */
function byCompletion(a: CompletedScan, b: CompletedScan): number {
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

/** Returns the times of the last completed scan and of the last one that met its thresholds. */
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
