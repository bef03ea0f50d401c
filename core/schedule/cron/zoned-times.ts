/**
 * When the wall-clock times of a cron expression come in a time zone, at changes of its UTC offset too.
 *
 * - A schedule whose hour field matches every hour follows elapsed time, as CronJob does: `15 * * * *` runs once per
 *   hour, in both of the hours that a clock set back repeats, and not in the hour that a clock set forward leaves out.
 * - Any other schedule runs once for each of its wall-clock times, when the zone's clock first reads that time or a later
 *   one: a time that is left out runs when the clock is set forward (several at once are one run), a time that is
 *   repeated runs the first time. CronJob loses the first and runs the second twice, and each run costs credits.
 */
import type { Calendar } from './calendar.ts';
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
