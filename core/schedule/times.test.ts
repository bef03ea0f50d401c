import { expect } from 'chai';
import fc from 'fast-check';
import { fiveFields } from '../../test/support/schedule-expressions.ts';
import { parseSchedule, type CronTimes } from './times.ts';

function timesOf(schedule: string, timeZone?: string): CronTimes {
  const parsed = parseSchedule(schedule, timeZone);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.times;
}

/** The runs after `after`, in UTC, to the minute. */
function runsAfter(times: CronTimes, after: string, count: number): string[] {
  const runs: string[] = [];
  for (let next = times.next(new Date(after)); next !== null && runs.length < count; next = times.next(next))
    runs.push(next.toISOString().slice(0, 16));
  return runs;
}

describe('parseSchedule', () => {
  const REFUSED: Readonly<Record<string, string>> = {
    '': 'it is empty',
    '   ': 'it is empty',
    '* * * *': 'it needs 5 fields (minute, hour, day of month, month, day of week), not 4',
    '* * * * * *': 'it needs 5 fields (minute, hour, day of month, month, day of week), not 6; CronJob knows no seconds and no years',
    '0 0 12 * * * 2030': 'it needs 5 fields (minute, hour, day of month, month, day of week), not 7; CronJob knows no seconds and no years',
    ' @daily': 'it needs 5 fields (minute, hour, day of month, month, day of week), not 1',
    '60 * * * *': 'the minute 60 is not between 0 and 59',
    '0 24 * * *': 'the hour 24 is not between 0 and 23',
    '0 0 0 * *': 'the day of month 0 is not between 1 and 31',
    '0 0 * 13 *': 'the month 13 is not between 1 and 12',
    '0 0 * * 7': 'the day of week 7 is not between 0 and 6; Sunday is 0',
    '*/0 * * * *': 'the step "0" in the minute field is not a positive number',
    '*/x * * * *': 'the step "x" in the minute field is not a positive number',
    '50-10 * * * *': 'the range "50-10" in the minute field ends before it begins',
    '0 0 * * FRI-MON': 'the range "FRI-MON" in the day of week field ends before it begins',
    '1,,2 * * * *': 'the minute field has an empty element',
    '+5 * * * *': '"+5" is not a minute',
    '*-5 * * * *': '"*-5" in the minute field is a range of all values',
    '1-2-3 * * * *': '"1-2-3" in the minute field has more than one "-"',
    '1/2/3 * * * *': '"1/2/3" in the minute field has more than one "/"',
    'JAN * * * *': '"JAN" is not a minute',
    '0 0 * JANUARY *': '"JANUARY" is not a month',
    '0 0 L * *': '"L" in the day of month field is not supported: CronJob knows no L, W or #',
    '0 0 15W * *': '"15W" in the day of month field is not supported',
    '0 0 * * FRI#2': '"FRI#2" in the day of week field is not supported',
    '0 0 * * 5L': '"5L" in the day of week field is not supported',
    '0 0 30 2 *': 'it never fires, because none of its months has such a day',
    '0 0 31 4,6,9,11 *': 'it never fires, because none of its months has such a day',
    '@reboot': '@reboot is not supported',
    '@DAILY': 'the macro is unknown; the macros are @yearly, @annually, @monthly',
    '@toString': 'the macro is unknown',
    toString: 'it needs 5 fields (minute, hour, day of month, month, day of week), not 1',
    '0\u00a00 * * *': 'it needs 5 fields (minute, hour, day of month, month, day of week), not 4',
    'TZ=UTC 0 * * * *': 'a TZ= or CRON_TZ= prefix is not supported; set timeZone instead',
    'CRON_TZ=Europe/Berlin 0 * * * *': 'a TZ= or CRON_TZ= prefix is not supported; set timeZone instead',
    '@every': '"" is not a duration such as 1h30m',
    '@every 5': '"5" is not a duration such as 1h30m',
    '@every  1h': '" 1h" is not a duration such as 1h30m',
    '@every 1d': '"1d" is not a duration such as 1h30m',
    '@every -2h': '"-2h" is not a duration such as 1h30m',
    '@every 59s': 'the shortest interval of @every is 1m',
    '@every 3000000h': 'the interval of @every is too long',
  };
  for (const [schedule, message] of Object.entries(REFUSED))
    it(`refuses "${schedule}", because ${message}`, () => {
      const parsed = parseSchedule(schedule);
      expect(parsed).to.include({ ok: false, reason: 'invalid_schedule' });
      expect(parsed).to.have.property('message').that.includes(`The schedule "${schedule}" is invalid: ${message}`);
    });

  for (const timeZone of ['Local', 'local', '', ' UTC', '+01:00', 'BST', 'PST', 'SystemV/PST8', 'Europe/Nowhere', '../etc/passwd'])
    it(`refuses the time zone "${timeZone}"`, () => {
      expect(parseSchedule('* * * * *', timeZone)).to.deep.equal({
        ok: false,
        reason: 'invalid_time_zone',
        message: `The time zone "${timeZone}" is not a name of the IANA time zone database, such as Europe/Berlin or Etc/UTC.`,
      });
    });

  it('takes UTC if there is no time zone', () => {
    expect(runsAfter(timesOf('30 4 * * *'), '2026-06-01T00:00:00Z', 1)).to.deep.equal(['2026-06-01T04:30']);
  });

  it('counts @every from the last scheduled time, without its fraction of a second', () => {
    const times = timesOf('@every 1h30m');
    expect(times.next(new Date('2026-06-01T00:00:10.700Z'))).to.deep.equal(new Date('2026-06-01T01:30:10Z'));
    expect(times.previous(new Date('2026-06-01T12:00:00Z'), new Date('2026-06-01T00:00:10.700Z'))).to.deep.equal(
      new Date('2026-06-01T10:30:10Z'),
    );
    expect(times.count(new Date('2026-06-01T00:00:10.700Z'), new Date('2026-06-01T12:00:00Z'))).to.equal(7);
    expect(times.count(new Date('2026-06-01T00:00:10.700Z'), new Date('2026-06-01T01:30:10Z'))).to.equal(1);
  });
});

describe('times at a change of the clock', () => {
  const CASES: { title: string; schedule: string; timeZone: string; after: string; runs: string[] }[] = [
    {
      title: 'run a time that is left out when the clock is set forward',
      schedule: '30 2 * * *',
      timeZone: 'America/New_York',
      after: '2026-03-07T12:00:00Z',
      runs: ['2026-03-08T07:00', '2026-03-09T06:30'],
    },
    {
      title: 'run an hourly schedule in both repeated hours',
      schedule: '30 * * * *',
      timeZone: 'America/New_York',
      after: '2026-11-01T05:00:00Z',
      runs: ['2026-11-01T05:30', '2026-11-01T06:30', '2026-11-01T07:30'],
    },
    {
      title: 'make one run of several times that are left out',
      schedule: '*/20 2-3 * * *',
      timeZone: 'Europe/Berlin',
      after: '2026-03-28T12:00:00Z',
      runs: ['2026-03-29T01:00', '2026-03-29T01:20', '2026-03-29T01:40', '2026-03-30T00:00'],
    },
    {
      title: 'run the day that Samoa left out at the start of the next',
      schedule: '0 12 * * *',
      timeZone: 'Pacific/Apia',
      after: '2011-12-29T00:00:00Z',
      runs: ['2011-12-29T22:00', '2011-12-30T10:00', '2011-12-30T22:00'],
    },
  ];
  for (const { title, schedule, timeZone, after, runs } of CASES)
    it(title, () => {
      expect(runsAfter(timesOf(schedule, timeZone), after, runs.length)).to.deep.equal(runs);
    });
});

/** `next` is compared with robfig/cron beside it. */
describe('earlier times and their number', () => {
  it('are those that follow each other, in any time zone and over changes of the clock', () => {
    const zone = fc.constantFrom('Africa/Cairo', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia');
    const start = fc.date({ min: new Date('2008-01-01'), max: new Date('2036-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(fiveFields, zone, start, fc.nat(59_999), (schedule, timeZone, from, later) => {
        const parsed = parseSchedule(schedule, timeZone);
        fc.pre(parsed.ok);
        const { times } = parsed;
        const runs: Date[] = [];
        for (let next = times.next(from); next !== null && runs.length < 40; next = times.next(next)) runs.push(next);
        for (const [at, run] of runs.entries()) {
          const then = new Date(run.getTime() + later);
          expect(times.previous(then, from)).to.deep.equal(run);
          expect(times.count(from, then)).to.equal(at + 1);
          expect(times.previous(new Date(run.getTime() - 1), from)).to.deep.equal(runs[at - 1] ?? null);
        }
      }),
    );
  });
});
