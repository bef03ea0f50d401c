import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';
import { bytesOf, partialReportOf } from '../support/scan-results.ts';
import { reportKeys, until, useContext, type Scan } from './context.ts';

const TEXT = 'The scan was canceled. The 2 pages tested until then were charged.';
const PARTIAL = `${TEXT} The report is partial: it has only the pages that were tested until then.`;

describe('operator: the report of a canceled scan', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());
  afterEach(async () => {
    expect(await context.held(), 'held credits').to.equal(0);
  });

  /** A scan whose pod has reported two tested pages of nine. */
  async function scanning(spec: Parameters<typeof context.submit>[0] = {}): Promise<{ scan: Scan; pod: Pod }> {
    const scan = await context.submit(spec);
    const pod = await scan.pod();
    await scan.assignPod(pod);
    await scan.startPod(pod);
    const pages = { scanned: 2, failed: 0, total: 9 };
    await scan.publish({ kind: 'progress', scanId: scan.id, ...identityOf(pod), sequence: 1, phase: 'scanning', pages });
    await until('the count is in the row', async () => (await scan.row())?.pages.scanned === 2);
    return { scan, pod };
  }

  /** Waits until the pod is told to stop. */
  const isStopped = async (scan: Scan, pod: Pod): Promise<void> => {
    await scan.reaches('canceling', ({ status }) => status?.cancelTime !== undefined);
    await until('the pod is told to stop', async () =>
      (await scan.pods()).some(({ metadata }) => metadata.uid === pod.metadata.uid && metadata.deletionTimestamp !== undefined),
    );
  };

  /** What a pod does when it is told to stop: it stores what it has, and ends. */
  async function storesPartial(scan: Scan, pod: Pod): Promise<void> {
    await scan.publish(await scan.upload(pod, bytesOf(partialReportOf(await scan.input()))));
    await scan.endPod(pod, { exitCode: 0 });
    await scan.confirmDeletion(pod);
  }

  const isMarked = async (scan: Scan): Promise<boolean> => (await fetch((await scan.input()).cancelMark!)).ok;

  it('has the pages that were tested until then, which are charged', async () => {
    const operator = context.start();
    const spent = await context.spent();
    const { scan, pod } = await scanning({ thresholds: { minScore: 1 } });
    expect(await isMarked(scan), 'what the pod of a live scan reads').to.equal(false);
    await scan.patch({ spec: { cancel: true } });
    await isStopped(scan, pod);
    expect(await isMarked(scan), 'what the pod reads when it is told to stop').to.equal(true);
    await storesPartial(scan, pod);

    const { status } = await scan.settles();
    expect(status).to.deep.include({
      phase: 'canceled',
      passed: false,
      message: PARTIAL,
      pages: { requested: 5, reserved: 5, scanned: 2, failed: 0 },
    });
    expect(status?.violations?.total).to.equal(3);
    expect(status?.reports?.pdf).to.equal(`/v1/scans/${scan.id}/report`);
    const row = await scan.row();
    expect(row).to.deep.include({ phase: 'canceled', passed: false, message: PARTIAL, reason: 'Canceled', pagesCharged: 2 });
    expect(row?.outcome?.pages).to.deep.equal({ scanned: 2, failed: 0, total: 2 });
    for (const key of [row!.reports!.export.key, row!.reports!.pdf.key, reportKeys(scan.id).view])
      expect(await context.reports.size(key), key).to.be.greaterThan(0);
    expect((await context.reports.readView(scan.id))?.partial).to.equal(true);
    expect((await context.spent()) - spent).to.equal(2);
    await until('the uploads are removed', async () => {
      const uploads = await context.reports.uploads();
      return !uploads.some(({ scanId }) => scanId === scan.id);
    });
    await operator.stop();
  });
});
