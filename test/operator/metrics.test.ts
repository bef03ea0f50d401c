/** The metrics that Prometheus scrapes during the life of a scan. */
import { expect } from 'chai';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { samplesOf } from '../support/metric-samples.ts';
import { until, useContext } from './context.ts';

describe('operator metrics', function () {
  this.timeout(240_000);
  const context = useContext();
  const metrics = createOperatorMetrics();
  before(() => context.grant(100));

  /** The samples of a scrape, by `name{labels}`. */
  const scrape = async (): Promise<Map<string, number>> => samplesOf(await metrics.registry.metrics());
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
    await has('curbcut_workqueue_depth{queue="scans"}', 0);

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
    expect([...samples.keys()].filter((name) => name.includes(scan.id) || name.includes(scan.name))).to.deep.equal([]);

    await operator.stop();
    const resigned = await scrape();
    expect(resigned.get('curbcut_leader{lease="curbcut-operator"}')).to.equal(0);
    const phases = [...resigned].filter(([name]) => name.startsWith('curbcut_scans{'));
    expect(phases.map(([, value]) => value)).to.deep.equal([0, 0, 0, 0, 0, 0]);
  });
});
