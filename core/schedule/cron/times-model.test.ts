import { expect } from 'chai';
import fc from 'fast-check';
import { anySchedule, dailySchedule, modelRuns, wallClock, type ModelSchedule } from '../../../test/support/cron-model.ts';
import { someOf } from '../../../test/support/nightly.ts';
import { parseSchedule, type CronTimes } from '../times.ts';

const MINUTE_MS = 60_000;
const HOUR = 60;
const DAY = 24 * HOUR;
const UNUSUAL = ['Pacific/Apia', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Sao_Paulo', 'Asia/Kathmandu'];
const minuteOf = (year: number): number => Date.UTC(year, 0) / MINUTE_MS;
const dateOf = (minute: number): Date => new Date(minute * MINUTE_MS);
/** Those whose clocks change in unusual ways, and some of the others. */
const ZONES = [...UNUSUAL, ...someOf(Intl.supportedValuesOf('timeZone'), 40)];

function timesOf(schedule: ModelSchedule, timeZone: string): CronTimes | null {
  const parsed = parseSchedule(schedule.expression, timeZone);
  return parsed.ok ? parsed.times : null;
}

/** Compares `next`, `previous` and `count` with the model's runs in a window. An expression that never fires is refused. */
function expectModel(schedule: ModelSchedule, timeZone: string, from: number, walls: readonly number[]): void {
  const upTo = from + walls.length - 1;
  const expected = modelRuns(schedule, from, walls);
  const times = timesOf(schedule, timeZone);
  if (times === null) {
    expect(expected).to.deep.equal([]);
    return;
  }
  const title = `${schedule.expression} in ${timeZone} from ${dateOf(from).toISOString()}`;
  const successors = [from, ...expected];
  for (let index = 0; index < successors.length; index += Math.ceil(successors.length / 50)) {
    const [after = from, run] = [successors[index], successors[index + 1]];
    const next = times.next(dateOf(after));
    if (run !== undefined) expect(next, `next of ${title}`).to.deep.equal(dateOf(run));
    else if (next !== null) expect(next, `next of ${title}`).to.be.above(dateOf(upTo));
  }
  const steps = Math.max(1, Math.floor(walls.length / 8));
  for (let at = from; at <= upTo; at += steps) {
    const last = expected.findLast((run) => run <= at);
    const previous = times.previous(new Date(at * MINUTE_MS + 59_999), dateOf(from));
    expect(previous, `previous of ${title} at ${dateOf(at).toISOString()}`).to.deep.equal(last === undefined ? null : dateOf(last));
    const following = expected.find((run) => run > at);
    if (following !== undefined)
      expect(times.next(dateOf(at)), `next of ${title} at ${dateOf(at).toISOString()}`).to.deep.equal(dateOf(following));
    expect(times.count(dateOf(from), dateOf(at)), `count of ${title} at ${dateOf(at).toISOString()}`).to.equal(
      expected.filter((run) => run <= at).length,
    );
  }
}

const wallsOf = (timeZone: string, from: number, upTo: number): number[] => {
  const wall = wallClock(timeZone);
  return Array.from({ length: upTo - from + 1 }, (_, index) => wall(from + index));
};

/** The minutes at which the zone's offset changes in a year. */
function changesOf(timeZone: string, year: number): number[] {
  const wall = wallClock(timeZone);
  const offsetAt = (minute: number) => wall(minute) - minute;
  const changes: number[] = [];
  for (let day = minuteOf(year); day < minuteOf(year + 1); day += DAY) {
    if (offsetAt(day) === offsetAt(day + DAY)) continue;
    let minute = day;
    while (offsetAt(minute + 1) === offsetAt(day)) minute += 1;
    changes.push(minute + 1);
  }
  return changes;
}

describe('times, compared with a model that walks all minutes', () => {
  it('are the same in any time zone around the changes of a near year and of any other', () => {
    for (const timeZone of ZONES)
      fc.assert(
        fc.property(
          fc.integer({ min: 2024, max: 2028 }),
          fc.integer({ min: 1973, max: 2037 }),
          fc.infiniteStream(fc.oneof(dailySchedule, anySchedule)),
          (near, other, schedules) => {
            for (const year of [near, other]) {
              for (const change of [...changesOf(timeZone, year), minuteOf(year) + 100 * DAY].slice(0, 4)) {
                const from = change - 3 * HOUR;
                const walls = wallsOf(timeZone, from, change + 4 * HOUR);
                for (let index = 0; index < 2; index += 1) {
                  const { value } = schedules.next();
                  if (value !== undefined) expectModel(value, timeZone, from, walls);
                }
              }
            }
          },
        ),
        { numRuns: 1, endOnFailure: true },
      );
  });
});
