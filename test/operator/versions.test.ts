/** Pods of another version of Curbcut: scans that are in progress during an upgrade or a rollback. */
import { expect } from 'chai';
import type { PodStored } from '../../core/protocol/pod-messages.ts';
import { incomingKeys } from '../../stores/reports.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { SCANNER } from '../support/operator-settings.ts';
import { useContext, reasonOf, type Scan } from './context.ts';

const OTHER = '0.0.9';

describe('operator: a pod of another version', () => {
  const context = useContext();
  before(() => context.grant(1000));

  /** Stores and announces results whose score was computed by another rule, unless `isCurrent`. */
  async function report(scan: Scan, pod: Pod, isCurrent = false, version = OTHER): Promise<void> {
    const made = reportOf(await scan.input());
    if (!isCurrent) made.score.score_version -= 1;
    const stored = await scan.upload(pod, bytesOf(made), undefined, undefined, version);
    // Another version may say more.
    await scan.publish({ ...stored, export: { ...stored.export, newer: 1 } } as PodStored);
  }

  it('stores results that are verified as any others', async () => {
    const operator = context.start();
    const scan = await context.submit();
    await report(scan, await scan.pod(), true);
    const done = await scan.settles();
    expect(done.status?.phase).to.equal('done');
    expect(done.status?.reports?.stored?.export).to.have.keys('bytes', 'sha256');
    expect(await scan.events()).not.to.include('Retrying');
    await operator.stop();
  });

  it('is replaced once if its results cannot be verified, and the scan is charged once', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const spent = await context.spent();
    const first = await scan.pod();
    await report(scan, first);
    const second = await scan.pod(2);
    const { status } = await scan.reaches('in its second Job', (read) => read.status?.podName === second.metadata.name);
    expect(status).to.deep.include({ replacedJob: first.metadata.ownerReferences?.[0]?.uid });
    expect(await context.reports.size(incomingKeys(scan.id, { attempt: 0, shard: 0 }).result), 'of the first Job').to.equal(null);
    // The messages of the first pod do not hide those of the second one.
    await scan.startPod(second);
    const said = { kind: 'progress', scanId: scan.id, attempt: 0, shard: 0, sequence: 1, phase: 'scanning' } as const;
    await scan.publish({ ...said, pages: { scanned: 1, failed: 0, total: 2 } });
    await scan.reaches('scanning', (read) => read.status?.pages?.scanned === 1);
    await scan.publish(await scan.upload(second, bytesOf(reportOf(await scan.input()))));
    expect((await scan.settles()).status?.phase).to.equal('done');
    expect((await context.spent()) - spent).to.equal(2);
    expect(await scan.events()).to.include('Retrying');
    await operator.stop();
  });

  it('is not replaced twice, also by an operator that was restarted', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const spent = await context.spent();
    await report(scan, await scan.pod());
    const second = await scan.pod(2);
    await operator.stop();
    const successor = context.start();
    await report(scan, second);
    // The successor may not listen yet. It finds the results when the pod has ended.
    await scan.endPod(second, { exitCode: 0 });
    const failed = await scan.settles();
    expect(reasonOf(failed, 'Succeeded')).to.equal('ResultsRefused');
    expect(await context.spent()).to.equal(spent);
    await successor.stop();
  });

  it('is replaced after each change of the image, as by an upgrade that is rolled back, also if builds have the same version', async () => {
    const withImage = (tag: string) => context.start({ scanner: { ...SCANNER, image: `curbcut.test/nowhere:${tag}` } });
    const earlier = withImage('earlier');
    const scan = await context.submit();
    const spent = await context.spent();
    const first = await scan.pod();
    await earlier.stop();
    const later = withImage('later');
    await report(scan, first, false, CURBCUT_VERSION);
    await scan.endPod(first, { exitCode: 0 });
    const second = await scan.pod(2);
    await later.stop();
    const rolledBack = withImage('earlier');
    await report(scan, second, false, CURBCUT_VERSION);
    await scan.endPod(second, { exitCode: 0 });
    const third = await scan.pod(3);
    await scan.startPod(third);
    await scan.publish(await scan.upload(third, bytesOf(reportOf(await scan.input()))));
    expect((await scan.settles()).status?.phase).to.equal('done');
    expect((await context.spent()) - spent).to.equal(2);
    await rolledBack.stop();
  });
});
