/** The times of a ScanSchedule: its cron expression and time zone. Pure. */
import { calendarOf, parseFields } from './cron/cron-fields.ts';
import { elapsedTimes, everyTimes, isEvery, parseEvery, wallClockTimes, type ZonedTimes } from './cron/zoned-times.ts';
import { timeZoneOf } from './cron/time-zone.ts';

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

/** Reads a schedule as CronJob does. The differences are in `docs/kubernetes.md`. */
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
