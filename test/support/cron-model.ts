/** Cron schedules by brute force: every minute is looked at. Arbitraries make expressions together with the values that they mean. */
import fc from 'fast-check';

const MINUTE_MS = 60_000;

/** An expression and the wall-clock minutes that it means. */
export interface ModelSchedule {
  expression: string;
  everyHour: boolean;
  matches: (wallMinute: number) => boolean;
}

interface ModelField {
  text: string;
  values: Set<number>;
  star: boolean;
}

const span = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index).filter((value) => (value - from) % step === 0);

function fieldArbitrary(min: number, max: number): fc.Arbitrary<ModelField> {
  const value = fc.integer({ min, max });
  const step = fc.integer({ min: 1, max: max - min });
  const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('*', '?').map((text) => ({ text, values: new Set(span(min, max)), star: true })) },
    fc.constantFrom(min, Math.floor((min + max + 1) / 2)).map((only) => ({ text: `${only}`, values: new Set([only]), star: false })),
    fc
      .uniqueArray(value, { minLength: 1, maxLength: 4 })
      .map((values) => ({ text: values.join(','), values: new Set(values), star: false })),
    range.map(([from, to]) => ({ text: `${from}-${to}`, values: new Set(span(from, to)), star: false })),
    step.map((n) => ({ text: `*/${n}`, values: new Set(span(min, max, n)), star: n === 1 })),
    fc.tuple(value, step).map(([from, n]) => ({ text: `${from}/${n}`, values: new Set(span(from, max, n)), star: false })),
    fc
      .tuple(range, step, value)
      .map(([[from, to], n, more]) => ({ text: `${from}-${to}/${n},${more}`, values: new Set([...span(from, to, n), more]), star: false })),
  );
}

const anyField = (min: number, max: number): fc.Arbitrary<ModelField> =>
  fc.constant({ text: '*', values: new Set(span(min, max)), star: true });

function toSchedule([minute, hour, day, month, weekday]: readonly ModelField[]): ModelSchedule {
  if (!minute || !hour || !day || !month || !weekday) throw new Error('five fields are needed');
  return {
    expression: [minute, hour, day, month, weekday].map((field) => field.text).join(' '),
    everyHour: hour.values.size === 24,
    matches: (wallMinute) => {
      const date = new Date(wallMinute * MINUTE_MS);
      if (!minute.values.has(date.getUTCMinutes()) || !hour.values.has(date.getUTCHours())) return false;
      if (!month.values.has(date.getUTCMonth() + 1)) return false;
      const [byDay, byWeekday] = [day.values.has(date.getUTCDate()), weekday.values.has(date.getUTCDay())];
      return day.star || weekday.star ? byDay && byWeekday : byDay || byWeekday;
    },
  };
}

/** Any expression. */
export const anySchedule: fc.Arbitrary<ModelSchedule> = fc
  .tuple(fieldArbitrary(0, 59), fieldArbitrary(0, 23), fieldArbitrary(1, 31), fieldArbitrary(1, 12), fieldArbitrary(0, 6))
  .map(toSchedule);

/** An expression that does not restrict the days, so that it runs near each change of the clock. */
export const dailySchedule: fc.Arbitrary<ModelSchedule> = fc
  .tuple(fieldArbitrary(0, 59), fieldArbitrary(0, 23), anyField(1, 31), anyField(1, 12), anyField(0, 6))
  .map(toSchedule);

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const twoDigits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', year: 'numeric', ...twoDigits });
  formats.set(timeZone, format);
  return format;
}

/** Reads the wall-clock minute of an instant's minute, both counted from 1970. */
export function wallClock(timeZone: string): (minute: number) => number {
  const format = formatOf(timeZone);
  return (minute) => {
    const text = format.format(minute * MINUTE_MS);
    const [day, month, year, hour, minutes] = [
      text.slice(0, 2),
      text.slice(3, 5),
      text.slice(6, 10),
      text.slice(12, 14),
      text.slice(15, 17),
    ];
    return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minutes)) / MINUTE_MS;
  };
}

/**
 * The minutes with `from < minute <= upTo` at which the schedule runs. The clock must not have been set back in the days
 * before `from`. `walls` has the wall-clock minute of each minute from `from` to `upTo`.
 */
export function modelRuns(schedule: ModelSchedule, from: number, walls: readonly number[]): number[] {
  const runs: number[] = [];
  let latest = walls[0] ?? 0;
  for (const [index, wall] of walls.entries()) {
    if (index === 0) continue;
    const leftOut = wall > latest + 1 ? span(latest + 1, wall - 1) : [];
    const runsNow = schedule.everyHour
      ? schedule.matches(wall)
      : wall > latest && (schedule.matches(wall) || leftOut.some(schedule.matches));
    if (runsNow) runs.push(from + index);
    latest = Math.max(latest, wall);
  }
  return runs;
}
