/** Which run of a ScanSchedule is due: jitter and missed runs. Pure; the clock is passed in. */
import { createHash } from 'node:crypto';
import type { CronTimes } from '../../../core/schedule/times.ts';

/** The delay of a schedule's runs in milliseconds, in whole seconds, always the same for one namespace and name. */
export function jitterOf(namespace: string, name: string, jitterSeconds: number): number {
  const hash = createHash('sha256').update(`${namespace}/${name}`).digest().readUInt32BE();
  return (hash % (jitterSeconds + 1)) * 1000;
}

export interface DueRunArgs {
  /** The last scheduled time, or the creation of the schedule. */
  after: Date;
  now: Date;
  jitterMs: number;
  startingDeadlineSeconds?: number;
}

export interface DueRunResult {
  /** The scheduled time of the run that is due now. At most one, the most recent: a schedule catches up with one run after downtime. */
  due: Date | null;
  /** The exact number of runs that were due and are not made: all but `due`. */
  missed: number;
  /** The scheduled time of the last missed run, or null if none was missed. */
  lastMissedAt: Date | null;
  /** When to look again: `nextScheduledAt` with the jitter. */
  nextAt: Date | null;
  nextScheduledAt: Date | null;
}

/** Bounds the time that a wrong status costs, such as a last scheduled time in the year 1. */
const LONGEST_DOWNTIME_MS = 50 * 365 * 86_400_000;

/** Decides which run is due. A run is made at its scheduled time plus the jitter, and the deadline counts from there. */
export function dueRun(times: CronTimes, { after: last, now, jitterMs, startingDeadlineSeconds }: DueRunArgs): DueRunResult {
  const after = new Date(Math.max(last.getTime(), now.getTime() - LONGEST_DOWNTIME_MS));
  const scheduledUpTo = new Date(now.getTime() - jitterMs);
  const latest = times.previous(scheduledUpTo, after);
  const nextScheduledAt = times.next(latest ?? after);
  const nextAt = nextScheduledAt && new Date(nextScheduledAt.getTime() + jitterMs);
  if (latest === null) return { due: null, missed: 0, lastMissedAt: null, nextAt, nextScheduledAt };
  const passed = times.count(after, latest);
  // Whole seconds, because a timer fires some milliseconds late: with a deadline of 0, nothing would ever be due.
  const lateSeconds = Math.floor((scheduledUpTo.getTime() - latest.getTime()) / 1000);
  if (startingDeadlineSeconds !== undefined && lateSeconds > startingDeadlineSeconds)
    return { due: null, missed: passed, lastMissedAt: latest, nextAt, nextScheduledAt };
  const missed = passed - 1;
  const lastMissedAt = missed === 0 ? null : times.previous(new Date(latest.getTime() - 1), after);
  return { due: latest, missed, lastMissedAt, nextAt, nextScheduledAt };
}
