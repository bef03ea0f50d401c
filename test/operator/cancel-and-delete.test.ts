import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { useContext, until } from './context.ts';

describe('operator: a scan that is canceled or deleted', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());
  afterEach(async () => {
    expect(await context.held(), 'held credits').to.equal(0);
  });

  it('is charged for the tested pages if it is canceled, and the other credits are released', async () => {
    // The status is written rarely, so that the latest count is known from messages only.
    const operator = context.start({ timeouts: { statusEveryMs: 60_000, queueMs: 60_000, pendingMs: 60_000, stuckMs: 60_000 } });
    const spent = await context.spent();
    const scan = await context.submit({ thresholds: { minScore: 1 } });
    const pod = await scan.pod();
    await scan.startPod(pod);
    const tested = (sequence: number, scanned: number) =>
      scan.publish({
        kind: 'progress',
        scanId: scan.id,
        ...identityOf(pod),
        sequence,
        phase: 'scanning',
        pages: { scanned, failed: 1, total: 9 },
      });
    await tested(1, 1);
    await tested(2, 3);
    await until('the count is in the row', async () => (await scan.row())?.pages.scanned === 3);
    await scan.patch({ spec: { cancel: true } });
    const canceled = await scan.settles();
    const message =
      'The scan was canceled. The 3 pages tested until then were charged. There is no report, because the scanner ended without one.';
    expect(canceled.status).to.deep.include({ phase: 'canceled', passed: false, message });
    expect(canceled.status?.pages).to.deep.equal({ requested: 5, reserved: 5, scanned: 3, failed: 1 });
    expect(await scan.row()).to.deep.include({ phase: 'canceled', passed: false, message, pages: { scanned: 3, failed: 1, total: 4 } });
    expect((await context.spent()) - spent).to.equal(3);
    await operator.stop();
  });

  it('is deleted while it runs: cancels the row, releases the credits and removes the Job', async () => {
    const operator = context.start();
    const scan = await context.submit();
    await scan.startPod(await scan.pod());
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    await scan.remove();
    await until('the resource is gone', async () => (await scan.read()) === null);
    expect(await scan.row()).to.include({ phase: 'canceled', message: 'The scan was deleted before it ended. Nothing was charged.' });
    await until('its Job is gone', async () => (await scan.job()) === null);
    await operator.stop();
  });

  it('is deleted in the foreground: the resource stays until its Job and pod are gone', async () => {
    const operator = context.start();
    const scan = await context.submit();
    await scan.startPod(await scan.pod());
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    const path = context.connection.path(SCANS, scan.namespace, scan.name);
    await context.connection.request('DELETE', path, { body: { propagationPolicy: 'Foreground' } });
    await until('the resource is gone', async () => (await scan.read()) === null);
    expect(await scan.row()).to.include({ phase: 'canceled' });
    await until('its Job and pod are gone', async () => (await scan.job()) === null && (await scan.pods()).length === 0);
    await operator.stop();
  });
});
