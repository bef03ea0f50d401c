/**
 * Reads a cron expression as Kubernetes' CronJob does (robfig/cron v3, the standard parser): with five fields, and `N/step` from N
 * to the end of the field. A star is remembered, because it decides how the two day fields combine. It is stricter where
 * robfig/cron accepts what can only be a typing mistake: empty elements (`1,,2`), signs (`+5`), and a range that starts with a star
 * (`*-5`).
 *
 * The rules of `schedule` in crds/scanschedules.yaml refuse the same expressions when they are applied, apart from those that never
 * fire. A test compares the two (test/facts/schedule-rules.test.ts).
 */

/** The values that each field matches, ascending. */
export interface CronFields {
  minute: readonly number[];
  hour: readonly number[];
  dayOfMonth: readonly number[];
  month: readonly number[];
  /** 0 is Sunday. */
  dayOfWeek: readonly number[];
  /** True if the field has a star (or `?`) without a step above 1. If neither day field has one, a day matches if either field does. */
  anyDayOfMonth: boolean;
  anyDayOfWeek: boolean;
}

export type ParsedFields = { ok: true; fields: CronFields } | { ok: false; message: string };

interface FieldRule {
  label: string;
  min: number;
  max: number;
  /** The first name stands for `min`. */
  names: readonly string[];
}

const MONTH_NAMES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** From Sunday. */
export const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MINUTE: FieldRule = { label: 'minute', min: 0, max: 59, names: [] };
const HOUR: FieldRule = { label: 'hour', min: 0, max: 23, names: [] };
const DAY_OF_MONTH: FieldRule = { label: 'day of month', min: 1, max: 31, names: [] };
const MONTH: FieldRule = { label: 'month', min: 1, max: 12, names: MONTH_NAMES };
const DAY_OF_WEEK: FieldRule = { label: 'day of week', min: 0, max: 6, names: DAY_NAMES };

/** The macros that stand for five fields. `@every` is no such macro: see `parseEvery`. */
export const MACROS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

/** Other white space, such as a no-break space, can only be a typing mistake. */
const WHITE_SPACE = /[ \t\r\n]+/;

/** Carries the sentence from a field's part to `parseFields`. */
class FieldError extends Error {}

function readValue(text: string, rule: FieldRule): number {
  const named = rule.names.indexOf(text.toLowerCase());
  if (named >= 0) return rule.min + named;
  if (/^0*\d{1,9}$/.test(text)) {
    const value = Number(text);
    if (value >= rule.min && value <= rule.max) return value;
    const sunday = rule === DAY_OF_WEEK && value === 7 ? '; Sunday is 0' : '';
    throw new FieldError(`the ${rule.label} ${text} is not between ${rule.min} and ${rule.max}${sunday}`);
  }
  if (/[LW#]/i.test(text) && /^[\dA-Z#*?]+$/i.test(text))
    throw new FieldError(`"${text}" in the ${rule.label} field is not supported: CronJob knows no L, W or #`);
  throw new FieldError(`"${text}" is not a ${rule.label}`);
}

function readStep(text: string, rule: FieldRule): number {
  if (!/^0*[1-9]\d{0,8}$/.test(text)) throw new FieldError(`the step "${text}" in the ${rule.label} field is not a positive number`);
  return Number(text);
}

/** One element of a field's list: `*`, `N`, `N-M`, and each with `/step`. */
function readElement(element: string, rule: FieldRule): { values: number[]; star: boolean } {
  if (element === '') throw new FieldError(`the ${rule.label} field has an empty element`);
  const [range = '', stepText, ...more] = element.split('/');
  if (more.length > 0) throw new FieldError(`"${element}" in the ${rule.label} field has more than one "/"`);
  const step = stepText === undefined ? 1 : readStep(stepText, rule);
  const anyValue = range === '*' || range === '?';
  const [low = '', high, ...rest] = anyValue ? [] : range.split('-');
  if (rest.length > 0) throw new FieldError(`"${element}" in the ${rule.label} field has more than one "-"`);
  if (low === '*' || low === '?') throw new FieldError(`"${element}" in the ${rule.label} field is a range of all values`);
  const start = anyValue ? rule.min : readValue(low, rule);
  const openEnd = anyValue || (high === undefined && stepText !== undefined);
  const end = openEnd ? rule.max : high === undefined ? start : readValue(high, rule);
  if (start > end) throw new FieldError(`the range "${range}" in the ${rule.label} field ends before it begins`);
  const values = Array.from({ length: Math.floor((end - start) / step) + 1 }, (_, index) => start + index * step);
  return { values, star: anyValue && step === 1 };
}

function readField(text: string, rule: FieldRule): { values: number[]; star: boolean } {
  const elements = text.split(',').map((element) => readElement(element, rule));
  const values = [...new Set(elements.flatMap((element) => element.values))].sort((a, b) => a - b);
  return { values, star: elements.some((element) => element.star) };
}

/** True if some day of a year, leap or not, matches. Only a day of month that no month of the expression has makes it false. */
function canFire(fields: CronFields): boolean {
  if (fields.anyDayOfMonth || !fields.anyDayOfWeek) return true;
  const firstDay = fields.dayOfMonth[0] ?? 1;
  const LEAP_YEAR = 2024;
  return fields.month.some((month) => firstDay <= new Date(Date.UTC(LEAP_YEAR, month, 0)).getUTCDate());
}

function readFields(expression: string): CronFields {
  const texts = (MACROS.get(expression) ?? expression).split(WHITE_SPACE).filter((text) => text !== '');
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = texts;
  if (texts.length !== 5) {
    const extra = texts.length > 5 ? '; CronJob knows no seconds and no years' : '';
    throw new FieldError(`it needs 5 fields (minute, hour, day of month, month, day of week), not ${texts.length}${extra}`);
  }
  const day = readField(dayOfMonth, DAY_OF_MONTH);
  const weekday = readField(dayOfWeek, DAY_OF_WEEK);
  return {
    minute: readField(minute, MINUTE).values,
    hour: readField(hour, HOUR).values,
    dayOfMonth: day.values,
    month: readField(month, MONTH).values,
    dayOfWeek: weekday.values,
    anyDayOfMonth: day.star,
    anyDayOfWeek: weekday.star,
  };
}

/** Reads five fields or a macro. The message completes the sentence `The schedule "…" is invalid: `. */
export function parseFields(expression: string): ParsedFields {
  const no = (message: string): ParsedFields => ({ ok: false, message });
  if (expression.trim() === '') return no('it is empty');
  if (/^\s*(CRON_)?TZ=/.test(expression)) return no('a TZ= or CRON_TZ= prefix is not supported; set timeZone instead');
  if (expression.startsWith('@reboot')) return no('@reboot is not supported');
  if (expression.startsWith('@') && !MACROS.has(expression))
    return no(`the macro is unknown; the macros are ${[...MACROS.keys()].join(', ')} and @every with a duration such as 1h30m`);
  try {
    const fields = readFields(expression);
    return canFire(fields) ? { ok: true, fields } : no('it never fires, because none of its months has such a day');
  } catch (error) {
    if (error instanceof FieldError) return no(error.message);
    throw error;
  }
}

/**
 * The wall-clock times of a cron expression, without a time zone. A wall-clock time is held as the milliseconds that it would have
 * in UTC.
 *
 * Own code, because no library has these rules (docs/contributing/dependencies.md): CronJob's syntax, and exact counts and previous
 * times of missed runs. Nor has one changes of the clock that neither lose nor repeat a run.
 */
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
