import { expect } from 'chai';
import { calendarOf } from './cron-fields.ts';
import { timeZoneOf } from './time-zone.ts';
import { parseSchedule } from '../times.ts';

const HOUR_MS = 3_600_000;

describe('timeZoneOf', () => {
  it('knows every zone of the database, and the older names that CronJob takes', () => {
    const OLDER = [
      'US/Eastern',
      'GB',
      'Zulu',
      'EST',
      'EST5EDT',
      'Etc/GMT+5',
      'Etc/UTC',
      'GMT0',
      'PRC',
      'Asia/Calcutta',
      'America/Argentina/ComodRivadavia',
    ];
    for (const name of [...Intl.supportedValuesOf('timeZone'), ...OLDER]) expect(timeZoneOf(name), name).not.to.equal(null);
  });

  it('returns one object for a name, in whatever case', () => {
    expect(timeZoneOf('europe/BERLIN')).to.equal(timeZoneOf('Europe/Berlin'));
  });

  it('finds the changes of a range, including its end and excluding its start', () => {
    const berlin = timeZoneOf('Europe/Berlin');
    const [march, october] = [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)];
    expect(berlin?.changes(Date.UTC(2025, 11, 1), Date.UTC(2027, 0, 1))).to.deep.equal([
      { at: march, before: HOUR_MS, after: 2 * HOUR_MS },
      { at: october, before: 2 * HOUR_MS, after: HOUR_MS },
    ]);
    expect(berlin?.changes(march - 1, march)).to.have.length(1);
    expect(berlin?.changes(march, october - 1)).to.deep.equal([]);
    expect([march - 1, march].map((instant) => berlin?.offsetAt(instant))).to.deep.equal([HOUR_MS, 2 * HOUR_MS]);
  });

  it('finds the day that Samoa left out', () => {
    const change = Date.UTC(2012, 0, 1) - 38 * HOUR_MS;
    expect(timeZoneOf('Pacific/Apia')?.changes(change - 1, change)).to.deep.equal([
      { at: change, before: -10 * HOUR_MS, after: 14 * HOUR_MS },
    ]);
  });

  it('reads offsets west of UTC, of half hours and quarters', () => {
    const at = Date.UTC(2026, 0, 15);
    const hours = (name: string) => (timeZoneOf(name)?.offsetAt(at) ?? NaN) / HOUR_MS;
    expect(['Pacific/Marquesas', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'Etc/GMT+5', 'UTC'].map(hours)).to.deep.equal([
      -9.5, 5.75, 14, -5, 0,
    ]);
  });
});

describe('calendarOf', () => {
  const fields = { minute: [0], hour: [0], month: [2], dayOfWeek: [0, 1, 2, 3, 4, 5, 6], anyDayOfMonth: false, anyDayOfWeek: true };

  it('ends for a date that never comes', () => {
    const calendar = calendarOf({ ...fields, dayOfMonth: [30] });
    expect(() => calendar.next(Date.UTC(2026, 0, 1))).to.throw('never fires');
    expect(() => calendar.previous(Date.UTC(2026, 0, 1))).to.throw('never fires');
    expect(calendar.count(Date.UTC(2000, 0, 1), Date.UTC(2026, 0, 1))).to.equal(0);
  });

  it('finds 29 February over the gap around 2100', () => {
    const calendar = calendarOf({ ...fields, dayOfMonth: [29] });
    expect(calendar.next(Date.UTC(2096, 1, 29))).to.equal(Date.UTC(2104, 1, 29));
    expect(calendar.previous(Date.UTC(2104, 1, 29) - 1)).to.equal(Date.UTC(2096, 1, 29));
  });
});

describe('times, in a process with a time zone of its own', () => {
  const own = process.env['TZ'];
  afterEach(() => {
    if (own === undefined) delete process.env['TZ'];
    else process.env['TZ'] = own;
  });

  it('are the same in any of them', () => {
    const runs = ['Australia/Sydney', 'America/New_York', 'Africa/Cairo', 'UTC'].map((zone) => {
      process.env['TZ'] = zone;
      const parsed = parseSchedule('*/30 * * * *', 'Asia/Tokyo');
      if (!parsed.ok) throw new Error(parsed.message);
      const found: number[] = [];
      for (
        let next = parsed.times.next(new Date(Date.UTC(2026, 0, 1)));
        next !== null && found.length < 365 * 48;
        next = parsed.times.next(next)
      )
        found.push(next.getTime());
      return found.filter((time, index) => index > 0 && time - (found[index - 1] ?? 0) !== HOUR_MS / 2);
    });
    expect(runs).to.deep.equal([[], [], [], []]);
  });
});
