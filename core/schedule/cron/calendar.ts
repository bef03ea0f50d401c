/**
 * The wall-clock times of a cron expression, without a time zone. A wall-clock time is held as the milliseconds that it
 * would have in UTC.
 *
 * Own code, because no library has these rules (docs/contributing/dependencies.md): CronJob's syntax, exact counts and previous times of
 * missed runs, and changes of the clock that neither lose nor repeat a run.
 */
import type { CronFields } from './cron-fields.ts';

export interface Calendar {
  /** The first time after `wall`. */
  next(wall: number): number;
  /** The last time at or before `wall`. */
  previous(wall: number): number;
  /** The number of times with `after < time <= upTo`. */
  count(after: number, upTo: number): number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function dayMatches(fields: CronFields, day: number): boolean {
  const date = new Date(day * DAY_MS);
  if (!fields.month.includes(date.getUTCMonth() + 1)) return false;
  const byDate = fields.dayOfMonth.includes(date.getUTCDate());
  const byWeekday = fields.dayOfWeek.includes(date.getUTCDay());
  return fields.anyDayOfMonth || fields.anyDayOfWeek ? byDate && byWeekday : byDate || byWeekday;
}

/** From one 29 February to the next, around the year 2100. */
const LONGEST_GAP_DAYS = 8 * 366;

/** The nearest matching day after (`step` 1) or before (-1) a day. @throws if there is none, which `parseFields` refuses */
function matchingDay(fields: CronFields, from: number, step: 1 | -1): number {
  for (let days = 1; days <= LONGEST_GAP_DAYS; days += 1) if (dayMatches(fields, from + days * step)) return from + days * step;
  throw new Error('the cron expression never fires');
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

/** The times of the fields. */
export function calendarOf(fields: CronFields): Calendar {
  return {
    next(wall) {
      const [day, minute] = split(wall);
      const sameDay = dayMatches(fields, day) ? nextInDay(fields, minute) : undefined;
      if (sameDay !== undefined) return join(day, sameDay);
      return join(matchingDay(fields, day, 1), nextInDay(fields, -1)!);
    },
    previous(wall) {
      const [day, minute] = split(wall);
      const sameDay = dayMatches(fields, day) ? previousInDay(fields, minute) : undefined;
      if (sameDay !== undefined) return join(day, sameDay);
      return join(matchingDay(fields, day, -1), previousInDay(fields, LAST_MINUTE)!);
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
