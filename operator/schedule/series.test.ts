import { expect } from 'chai';
import type { ScanSchedule, ScanScheduleStatus } from '../../core/protocol/scan-schedules.ts';
import { createMetricFactory } from '../../stores/process-metrics.ts';
import { samplesOf } from '../../test/support/metric-samples.ts';
import { scheduleWith } from '../../test/support/schedule-world.ts';
import { createScheduleSeries, SCHEDULE_SERIES_MAX, type ScheduleSource } from './metrics.ts';

const CREATED = new Date('2026-03-02T00:00:00Z');
const named = (name: string, status?: ScanScheduleStatus): ScanSchedule => ({ ...scheduleWith({}, CREATED, name), status });
const condition = (type: string, status: 'True' | 'False' | 'Unknown') => ({
  type,
  status,
  reason: 'Test',
  message: '',
  lastTransitionTime: '2026-03-02T00:00:00Z',
});
const COMPLETED = { name: 'nightly-1', scanId: 's1', completionTime: '2026-03-02T03:10:00Z' };
const COMPARISON = { scan: 'b', previous: 'a', new: 4, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 8, notTested: 0 };

describe('series of schedules', () => {
  function open(schedules: readonly ScanSchedule[] = []) {
    const factory = createMetricFactory();
    const series = createScheduleSeries(factory);
    const state = { schedules, unreadable: false };
    const source: ScheduleSource = { list: () => state.schedules, unreadable: () => state.unreadable, timesWithoutResult: () => 2 };
    series.read(source);
    const scrape = async () => samplesOf(await factory.registry.metrics());
    /** The values of a schedule by metric, without the prefix that they share. */
    const of = async (schedule: string): Promise<Record<string, number>> => {
      const labels = `{schedule_namespace="team",schedule="${schedule}"}`;
      const own = [...(await scrape())].filter(([name]) => name.endsWith(labels));
      return Object.fromEntries(own.map(([name, value]) => [name.slice('curbcut_schedule_'.length, -labels.length), value]));
    };
    return { series, state, source, scrape, of };
  }

  it('say what the status says of the last completed scan', async () => {
    const { of } = open([
      named('nightly', {
        lastCompleted: { ...COMPLETED, passed: false, score: '87.5', violations: 12 },
        comparison: COMPARISON,
        lastSuccessfulTime: '2026-03-02T03:10:00Z',
        lastFailed: { name: 'nightly-0', completionTime: '2026-03-01T03:10:00Z', message: '' },
        consecutiveFailures: 0,
        conditions: [condition('Regressed', 'True'), condition('Ready', 'True')],
      }),
    ]);
    const at = Date.parse('2026-03-02T03:10:00Z') / 1000;
    expect(await of('nightly')).to.deep.equal({
      score: 87.5,
      violations: 12,
      new_violations: 4,
      passed: 0,
      regressed: 1,
      ready: 1,
      consecutive_failures: 0,
      times_without_result: 2,
      last_success_timestamp_seconds: at,
      last_run_timestamp_seconds: at,
    });
  });

  it('are absent for what is not known, and never 0 instead', async () => {
    const { of } = open([
      named('new'),
      named('incomparable', { lastCompleted: COMPLETED, conditions: [condition('Regressed', 'Unknown'), condition('Ready', 'False')] }),
      named('broken', {
        lastSuccessfulTime: '2026-03-02T03:10:00Z',
        lastFailed: { name: 'broken-3', completionTime: '2026-03-04T03:10:00Z', message: '' },
        consecutiveFailures: 2,
      }),
    ]);
    expect(await of('new')).to.deep.equal({ consecutive_failures: 0, times_without_result: 2 });
    expect(await of('incomparable')).to.deep.equal({ ready: 0, consecutive_failures: 0, times_without_result: 2 });
    const broken = await of('broken');
    expect(broken).to.include({ consecutive_failures: 2, last_run_timestamp_seconds: Date.parse('2026-03-04T03:10:00Z') / 1000 });
    expect(broken['last_success_timestamp_seconds']).to.equal(Date.parse('2026-03-02T03:10:00Z') / 1000);
  });

  it('end with their schedule, and with the leadership', async () => {
    const { series, state, source, scrape, of } = open([named('kept'), named('removed')]);
    expect(await of('removed')).to.not.deep.equal({});
    state.schedules = [named('kept')];
    expect(await of('removed')).to.deep.equal({});
    expect(await of('kept')).to.not.deep.equal({});
    expect((await scrape()).get('curbcut_schedules')).to.equal(1);
    series.stoppedLeading();
    expect(await of('kept')).to.deep.equal({});
    expect((await scrape()).get('curbcut_schedules')).to.equal(0);
    series.read(source);
    expect(await of('kept')).to.not.deep.equal({});
  });

  it('are off beyond the maximum, which a gauge says', async () => {
    const all = Array.from({ length: SCHEDULE_SERIES_MAX + 1 }, (_, at) => named(`s-${at}`));
    const { state, scrape } = open(all.slice(1));
    const seriesOf = (samples: Map<string, number>) => [...samples.keys()].filter((name) => name.includes('schedule="')).length;
    const missing = 'curbcut_schedule_series_missing{reason="too_many"}';
    const full = await scrape();
    expect(seriesOf(full)).to.equal(2 * SCHEDULE_SERIES_MAX);
    expect(full.get(missing)).to.equal(0);
    state.schedules = all;
    const off = await scrape();
    expect(seriesOf(off)).to.equal(0);
    expect(off.get(missing)).to.equal(1);
    expect(off.get('curbcut_schedules')).to.equal(SCHEDULE_SERIES_MAX + 1);
    state.schedules = all.slice(1);
    expect(seriesOf(await scrape())).to.equal(2 * SCHEDULE_SERIES_MAX);
  });

  it('say that schedules cannot be listed', async () => {
    const { state, scrape } = open();
    const missing = 'curbcut_schedule_series_missing{reason="unreadable"}';
    expect((await scrape()).get(missing)).to.equal(0);
    state.unreadable = true;
    expect((await scrape()).get(missing)).to.equal(1);
  });
});
