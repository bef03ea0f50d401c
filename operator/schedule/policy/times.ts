/** When a ScanSchedule runs: its cron expression, time zone, jitter and missed runs. Pure; the clock is passed in. */
import { createHash } from 'node:crypto';
import { calendarOf } from '../cron/calendar.ts';
import { parseFields } from '../cron/cron-fields.ts';
import { everyTimes, isEvery, parseEvery } from '../cron/every.ts';
import { timeZoneOf } from '../cron/time-zone.ts';
import { elapsedTimes, wallClockTimes, type ZonedTimes } from '../cron/zoned-times.ts';

/** The times of a parsed schedule. Each is exact, and its cost does not grow with the number of times between. */
export interface CronTimes {
  /** The first time after `after`, or null if there is none. For `@every`, `after` is the last scheduled time. */
  next(after: Date): Date | null;
  /** The last time with `after < time <= atOrBefore`. */
  previous(atOrBefore: Date, after: Date): Date | null;
  /** The number of times with `after < time <= atOrBefore`. */
  count(after: Date, atOrBefore: Date): number;
}

/** The message is a sentence for the author of the schedule. */
export type ParsedSchedule =
  { ok: true; times: CronTimes } | { ok: false; reason: 'invalid_schedule' | 'invalid_time_zone'; message: string };

/** CronJob's default is the time zone of kube-controller-manager, which is UTC on most clusters. */
const DEFAULT_TIME_ZONE = 'UTC';
const HOURS_PER_DAY = 24;

function toDates(times: ZonedTimes): CronTimes {
  const toDate = (instant: number | null): Date | null => (instant === null ? null : new Date(instant));
  return {
    next: (after) => toDate(times.next(after.getTime())),
    previous: (atOrBefore, after) => toDate(times.previous(atOrBefore.getTime(), after.getTime())),
    count: (after, atOrBefore) => times.count(after.getTime(), atOrBefore.getTime()),
  };
}

/** Reads a schedule as CronJob does. The differences are in `docs/dependencies.md`. */
export function parseSchedule(schedule: string, timeZone: string = DEFAULT_TIME_ZONE): ParsedSchedule {
  const invalid = (message: string): ParsedSchedule => ({
    ok: false,
    reason: 'invalid_schedule',
    message: `The schedule "${schedule}" is invalid: ${message}.`,
  });
  const zone = timeZoneOf(timeZone);
  if (zone === null) {
    const message = `The time zone "${timeZone}" is not a name of the IANA time zone database, such as Europe/Berlin or Etc/UTC.`;
    return { ok: false, reason: 'invalid_time_zone', message };
  }
  if (isEvery(schedule)) {
    const every = parseEvery(schedule);
    return every.ok ? { ok: true, times: toDates(everyTimes(every.intervalMs)) } : invalid(every.message);
  }
  const parsed = parseFields(schedule);
  if (!parsed.ok) return invalid(parsed.message);
  const calendar = calendarOf(parsed.fields);
  const everyHour = parsed.fields.hour.length === HOURS_PER_DAY;
  return { ok: true, times: toDates(everyHour ? elapsedTimes(calendar, zone) : wallClockTimes(calendar, zone)) };
}

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
