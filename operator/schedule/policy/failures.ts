/** How many scans of a schedule have failed in a row. Pure. */
import type { FailedScan, ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import type { ConditionUpdate } from '../../runtime/conditions.ts';
import type { Note, ScheduleFacts } from './facts.ts';
import { lastTimes } from './history.ts';

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

/** By end, then by name: ends are whole seconds. */
const compare = (a: FailedScan, b: FailedScan): number =>
  Date.parse(a.completionTime) - Date.parse(b.completionTime) || a.name.localeCompare(b.name);

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
    .filter((scan) => before === undefined || compare(scan, before) > 0)
    .toSorted(compare);
  const recorded = before !== undefined && counts(before) ? consecutiveFailures : 0;
  const fresh = unrecorded.filter(counts);
  const consecutive = recorded + fresh.length;
  const last = unrecorded.at(-1) ?? before;
  return {
    status: { ...(last && { lastFailed: last, consecutiveFailures: consecutive }) },
    condition: conditionOf(consecutive, last),
    repeated: consecutive >= STALLED_AFTER,
    notes: fresh.map((scan, at) => noteOf(scan, recorded + at + 1)),
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
