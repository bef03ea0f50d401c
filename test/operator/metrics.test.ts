/** Tests the metrics that Prometheus scrapes during the life of a scan. */
import { expect } from 'chai';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { serveProbes, type ProbeServer } from '../../platform/probe-server.ts';
import { monitorDependencies, type DependencyMonitor } from '../../platform/readiness.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { samplesOf } from '../support/metric-samples.ts';
import { NOWHERE, openContext, TARGET, until, type OperatorContext } from './context.ts';
import { applySchedule } from './schedule-context.ts';

describe('operator metrics', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let server: ProbeServer;
  let dependencies: DependencyMonitor;
  const metrics = createOperatorMetrics();
  let up = true;
  before(async () => {
    context = await openContext();
    await context.grant(100);
    const check = (): Promise<void> => (up ? Promise.resolve() : Promise.reject(new Error('down')));
    dependencies = monitorDependencies(
      { mongodb: { required: true, check } },
      { logger: silentLogger, onDependency: metrics.stores.dependency, everyMs: 20, retryMs: 20 },
    );
    server = await serveProbes({ host: '127.0.0.1', port: 0, metrics: metrics.registry, readiness: dependencies.readiness });
  });
  after(async () => {
    dependencies?.stop();
    await server?.close();
    await context?.close();
  });

  /** The samples of a scrape, by `name{labels}`. */
  async function scrape(): Promise<Map<string, number>> {
    return samplesOf(await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text());
  }
  const has = (name: string, value: number) => until(`${name} is ${value}`, async () => (await scrape()).get(name) === value);

  it('follow a scan from the queue to its verdict and count its pages', async () => {
    const operator = context.start({}, { metrics });
    await has('curbcut_leader{lease="curbcut-operator"}', 1);
    await context.pauseQueue();
    await has('curbcut_queue_paused{queue="default"}', 1);
    const scan = await context.submit({ maxPages: 5, thresholds: { maxViolations: 0 } });
    await has('curbcut_scans{phase="queued"}', 1);
    await has('curbcut_scans_queued{queue="default"}', 1);
    await context.setQueue({ paused: false });
    await has('curbcut_scans{phase="starting"}', 1);
    const pod = await scan.pod();
    await scan.startPod(pod);
    await has('curbcut_scans{phase="crawling"}', 1);
    await has('curbcut_scans_running{queue="default"}', 1);
    const report = reportOf(await scan.input());
    await scan.publish(await scan.upload(pod, bytesOf(report)));
    await scan.settles();
    await has('curbcut_scans{phase="crawling"}', 0);

    const samples = await scrape();
    expect(samples.get('curbcut_scans_ended_total{phase="done",reason="Done"}')).to.equal(1);
    expect(samples.get('curbcut_scan_verdicts_total{verdict="failed"}')).to.equal(1);
    for (const phase of ['queued', 'starting', 'crawling'])
      expect(samples.get(`curbcut_scan_phase_duration_seconds_count{phase="${phase}"}`), phase).to.equal(1);
    const tested = report.pages.filter((page) => page.tested);
    expect(samples.get('curbcut_pages_total{outcome="tested"}')).to.equal(tested.length);
    expect(samples.get('curbcut_page_duration_seconds_count{outcome="tested"}')).to.equal(tested.length);
    const seconds = tested.reduce((sum, { duration_ms }) => sum + duration_ms / 1000, 0);
    expect(samples.get('curbcut_page_duration_seconds_sum{outcome="tested"}')).to.be.closeTo(seconds, 1e-9);
    expect(samples.get('curbcut_ingest_duration_seconds_count{result="accepted"}')).to.equal(1);
    expect(samples.get('curbcut_reconcile_duration_seconds_count{controller="scan",result="requeue"}')).to.be.at.least(1);
    expect(samples.get('curbcut_workqueue_depth{queue="scans"}')).to.equal(0);
    expect([...samples.keys()].filter((name) => name.includes(scan.id) || name.includes(scan.name))).to.deep.equal([]);

    await operator.stop();
    const resigned = await scrape();
    expect(resigned.get('curbcut_leader{lease="curbcut-operator"}')).to.equal(0);
    const phases = [...resigned].filter(([name]) => name.startsWith('curbcut_scans{'));
    expect(phases.map(([, value]) => value)).to.deep.equal([0, 0, 0, 0, 0, 0]);
  });

  it('say of each schedule what its last scan found, from any leader, until it is deleted', async () => {
    const seriesOf = async (name: string) => [...(await scrape())].filter(([series]) => series.includes(`schedule="${name}"`));
    const operator = context.start({}, { metrics });
    const schedule = await applySchedule(context, {
      scanTemplate: { spec: { url: TARGET, thresholds: { maxViolations: 0 }, podTemplate: NOWHERE } },
    });
    const scan = await schedule.requested(await schedule.run());
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    const ended = await scan.settles();
    const { status } = await schedule.reaches('recorded', (read) => read.status?.lastCompleted !== undefined);
    const { score, violations } = status!.lastCompleted!;
    expect(violations).to.be.above(0);
    expect({ score, violations }).to.deep.equal({ score: ended.status?.score, violations: ended.status?.violations?.total });

    const labels = `{schedule_namespace="${context.team}",schedule="${schedule.name}"}`;
    await has(`curbcut_schedule_violations${labels}`, violations!);
    const shown = await seriesOf(schedule.name);
    const samples = new Map(shown);
    expect(samples.get(`curbcut_schedule_score${labels}`)).to.equal(Number(score));
    for (const [name, value] of Object.entries({ passed: 0, regressed: 0, ready: 1, consecutive_failures: 0, times_without_result: 0 }))
      expect(samples.get(`curbcut_schedule_${name}${labels}`), name).to.equal(value);
    const succeeded = samples.get(`curbcut_schedule_last_success_timestamp_seconds${labels}`);
    expect(succeeded).to.equal(Date.parse(status!.lastSuccessfulTime!) / 1000);

    await operator.stop();
    expect(await seriesOf(schedule.name)).to.deep.equal([]);
    context.start({}, { metrics });
    await until('the next leader says the same', async () => JSON.stringify(await seriesOf(schedule.name)) === JSON.stringify(shown));
    await schedule.remove();
    await until('the series end', async () => (await seriesOf(schedule.name)).length === 0);
  });

  it('show each dependency as its last check found it, without any call of /readyz', async () => {
    await has('curbcut_dependency_up{dependency="mongodb"}', 1);
    up = false;
    await has('curbcut_dependency_up{dependency="mongodb"}', 0);
    expect((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status).to.equal(503);
  });
});
