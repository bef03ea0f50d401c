import { expect } from 'chai';
import type { ScanScheduleSpec, ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import { NAMESPACE, scheduleWith } from '../../../test/support/schedule-world.ts';
import { jitterOf, timesWithoutResult } from './starts.ts';
import { parseSchedule } from '../../../core/schedule/times.ts';

const CREATED = new Date('2026-03-02T00:00:00Z');

/** The number for a schedule that is due at 03:00 each day. */
function count(status: ScanScheduleStatus, now: string, spec: Partial<ScanScheduleSpec> = {}): number {
  const schedule = { ...scheduleWith(spec, CREATED), status };
  return timesWithoutResult(schedule, parseSchedule(schedule.spec.schedule), new Date(now));
}

describe('scheduled times without a result', () => {
  it('count from the creation, then from the last completed scan', () => {
    expect(count({}, '2026-03-02T02:59:59Z')).to.equal(0);
    expect(count({}, '2026-03-04T12:00:00Z')).to.equal(3);
    expect(count({ lastSuccessfulTime: '2026-03-04T03:20:00Z' }, '2026-03-04T12:00:00Z')).to.equal(0);
    expect(count({ lastSuccessfulTime: '2026-03-04T03:20:00Z' }, '2026-03-06T03:00:00Z')).to.equal(2);
  });

  it('do not count times before the last change of the expression', () => {
    const observedSchedule = { schedule: '0 3 * * *', since: '2026-03-08T12:00:00Z' };
    expect(count({ observedSchedule }, '2026-03-08T13:00:00Z')).to.equal(0);
    expect(count({ observedSchedule }, '2026-03-10T03:00:00Z')).to.equal(2);
  });

  it('do not count while the schedule is suspended, or if its expression is invalid', () => {
    expect(count({}, '2026-04-02T00:00:00Z', { suspend: true })).to.equal(0);
    expect(count({}, '2026-04-02T00:00:00Z', { schedule: '0 0 30 2 *' })).to.equal(0);
  });

  it('count with the jitter', () => {
    const jitterSeconds = 80_000;
    const jitterMs = jitterOf(NAMESPACE, 'nightly', jitterSeconds);
    expect(jitterMs).to.be.above(60_000);
    const due = Date.parse('2026-03-02T03:00:00Z') + jitterMs;
    const at = (ms: number, status = {}) => count(status, new Date(due + ms).toISOString(), { jitterSeconds });
    expect(at(-1_000)).to.equal(0);
    expect(at(0)).to.equal(1);
    // The scan of that time ended a minute after its start. The next time is a day later.
    const status = { lastSuccessfulTime: new Date(due + 60_000).toISOString() };
    expect(at(120_000, status)).to.equal(0);
    expect(at(86_400_000, status)).to.equal(1);
  });
});
