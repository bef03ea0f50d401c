import { expect } from 'chai';
import type { AccessibilityScanStatus } from '../../core/protocol/custom-resources.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { showCount } from '../support/counts.ts';
import { useContext, until } from './context.ts';
import { logWrites } from './request-log.ts';

interface ScanPatch {
  status?: AccessibilityScanStatus;
}

/** The writes of a scan whose pod starts soon, besides its progress and the queue's counts. */
const WRITES = [
  'DELETE accessibilityscans',
  'DELETE jobs',
  'PATCH accessibilityscans',
  'PATCH accessibilityscans/status',
  'PATCH accessibilityscans/status',
  'PATCH jobs',
  'POST accessibilityscans',
  'POST events',
  'POST events',
  'POST jobs',
  'POST secrets',
];

/** Whether a write only states how far a running scan is. */
function isProgress(body: unknown): boolean {
  const phase = (body as ScanPatch | undefined)?.status?.phase;
  return phase !== undefined && phase !== 'queued' && !isTerminal(phase);
}

describe('operator: Kubernetes writes', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  it('are at most 13 for a scan from submission to deletion, besides its progress', async () => {
    const { connection, writes } = logWrites(context.connection);
    const operator = context.start(
      { timeouts: { queueMs: 60_000, pendingMs: 60_000, stuckMs: 60_000, lingerMs: 60_000, podStateMs: 60_000, jobTtlMs: 500 } },
      { connection },
    );
    await until('the queue exists', () => context.queue());
    await until('the queue has a status', async () => (await context.queue())?.status);
    writes.length = 0;
    const began = performance.now();
    const scan = await context.submit({ ttlSecondsAfterFinished: 3 });
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    const said = { kind: 'progress', scanId: scan.id, ...identityOf(pod) } as const;
    await scan.publish({ ...said, sequence: 1, phase: 'scanning', pages: { scanned: 1, failed: 0, total: 2 } });
    await scan.reaches('scanning', ({ status }) => status?.phase === 'scanning');
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await scan.publish(stored);
    await scan.reaches('done', ({ status }) => status?.phase === 'done');
    await scan.endPod(pod, { exitCode: 0, message: JSON.stringify(stored) });
    await until('the resource is gone', async () => (await scan.read()) === null);
    await until('the queue is empty', async () => (await context.queue())?.status?.running === 0);
    await operator.stop();
    const accepted = writes.filter(({ rejected }) => !rejected);
    const progress = accepted.filter(({ body }) => isProgress(body));
    expect(progress.map(({ body }) => (body as ScanPatch).status!.phase)).to.deep.equal(['crawling', 'scanning']);
    const rest = accepted.filter((write) => !progress.includes(write)).map(({ request }) => request);
    // One when it runs and one when it has ended, and at most one per second.
    const counts: string[] = rest.filter((request) => request === 'PATCH scanqueues/status');
    expect(counts.length).to.be.at.most(2 + (performance.now() - began) / 1000);
    // The API's creation of the resource does not pass through the operator's connection.
    expect(['POST accessibilityscans', ...rest.filter((request) => !counts.includes(request))].toSorted()).to.deep.equal(WRITES);
    expect(WRITES.length + 2).to.equal(13);
    showCount(1 + rest.length, 'Kubernetes writes per scan from submission to deletion, besides progress');
  });
});
