/** How often a schedule has been due since its last result. Pure. */
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import type { ParsedSchedule } from '../../../core/schedule/times.ts';
import { jitterOf } from './times.ts';

/**
 * Returns the number of scheduled times, with jitter, since the last completed scan: whatever the reason, a schedule whose number
 * grows does not test its site. Times before the last change of the expression do not count. 0 while the schedule is suspended, and
 * if its expression is invalid.
 */
export function timesWithoutResult({ metadata, spec, status = {} }: ScanSchedule, parsed: ParsedSchedule, now: Date): number {
  if (spec.suspend === true || !parsed.ok) return 0;
  const jitterMs = jitterOf(metadata.namespace!, metadata.name, spec.jitterSeconds ?? 0);
  const since = Math.max(...[metadata.creationTimestamp, status.observedSchedule?.since].map(millis));
  const completed = millis(status.lastSuccessfulTime) - jitterMs;
  return parsed.times.count(new Date(Math.max(since, completed)), new Date(now.getTime() - jitterMs));
}

const millis = (time: string | undefined): number => (time === undefined ? -Infinity : Date.parse(time));
