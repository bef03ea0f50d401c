/**
 * When the wall-clock times of a cron expression come in a time zone, at changes of its UTC offset too.
 *
 * - A schedule whose hour field matches every hour follows elapsed time, as CronJob does: `15 * * * *` runs once per hour. That is
 *   in both of the hours that a clock set back repeats, and not in the hour that a clock set forward leaves out.
 * - Any other schedule runs once for each of its wall-clock times, when the zone's clock first reads that time or a later one. A
 *   time that is left out runs when the clock is set forward; several at once are one run. A time that is repeated runs the first
 *   time. CronJob loses the first and runs the second twice, and each run costs credits.
 */
import type { Calendar } from './cron-fields.ts';
import type { TimeZone } from './time-zone.ts';

/** The instants at which a schedule runs, in milliseconds. */
export interface ZonedTimes {
  next(after: number): number;
  /** The last one with `after < instant <= upTo`. */
  previous(upTo: number, after: number): number | null;
  /** How many there are with `after < instant <= upTo`. */
  count(after: number, upTo: number): number;
}

/** Longer than the sum of any offset, any change of offset, and a day that a zone left out. */
const SPAN_MS = 72 * 3_600_000;

/** The instants with `after < instant <= upTo`, cut where the zone's offset changes. */
function segmentsOf(zone: TimeZone, after: number, upTo: number): { after: number; upTo: number; offset: number }[] {
  const changes = zone.changes(after, upTo);
  const offsets = [zone.offsetAt(after), ...changes.map((change) => change.after)];
  const cuts = [after, ...changes.map((change) => change.at - 1), upTo];
  return offsets.map((offset, index) => ({ after: cuts[index] ?? after, upTo: cuts[index + 1] ?? upTo, offset }));
}

/** Follows elapsed time. */
export function elapsedTimes(calendar: Calendar, zone: TimeZone): ZonedTimes {
  return {
    next(after) {
      let [from, passed, offset] = [after, after, zone.offsetAt(after)];
      for (;;) {
        const wall = calendar.next(from + offset);
        const [change] = zone.changes(passed, wall - offset);
        if (change === undefined) return wall - offset;
        [from, passed, offset] = [change.at - 1, change.at, change.after];
      }
    },
    previous(upTo, after) {
      for (const segment of segmentsOf(zone, after, upTo).reverse()) {
        const wall = calendar.previous(segment.upTo + segment.offset);
        if (wall - segment.offset > segment.after) return wall - segment.offset;
      }
      return null;
    },
    count(after, upTo) {
      if (upTo <= after) return 0;
      return segmentsOf(zone, after, upTo).reduce(
        (total, { after: start, upTo: end, offset }) => total + calendar.count(start + offset, end + offset),
        0,
      );
    },
  };
}

/** Once for each wall-clock time. */
export function wallClockTimes(calendar: Calendar, zone: TimeZone): ZonedTimes {
  /** The latest wall-clock time that the zone's clock has read until `instant`. It never goes back. */
  const latestWall = (instant: number): number =>
    zone
      .changes(instant - SPAN_MS, instant)
      .reduce((latest, change) => Math.max(latest, change.at - 1 + change.before), instant + zone.offsetAt(instant));
  /** When the zone's clock first read `wall` or a later time. */
  const firstInstant = (wall: number): number => {
    let start = wall - SPAN_MS;
    for (const change of zone.changes(start, wall + SPAN_MS)) {
      if (wall - change.before < change.at) return Math.max(start, wall - change.before);
      start = change.at;
    }
    return Math.max(start, wall - zone.offsetAt(start));
  };
  return {
    next: (after) => firstInstant(calendar.next(latestWall(after))),
    previous(upTo, after) {
      const instant = firstInstant(calendar.previous(latestWall(upTo)));
      return instant > after ? instant : null;
    },
    count(after, upTo) {
      if (upTo <= after) return 0;
      let total = calendar.count(latestWall(after), latestWall(upTo));
      for (const { at } of zone.changes(after, upTo)) total -= Math.max(0, calendar.count(latestWall(at - 1), latestWall(at)) - 1);
      return total;
    },
  };
}

/** `@every` with a duration, as robfig/cron reads it: the next run is due a fixed time after the last one. */
const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const SECOND_MS = 1000;
/** A run's name holds the minute at which it was due. */
const SHORTEST_MS = 60_000;
/** The longest duration of Go, in milliseconds. */
const LONGEST_MS = 2 ** 63 / 1e6;

const PREFIX = '@every ';

export const isEvery = (schedule: string): boolean => schedule.startsWith('@every');

/** The interval in milliseconds, in whole seconds. The message completes the sentence `The schedule "…" is invalid: `. */
export function parseEvery(schedule: string): { ok: true; intervalMs: number } | { ok: false; message: string } {
  const duration = schedule.startsWith(PREFIX) ? schedule.slice(PREFIX.length) : '';
  const part = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
  if (duration === '' || duration.replace(/^\+/, '').replaceAll(part, '') !== '')
    return { ok: false, message: `"${duration}" is not a duration such as 1h30m` };
  let total = 0;
  for (const [, amount, unit = ''] of duration.matchAll(part)) total += Number(amount) * (UNITS_MS[unit] ?? 0);
  if (total < SHORTEST_MS) return { ok: false, message: 'the shortest interval of @every is 1m' };
  if (total >= LONGEST_MS) return { ok: false, message: 'the interval of @every is too long' };
  return { ok: true, intervalMs: Math.floor(total / SECOND_MS) * SECOND_MS };
}

/** Runs at `after`, without its fraction of a second, plus each multiple of the interval. */
export function everyTimes(intervalMs: number): ZonedTimes {
  const startOf = (after: number): number => Math.floor(after / SECOND_MS) * SECOND_MS;
  const count = (after: number, upTo: number): number => Math.max(0, Math.floor((upTo - startOf(after)) / intervalMs));
  return {
    next: (after) => startOf(after) + intervalMs,
    previous: (upTo, after) => (count(after, upTo) === 0 ? null : startOf(after) + count(after, upTo) * intervalMs),
    count,
  };
}
