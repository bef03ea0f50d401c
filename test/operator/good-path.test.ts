import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import { SCAN_ID_LABEL, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { SECRETS } from '../../operator/scan/kube-types.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { useContext, reasonOf, statusOf, until } from './context.ts';

describe('operator: a scan from submission to result', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());

  it('follows the pod messages through all phases and charges exactly the tested pages', async () => {
    const operator = context.start({}, { verifier: undefined });
    const spent = await context.spent();
    const scan = await context.submit({ maxPages: 5, thresholds: { maxViolations: 2 } });
    const pod = await scan.pod();
    const waiting = await scan.reaches('waiting for its pod', ({ status }) => status?.podName === pod.metadata.name);
    expect(waiting.status).to.include({ phase: 'queued', attempts: 1, jobName: `scan-${scan.id}` });
    expect(waiting.status?.pages).to.deep.equal({ requested: 5, reserved: 5, scanned: 0, failed: 0 });
    expect(statusOf(waiting, 'Admitted')).to.equal('True');
    expect(statusOf(waiting, 'Passed')).to.equal('Unknown');
    expect((await scan.row())?.submission).to.equal('accepted');

    await scan.startPod(pod);
    const crawling = await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    expect(crawling.status?.startTime).to.be.a('string');
    expect(statusOf(crawling, 'Succeeded')).to.equal('Unknown');

    const said = { kind: 'progress', scanId: scan.id, ...identityOf(pod) } as const;
    await scan.publish({ ...said, sequence: 1, phase: 'scanning', pages: { scanned: 1, failed: 0, total: 2 } });
    await scan.reaches('scanning', ({ status }) => status?.phase === 'scanning' && status.pages?.scanned === 1);
    await until('the row is updated', async () => {
      const row = await scan.row();
      return row?.phase === 'scanning' && row.pages.scanned === 1 && row.pages.total === 2;
    });
    const startedAt = new Date(crawling.status!.startTime!);
    expect(await scan.row())
      .to.deep.include({ startedAt })
      .and.not.have.property('pagesCharged');
    await scan.publish({ ...said, sequence: 2, phase: 'generating', pages: { scanned: 2, failed: 0, total: 2 } });
    await scan.reaches('generating', ({ status }) => status?.phase === 'generating');

    const report = reportOf(await scan.input());
    const stored = await scan.upload(pod, bytesOf(report));
    await scan.publish(stored);
    const done = await scan.settles();
    expect(done.status).to.deep.include({
      phase: 'done',
      score: String(report.score.value),
      passed: false,
      violations: { total: 3, critical: 1, serious: 2, moderate: 0, minor: 0 },
      pages: { requested: 5, reserved: 5, scanned: 2, failed: 0 },
      message: 'There are 3 violations, more than the 2 allowed.',
    });
    expect([statusOf(done, 'Succeeded'), statusOf(done, 'Passed'), reasonOf(done, 'Passed')]).to.deep.equal([
      'True',
      'False',
      'ThresholdsMissed',
    ]);

    const row = (await scan.row())!;
    expect(row).to.deep.include({ phase: 'done', passed: false, message: 'There are 3 violations, more than the 2 allowed.' });
    expect(row).to.deep.include({ startedAt, pagesCharged: 2 });
    expect(row.outcome).to.deep.equal({ score: report.score.value, violations: report.counts, pages: { scanned: 2, failed: 0, total: 2 } });
    expect(row.reports?.export).to.deep.equal({ key: `scans/${scan.id}/report.json`, ...stored.export });
    expect((await context.spent()) - spent).to.equal(2);
    expect(await context.held()).to.equal(0);
    await until('the bus has published the end', () => scan.messages.at(-1)?.phase === 'done');
    expect(scan.messages.at(-1)!.version).to.equal(row.version);
    const versions = scan.messages.map(({ version }) => version);
    expect(versions).to.deep.equal(versions.toSorted((a, b) => a - b));
    expect(versions.length, 'one message for each change').to.be.at.most(row.version);
    await until('the Events are recorded', async () => {
      const events = await scan.events();
      return ['Launched', 'Done'].every((reason) => events.includes(reason));
    });
    await operator.stop();
    expect(operator.lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });

  it('keeps no Secret of an ended scan once its Job is gone', async () => {
    const operator = context.start({ timeouts: { jobTtlMs: 500, lingerMs: 500 } });
    const scan = await context.submit();
    const pod = await scan.pod();
    const secrets = async () => {
      const path = context.connection.path(SECRETS, context.namespace);
      const { items } = await context.connection.request<{ items: KubernetesObject[] }>('GET', path, {
        query: { labelSelector: `${SCAN_ID_LABEL}=${scan.id}` },
      });
      return items;
    };
    expect(await secrets()).to.have.length(1);
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await scan.endPod(pod, { exitCode: 0, message: JSON.stringify(stored) });
    await scan.settles();
    await until('the Secret is gone', async () => (await secrets()).length === 0);
    expect((await scan.read())?.status?.phase).to.equal('done');
    await operator.stop();
  });
});
