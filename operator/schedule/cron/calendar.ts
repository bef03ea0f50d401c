/**
 * The wall-clock times of a cron expression, without a time zone. A wall-clock time is held as the milliseconds that it
 * would have in UTC.
 */
import { Cron } from 'croner';
import type { CronFields } from './cron-fields.ts';

export interface Calendar {
  /** The first time after `wall`, or null if there is none until the year 9999. */
  next(wall: number): number | null;
  /** The last time at or before `wall`. */
  previous(wall: number): number | null;
  /** The number of times with `after < time <= upTo`. */
  count(after: number, upTo: number): number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A Cron object takes 85 KB and 0.3 ms to make, so schedules with the same days share one. Most have `* * *`. */
const SHARED_MAX = 64;
const shared = new Map<string, Cron>();

/** Midnight of the matching days. Lists instead of ranges and steps, because croner reads `N/step` otherwise than CronJob. */
function daysOf(fields: CronFields): Cron {
  const day = fields.anyDayOfMonth ? '*' : fields.dayOfMonth.join(',');
  const weekday = fields.anyDayOfWeek ? '*' : fields.dayOfWeek.join(',');
  const expression = `0 0 ${day} ${fields.month.join(',')} ${weekday}`;
  const days = shared.get(expression) ?? new Cron(expression, { mode: '5-part', utcOffset: 0, domAndDow: false, paused: true });
  shared.delete(expression);
  shared.set(expression, days);
  for (const oldest of shared.keys()) if (shared.size > SHARED_MAX) shared.delete(oldest);
  return days;
}

function dayMatches(fields: CronFields, day: number): boolean {
  const date = new Date(day * DAY_MS);
  if (!fields.month.includes(date.getUTCMonth() + 1)) return false;
  const byDate = fields.dayOfMonth.includes(date.getUTCDate());
  const byWeekday = fields.dayOfWeek.includes(date.getUTCDay());
  return fields.anyDayOfMonth || fields.anyDayOfWeek ? byDate && byWeekday : byDate || byWeekday;
}

/** The first time of a day after this minute of the day. */
function nextInDay({ hour, minute }: CronFields, after: number): number | undefined {
  const sameHour = hour.includes(Math.floor(after / 60)) ? minute.find((value) => value > after % 60) : undefined;
  if (sameHour !== undefined) return after - (after % 60) + sameHour;
  const nextHour = hour.find((value) => value > after / 60);
  return nextHour === undefined ? undefined : nextHour * 60 + (minute[0] ?? 0);
}

/** The last time of a day up to this minute of the day. */
function previousInDay({ hour, minute }: CronFields, upTo: number): number | undefined {
  const sameHour = hour.includes(Math.floor(upTo / 60)) ? minute.findLast((value) => value <= upTo % 60) : undefined;
  if (sameHour !== undefined) return upTo - (upTo % 60) + sameHour;
  const lastHour = hour.findLast((value) => value < Math.floor(upTo / 60));
  return lastHour === undefined ? undefined : lastHour * 60 + (minute.at(-1) ?? 0);
}

/** The number of times of a day up to this minute of the day. */
function countInDay({ hour, minute }: CronFields, upTo: number): number {
  const hoursBefore = hour.filter((value) => value < Math.floor(upTo / 60)).length;
  const inHour = hour.includes(Math.floor(upTo / 60)) ? minute.filter((value) => value <= upTo % 60).length : 0;
  return hoursBefore * minute.length + inHour;
}

const split = (wall: number): [day: number, minuteOfDay: number] => {
  const day = Math.floor(wall / DAY_MS);
  return [day, Math.floor((wall - day * DAY_MS) / MINUTE_MS)];
};
const join = (day: number, minuteOfDay: number): number => day * DAY_MS + minuteOfDay * MINUTE_MS;
const LAST_MINUTE = DAY_MS / MINUTE_MS - 1;

/** The times of the fields. The walk from day to day (leap years, lengths of months, weekdays) is croner's. */
export function calendarOf(fields: CronFields): Calendar {
  return {
    next(wall) {
      const [day, minute] = split(wall);
      const sameDay = dayMatches(fields, day) ? nextInDay(fields, minute) : undefined;
      if (sameDay !== undefined) return join(day, sameDay);
      const nextDay = daysOf(fields).nextRun(new Date(join(day, 0)));
      return nextDay && nextDay.getTime() + (nextInDay(fields, -1) ?? 0) * MINUTE_MS;
    },
    previous(wall) {
      const [day, minute] = split(wall);
      const sameDay = dayMatches(fields, day) ? previousInDay(fields, minute) : undefined;
      if (sameDay !== undefined) return join(day, sameDay);
      const [previousDay] = daysOf(fields).previousRuns(1, new Date(join(day, 0)));
      return previousDay ? previousDay.getTime() + (previousInDay(fields, LAST_MINUTE) ?? 0) * MINUTE_MS : null;
    },
    /** Walks the days, not the times: five years are 1,827 steps. */
    count(after, upTo) {
      if (upTo <= after) return 0;
      const [[firstDay, firstMinute], [lastDay, lastMinute]] = [split(after), split(upTo)];
      let count = 0;
      for (let day = firstDay; day < lastDay; day += 1) if (dayMatches(fields, day)) count += fields.hour.length * fields.minute.length;
      if (dayMatches(fields, firstDay)) count -= countInDay(fields, firstMinute);
      if (dayMatches(fields, lastDay)) count += countInDay(fields, lastMinute);
      return count;
    },
  };
}
