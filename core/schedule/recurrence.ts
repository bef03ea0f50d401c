/** Times as users say them, such as "every Monday at 08:00", and as cron expressions. Pure. */
import { DAY_NAMES, MACROS } from './cron/cron-fields.ts';
import { parseSchedule } from './times.ts';

export const FREQUENCIES = ['hour', 'day', 'weekdays', 'week', 'month', 'cron'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** What a form has. Fields that the frequency does not use are kept, but mean nothing. */
export interface TypedTimes {
  frequency: Frequency;
  /** `HH:MM`. */
  time: string;
  /** The minute of every hour. */
  minute: string;
  /** 0 to 6. */
  weekday: string;
  /** The day of the month. */
  day: string;
  /** The cron expression of the frequency `cron`. */
  cron: string;
}

export const DEFAULT_TIMES: TypedTimes = { frequency: 'week', time: '08:00', minute: '0', weekday: '1', day: '1', cron: '' };

export type ReadTimes = { ok: true; schedule: string } | { ok: false; field: Exclude<keyof TypedTimes, 'frequency'>; message: string };

/** What is wrong with a field of the form, as the form says it. */
export const TIME_PROBLEMS = {
  minute: 'Enter a minute from 0 to 59.',
  time: 'Enter a time of the day from 00:00 to 23:59, such as 08:30.',
  weekday: 'Choose a day of the week.',
  day: 'Enter a day of the month from 1 to 31.',
} as const;
const wrong = (field: keyof typeof TIME_PROBLEMS): ReadTimes => ({ ok: false, field, message: TIME_PROBLEMS[field] });

const wholeUpTo = (text: string, max: number): number | null => (/^\d{1,2}$/.test(text) && Number(text) <= max ? Number(text) : null);

/** The cron expression of what was typed. */
export function readTimes({ frequency, time, minute, weekday, day, cron }: TypedTimes): ReadTimes {
  if (frequency === 'cron') {
    const parsed = parseSchedule(cron);
    return parsed.ok ? { ok: true, schedule: cron } : { ok: false, field: 'cron', message: parsed.message };
  }
  if (frequency === 'hour') {
    const at = wholeUpTo(minute, 59);
    return at === null ? wrong('minute') : { ok: true, schedule: `${at} * * * *` };
  }
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  if (hours === undefined) return wrong('time');
  const at = `${Number(minutes)} ${Number(hours)}`;
  switch (frequency) {
    case 'day':
      return { ok: true, schedule: `${at} * * *` };
    case 'weekdays':
      return { ok: true, schedule: `${at} * * 1-5` };
    case 'week':
      return wholeUpTo(weekday, 6) === null ? wrong('weekday') : { ok: true, schedule: `${at} * * ${Number(weekday)}` };
    case 'month': {
      const number = wholeUpTo(day, 31);
      return number === null || number === 0 ? wrong('day') : { ok: true, schedule: `${at} ${number} * *` };
    }
  }
}

/** What a form shows of a cron expression: the words that it consists of, or the expression itself. */
export function typedTimes(schedule: string): TypedTimes {
  const own = { ...DEFAULT_TIMES, frequency: 'cron' as const, cron: schedule };
  const fields = (MACROS.get(schedule) ?? schedule).trim().split(/\s+/);
  const [minute = '', hour = '', day, month, weekday = ''] = fields;
  const minutes = wholeUpTo(minute, 59);
  if (fields.length !== 5 || month !== '*' || minutes === null) return own;
  if (hour === '*') return day === '*' && weekday === '*' ? { ...own, frequency: 'hour', minute: String(minutes), cron: '' } : own;
  const hours = wholeUpTo(hour, 23);
  if (hours === null) return own;
  const daily = { ...own, cron: '', time: [hours, minutes].map((part) => String(part).padStart(2, '0')).join(':') };
  const named = DAY_NAMES.indexOf(weekday.toLowerCase());
  const number = named >= 0 ? named : wholeUpTo(weekday, 6);
  if (day !== '*') {
    const dayOfMonth = wholeUpTo(day ?? '', 31);
    return weekday === '*' && dayOfMonth !== null && dayOfMonth > 0 ? { ...daily, frequency: 'month', day: String(dayOfMonth) } : own;
  }
  if (weekday === '*') return { ...daily, frequency: 'day' };
  if (/^(1-5|mon-fri)$/i.test(weekday)) return { ...daily, frequency: 'weekdays' };
  return number === null ? own : { ...daily, frequency: 'week', weekday: String(number) };
}

/** The next times of a schedule; fewer if there are fewer. Empty if the schedule is invalid. */
export function nextTimes(schedule: string, timeZone: string | undefined, after: Date, count: number): Date[] {
  const parsed = parseSchedule(schedule, timeZone);
  const found: Date[] = [];
  for (let next = parsed.ok ? parsed.times.next(after) : null; next !== null && found.length < count;) {
    found.push(next);
    next = parsed.ok ? parsed.times.next(next) : null;
  }
  return found;
}
