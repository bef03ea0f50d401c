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
