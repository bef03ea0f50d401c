import { expect } from 'chai';
import { parseSchedule, type CronTimes } from '../../../core/schedule/times.ts';
import { dueRun, jitterOf } from './starts.ts';

function timesOf(schedule: string, timeZone?: string): CronTimes {
  const parsed = parseSchedule(schedule, timeZone);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.times;
}

describe('jitterOf', () => {
  it('is the same for the same schedule, in whole seconds up to the limit', () => {
    const jitters = Array.from({ length: 1000 }, (_, index) => jitterOf('team', `schedule-${index}`, 60));
    expect(jitters.every((jitter) => jitter % 1000 === 0 && jitter >= 0 && jitter <= 60_000)).to.equal(true);
    expect(jitterOf('team', 'schedule-0', 60)).to.equal(jitters[0]);
    expect(jitterOf('team', 'schedule-0', 0)).to.equal(0);
  });

  it('differs between namespaces, and is a fixed value, so that an update of the operator moves no run', () => {
    expect([jitterOf('team', 'nightly', 3600), jitterOf('other', 'nightly', 3600)]).to.deep.equal([3_000_000, 170_000]);
  });

  it('spreads 1,000 schedules evenly over a minute', () => {
    const SECONDS = 61;
    for (const nameOf of [
      (index: number) => `schedule-${index}`,
      (index: number) => `${index}`,
      (index: number) => `site-${1000 - index}-nightly`,
    ]) {
      const perSecond = new Array<number>(SECONDS).fill(0);
      for (let index = 0; index < 1000; index += 1) perSecond[jitterOf('team', nameOf(index), SECONDS - 1) / 1000]! += 1;
      const expected = 1000 / SECONDS;
      const chiSquare = perSecond.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(chiSquare, 'chi-square with 60 degrees of freedom; 1 in 10,000 even spreads is above 107').to.be.below(107);
      expect(Math.max(...perSecond)).to.be.below(2.5 * expected);
    }
  });
});

describe('dueRun', () => {
  const hourly = timesOf('0 * * * *');
  const at = (time: string) => new Date(`2026-06-01T${time}Z`);

  it('returns the next time if nothing is due', () => {
    expect(dueRun(hourly, { after: at('08:00:00'), now: at('08:59:59'), jitterMs: 0 })).to.deep.equal({
      due: null,
      missed: 0,
      lastMissedAt: null,
      nextAt: at('09:00:00'),
      nextScheduledAt: at('09:00:00'),
    });
  });

  it('returns one run after downtime, and counts those before it', () => {
    expect(dueRun(hourly, { after: at('02:00:00'), now: at('09:10:00'), jitterMs: 0 })).to.deep.equal({
      due: at('09:00:00'),
      missed: 6,
      lastMissedAt: at('08:00:00'),
      nextAt: at('10:00:00'),
      nextScheduledAt: at('10:00:00'),
    });
  });

  it('returns no run past the deadline', () => {
    const args = { after: at('02:00:00'), now: at('09:10:00'), jitterMs: 0 };
    expect(dueRun(hourly, { ...args, startingDeadlineSeconds: 599 })).to.deep.include({
      due: null,
      missed: 7,
      lastMissedAt: at('09:00:00'),
      nextScheduledAt: at('10:00:00'),
    });
    expect(dueRun(hourly, { ...args, startingDeadlineSeconds: 600 }).due).to.deep.equal(at('09:00:00'));
  });
});

describe('dueRun, at the edges', () => {
  const at = (time: string) => new Date(`${time}Z`);

  it('returns no run, and the time after the last one, if the clock was set back behind it', () => {
    for (const schedule of ['0 * * * *', '@every 1h'])
      expect(
        dueRun(timesOf(schedule, 'UTC'), { after: at('2026-06-01T12:00:00'), now: at('2026-06-01T09:30:00'), jitterMs: 30_000 }),
      ).to.deep.equal({
        due: null,
        missed: 0,
        lastMissedAt: null,
        nextAt: at('2026-06-01T13:00:30'),
        nextScheduledAt: at('2026-06-01T13:00:00'),
      });
  });

  it('counts exactly what five years of downtime missed, without a walk over the minutes', () => {
    const times = timesOf('* * * * *', 'Europe/Berlin');
    let nexts = 0;
    const counted: CronTimes = { ...times, next: (after) => ((nexts += 1), times.next(after)) };
    const { due, missed } = dueRun(counted, { after: at('2021-06-01T00:00:00'), now: at('2026-06-01T00:00:30'), jitterMs: 0 });
    expect(due).to.deep.equal(at('2026-06-01T00:00:00'));
    expect(missed).to.equal((at('2026-06-01T00:00:00').getTime() - at('2021-06-01T00:00:00').getTime()) / 60_000 - 1);
    expect(nexts).to.equal(1);
  });

  it('counts the runs of 50 years at most, so that a wrong status does not hold up the operator', () => {
    const now = at('2026-06-01T00:00:30');
    const { due, missed } = dueRun(timesOf('0 12 * * *', 'Europe/Berlin'), { after: new Date('0001-01-01T00:00:00Z'), now, jitterMs: 0 });
    expect(due).to.deep.equal(at('2026-05-31T10:00:00'));
    expect(missed).to.equal(50 * 365 - 1);
  });

  it('returns a run at its very time, and not a millisecond before', () => {
    const times = timesOf('0 * * * *', 'UTC');
    const dueAt = (now: Date) => dueRun(times, { after: at('2026-06-01T11:00:00'), now, jitterMs: 60_000 }).due;
    expect(dueAt(at('2026-06-01T12:00:59.999'))).to.equal(null);
    expect(dueAt(at('2026-06-01T12:01:00'))).to.deep.equal(at('2026-06-01T12:00:00'));
  });

  it('returns a run with a deadline of 0 in the second in which it is due', () => {
    const times = timesOf('0 * * * *', 'UTC');
    const dueAt = (now: Date) => dueRun(times, { after: at('2026-06-01T11:00:00'), now, jitterMs: 0, startingDeadlineSeconds: 0 }).due;
    // Timers fire some milliseconds late.
    expect(dueAt(at('2026-06-01T12:00:00.004'))).to.deep.equal(at('2026-06-01T12:00:00'));
    expect(dueAt(at('2026-06-01T12:00:01'))).to.equal(null);
  });
});
