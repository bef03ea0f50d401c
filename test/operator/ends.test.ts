import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import type { PodFailed } from '../../core/protocol/pod-messages.ts';
import { JOBS, PODS, type Pod } from '../../operator/scan/kube-types.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { noMessageBus, useContext, reasonOf, statusOf, type Scan, until } from './context.ts';

const ZERO = { scanned: 0, failed: 0, total: 0 };

describe('operator: scans that end without a result', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());
  afterEach(async () => {
    expect(await context.held(), 'held credits').to.equal(0);
  });

  const gaveUp = (scan: Scan, pod: Pod): PodFailed => ({
    kind: 'failed',
    scanId: scan.id,
    ...identityOf(pod),
    reason: 'target_unreachable',
    message: 'http://site.test:8080/ refused the connection.',
    pages: ZERO,
  });

  async function expectFailed(scan: Scan, reason: string, message: RegExp): Promise<void> {
    const spent = await context.spent();
    const failed = await scan.settles();
    expect(failed.status?.phase).to.equal('failed');
    expect(statusOf(failed, 'Succeeded')).to.equal('False');
    expect(reasonOf(failed, 'Succeeded')).to.equal(reason);
    expect(failed.status?.message)
      .to.match(message)
      .and.match(/Nothing was charged/);
    const row = (await scan.row())!;
    expect(row).to.include({ phase: 'failed', message: failed.status!.message, pagesCharged: 0 });
    expect(row.finishedAt).to.be.a('date');
    expect(await context.spent()).to.equal(spent);
  }

  it('fails permanently on exit code 42, with the termination message', async () => {
    const operator = context.start({}, { bus: noMessageBus() });
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.endPod(pod, { exitCode: 42, message: JSON.stringify(gaveUp(scan, pod)) });
    await expectFailed(scan, 'TargetUnreachable', /refused the connection/);
    expect((await scan.row())?.passed).to.equal(null);
    const silent = await context.submit();
    await silent.endPod(await silent.pod(), { exitCode: 42, message: 'not a pod message' });
    await expectFailed(silent, 'GaveUp', /without giving a reason/);
    await operator.stop();
  });

  it('retries after an eviction without moving backwards, and counts the attempts', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const first = await scan.pod();
    await scan.startPod(first);
    await scan.publish({
      kind: 'progress',
      scanId: scan.id,
      ...identityOf(first),
      sequence: 1,
      phase: 'scanning',
      pages: { scanned: 1, failed: 0, total: 2 },
    });
    await scan.reaches('scanning', ({ status }) => status?.phase === 'scanning' && status.pages?.scanned === 1);
    await scan.evictPod(first);
    const second = await scan.pod(2);
    const again = await scan.reaches('in the second attempt', ({ status }) => status?.podName === second.metadata.name);
    expect(again.status).to.include({ phase: 'scanning', attempts: 2 });
    await scan.startPod(second);
    await scan.publish({ kind: 'progress', scanId: scan.id, ...identityOf(second), sequence: 1, phase: 'crawling', pages: ZERO });
    await scan.publish(await scan.upload(second, bytesOf(reportOf(await scan.input()))));
    const done = await scan.settles();
    expect(done.status).to.include({ phase: 'done', attempts: 2 });
    await until('the bus has published the end', () => scan.messages.at(-1)?.phase === 'done');
    const phases = scan.messages.map(({ phase }) => phase);
    expect(phases.slice(phases.indexOf('scanning'))).not.to.include('crawling');
    await operator.stop();
  });

  it('fails at its deadline', async () => {
    const operator = context.start({
      runTime: { pendingDeadlineSeconds: 1, baseSeconds: 1, maxSeconds: 1, workers: 2, pageBudgetMs: 1000 },
    });
    const scan = await context.submit();
    await scan.startPod(await scan.pod());
    // The Job's deadline is 30 s after the pod's; shorten it.
    await context.connection.request('PATCH', context.connection.path(JOBS, scan.namespace, `scan-${scan.id}`), {
      contentType: 'application/merge-patch+json',
      body: { spec: { activeDeadlineSeconds: 1 } },
    });
    await expectFailed(scan, 'DeadlineExceeded', /did not finish within/);
    await operator.stop();
  });

  it('marks a pod on a lost node as failed, so that the Job controller replaces it', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const first = await scan.pod();
    await scan.startPod(first);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    // A finalizer blocks the deletion, like an unreachable kubelet.
    const path = context.connection.path(PODS, scan.namespace, first.metadata.name);
    const finalizers = [...(first.metadata.finalizers ?? []), 'curbcut.test/node'];
    await context.connection.request('PATCH', path, { contentType: 'application/merge-patch+json', body: { metadata: { finalizers } } });
    await context.connection.request('DELETE', path, { body: { gracePeriodSeconds: 0 } });
    const second = await scan.pod(2);
    await scan.reaches('in the second attempt', ({ status }) => status?.podName === second.metadata.name && status.attempts === 2);
    await context.connection
      .request('PATCH', path, { contentType: 'application/merge-patch+json', body: { metadata: { finalizers: [] } } })
      .catch(() => undefined);
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
    await operator.stop();
  });
});
