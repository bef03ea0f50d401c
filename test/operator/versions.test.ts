/** Pods of another version of Curbcut: scans that are in progress during an upgrade or a rollback. */
import { expect } from 'chai';
import type { PodStored } from '../../core/protocol/pod-messages.ts';
import { incomingKeys } from '../../stores/reports.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { until, useContext, type Scan } from './context.ts';

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
    await until('the Event is recorded', async () => (await scan.events()).includes('Retrying'));
    await operator.stop();
  });
});
