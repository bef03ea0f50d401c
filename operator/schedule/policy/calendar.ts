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

/** Lists instead of ranges and steps, because croner reads `N/step` and large steps otherwise than CronJob. */
function canonicalExpression(fields: CronFields): string {
  const day = fields.anyDayOfMonth ? '*' : fields.dayOfMonth.join(',');
  const weekday = fields.anyDayOfWeek ? '*' : fields.dayOfWeek.join(',');
  return `${fields.minute.join(',')} ${fields.hour.join(',')} ${day} ${fields.month.join(',')} ${weekday}`;
}

function dayMatches(fields: CronFields, day: number): boolean {
  const date = new Date(day * DAY_MS);
  if (!fields.month.includes(date.getUTCMonth() + 1)) return false;
  const byDate = fields.dayOfMonth.includes(date.getUTCDate());
  const byWeekday = fields.dayOfWeek.includes(date.getUTCDay());
  return fields.anyDayOfMonth || fields.anyDayOfWeek ? byDate && byWeekday : byDate || byWeekday;
}

/** Walks the days, not the times: five years of `* * * * *` are 1,827 steps. */
function countTimes(fields: CronFields, after: number, upTo: number): number {
  if (upTo <= after) return 0;
  const timesOfDay = fields.hour.flatMap((hour) => fields.minute.map((minute) => (hour * 60 + minute) * MINUTE_MS));
  const upToInDay = (wall: number) => timesOfDay.filter((time) => time <= wall - Math.floor(wall / DAY_MS) * DAY_MS).length;
  const [firstDay, lastDay] = [Math.floor(after / DAY_MS), Math.floor(upTo / DAY_MS)];
  let count = 0;
  for (let day = firstDay; day < lastDay; day += 1) if (dayMatches(fields, day)) count += timesOfDay.length;
  if (dayMatches(fields, firstDay)) count -= upToInDay(after);
  if (dayMatches(fields, lastDay)) count += upToInDay(upTo);
  return count;
}

/** The times of the fields. The calendar walk (leap years, lengths of months, weekdays) is croner's. */
export function calendarOf(fields: CronFields): Calendar {
  const cron = new Cron(canonicalExpression(fields), { mode: '5-part', utcOffset: 0, domAndDow: false, paused: true });
  return {
    next: (wall) => cron.nextRun(new Date(wall))?.getTime() ?? null,
    previous: (wall) => {
      const nextMinute = (Math.floor(wall / MINUTE_MS) + 1) * MINUTE_MS;
      return cron.previousRuns(1, new Date(nextMinute))[0]?.getTime() ?? null;
    },
    count: (after, upTo) => countTimes(fields, after, upTo),
  };
}
