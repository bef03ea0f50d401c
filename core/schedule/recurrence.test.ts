import { expect } from 'chai';
import fc from 'fast-check';
import { DEFAULT_TIMES, FREQUENCIES, nextTimes, readTimes, typedTimes, type TypedTimes } from './recurrence.ts';

const scheduleOf = (typed: Partial<TypedTimes>): string => {
  const read = readTimes({ ...DEFAULT_TIMES, ...typed });
  if (!read.ok) throw new Error(read.message);
  return read.schedule;
};

describe('typed times', () => {
  it('are cron expressions', () => {
    const cases: [typed: Partial<TypedTimes>, schedule: string][] = [
      [{ frequency: 'hour', minute: '5' }, '5 * * * *'],
      [{ frequency: 'day', time: '02:30' }, '30 2 * * *'],
      [{ frequency: 'weekdays', time: '18:00' }, '0 18 * * 1-5'],
      [{ frequency: 'week', weekday: '1', time: '08:00' }, '0 8 * * 1'],
      [{ frequency: 'month', day: '31', time: '00:00' }, '0 0 31 * *'],
    ];
    for (const [typed, schedule] of cases) expect(scheduleOf(typed)).to.equal(schedule);
  });

  it('keep an expression that no other choice can say', () => {
    for (const cron of ['*/5 * * * *', '0 8 * * 1,3', '0 8 1 * 1', '0 8 1 1 *', '@every 1h30m', '0 8,20 * * *', '0 8 * * 7'])
      expect(typedTimes(cron), cron).to.include({ frequency: 'cron', cron });
  });

  it('are read back as they were typed', () => {
    const typed = fc.record({
      frequency: fc.constantFrom(...FREQUENCIES.filter((one) => one !== 'cron')),
      time: fc.tuple(fc.nat(23), fc.nat(59)).map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':')),
      minute: fc.nat(59).map(String),
      weekday: fc.nat(6).map(String),
      day: fc.integer({ min: 1, max: 31 }).map(String),
      cron: fc.constant(''),
    });
    fc.assert(
      fc.property(typed, (one) => {
        const schedule = scheduleOf(one);
        expect(scheduleOf(typedTimes(schedule))).to.equal(schedule);
        expect(typedTimes(schedule).frequency).to.equal(one.frequency);
      }),
    );
  });

  it('refuses what is no time, at its field', () => {
    const refused: [Partial<TypedTimes>, string][] = [
      [{ frequency: 'day', time: '24:00' }, 'time'],
      [{ frequency: 'week', time: '' }, 'time'],
      [{ frequency: 'week', weekday: '7' }, 'weekday'],
      [{ frequency: 'month', day: '0' }, 'day'],
      [{ frequency: 'month', day: '32' }, 'day'],
      [{ frequency: 'hour', minute: '60' }, 'minute'],
      [{ frequency: 'cron', cron: 'soon' }, 'cron'],
    ];
    for (const [typed, field] of refused)
      expect(readTimes({ ...DEFAULT_TIMES, ...typed }), JSON.stringify(typed)).to.include({ ok: false, field });
  });
});

describe('the next times of a schedule', () => {
  it('are in its time zone, over a change of the clock', () => {
    const next = nextTimes('0 8 * * 1', 'Europe/Berlin', new Date('2026-03-20T00:00:00Z'), 3);
    expect(next.map((at) => at.toISOString())).to.deep.equal([
      '2026-03-23T07:00:00.000Z',
      '2026-03-30T06:00:00.000Z',
      '2026-04-06T06:00:00.000Z',
    ]);
  });

  it('are empty for a schedule that never runs, and for an invalid one', () => {
    expect(nextTimes('0 0 30 2 *', undefined, new Date(0), 5)).to.deep.equal([]);
    expect(nextTimes('soon', undefined, new Date(0), 5)).to.deep.equal([]);
  });
});
