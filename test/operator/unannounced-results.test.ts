/** Results that a pod stored although no message about them reached the operator. */
import { expect } from 'chai';
import { JOBS, PODS, type Pod } from '../../operator/scan/kube-types.ts';
import type { WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { useContext, reasonOf, until, type Scan } from './context.ts';

describe('operator: results that no message announced', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(1000));
  afterEach(() => context.rest());

  /** Starts a scan, stops the operator, and stores the scan's results. */
  async function storeUnseen(): Promise<{ scan: Scan; pod: Pod; spent: number }> {
    const operator = context.start();
    const spent = await context.spent();
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    await operator.stop();
    await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    return { scan, pod, spent };
  }

  async function expectDone(scan: Scan, spent: number): Promise<void> {
    const done = await scan.settles();
    expect(done.status?.phase, done.status?.message).to.equal('done');
    expect((await scan.row())?.phase).to.equal('done');
    expect((await context.spent()) - spent).to.equal(2);
    expect(await context.held()).to.equal(0);
  }

  const remove = (scan: Scan, pod: Pod) =>
    context.connection.request('DELETE', context.connection.path(PODS, scan.namespace, pod.metadata.name), {
      body: { gracePeriodSeconds: 0 },
    });

  it('are accepted if the pod has succeeded and its object is gone', async () => {
    const { scan, pod, spent } = await storeUnseen();
    await scan.endPod(pod, { exitCode: 0 });
    await until('the Job is complete', async () => (await scan.job())?.status?.conditions?.some(({ type }) => type === 'Complete'));
    await remove(scan, pod);
    context.start();
    await expectDone(scan, spent);
  });

  it('are accepted if the Job was deleted while the operator was down', async () => {
    const { scan, pod, spent } = await storeUnseen();
    await scan.endPod(pod, { exitCode: 0 });
    await context.connection.request('DELETE', context.connection.path(JOBS, scan.namespace, `scan-${scan.id}`), {
      body: { propagationPolicy: 'Background' },
    });
    await until('the Job is gone', async () => (await scan.job()) === null);
    context.start();
    await expectDone(scan, spent);
  });

  it('are accepted if every attempt of the Job failed', async () => {
    const { scan, pod, spent } = await storeUnseen();
    await context.connection.request('PATCH', context.connection.path(JOBS, scan.namespace, `scan-${scan.id}`), {
      contentType: 'application/merge-patch+json',
      body: { spec: { activeDeadlineSeconds: 1 } },
    });
    await until('the Job has failed', async () => (await scan.job())?.status?.conditions?.some(({ type }) => type === 'Failed'));
    await remove(scan, pod).catch(() => undefined);
    context.start();
    await expectDone(scan, spent);
  });

  it('are accepted if the pod became silent', async () => {
    const operator = context.start({ timeouts: { stuckMs: 1000 } });
    const spent = await context.spent();
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    const { attempt, shard } = { attempt: 0, shard: 0 };
    await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    const pages = { scanned: 0, failed: 0, total: 0 };
    await scan.publish({ kind: 'progress', scanId: scan.id, attempt, shard, sequence: 1, phase: 'scanning', pages });
    await expectDone(scan, spent);
    await operator.stop();
  });

  it('are accepted from the termination message if the watch of pods is silent', async () => {
    let silent = false;
    const { connection } = context;
    const deaf: typeof connection = {
      ...connection,
      namespace: connection.namespace,
      async *watch<T>(...[path, options]: Parameters<typeof connection.watch>): AsyncGenerator<WatchEvent<T>> {
        for await (const event of connection.watch<T>(path, options)) if (!silent || !path.endsWith('/pods')) yield event;
      },
    };
    context.start({}, { connection: deaf });
    const spent = await context.spent();
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    silent = true;
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await context.reports.remove([incomingKeys(scan.id, { attempt: 0, shard: 0 }).result]);
    await scan.endPod(pod, { exitCode: 0, message: JSON.stringify(stored) });
    await expectDone(scan, spent);
  });

  it('are verified like announced ones', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.startPod(pod);
    const { uploads } = await scan.input();
    const hostile: [string, unknown][] = [
      ['another scan', { kind: 'stored', scanId: 'other' }],
      ['too much', 'x'.repeat(10_000)],
      ['nothing stored', { ...(await storedElsewhere(scan, pod)), attempt: 2 }],
    ];
    for (const [index, [, body]] of hostile.entries())
      await fetch(uploads[index]!.result, { method: 'PUT', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    await scan.endPod(pod, { exitCode: 0 });
    const refused = await scan.settles();
    expect(reasonOf(refused, 'Succeeded')).to.equal('ResultsRefused');
    // The operator deletes the uploads after it has released the scan.
    const { result } = incomingKeys(scan.id, { attempt: 2, shard: 0 });
    await until('the uploads are deleted', async () => (await context.reports.size(result)) === null);
    await operator.stop();
  });

  /** The statement of results that lie in the slot of the pod, and not in the slot to which a hostile pod copies it. */
  async function storedElsewhere(scan: Scan, pod: Pod) {
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    await context.reports.remove([incomingKeys(scan.id, { attempt: 0, shard: 0 }).result]);
    return stored;
  }

  it('and the Job of a scan is deleted by the operator, when its log has been kept long enough', async () => {
    context.start({ timeouts: { jobTtlMs: 3_000 } });
    const scan = await context.submit();
    const pod = await scan.pod();
    const stored = await scan.upload(pod, bytesOf(reportOf(await scan.input())));
    const job = (await scan.job()) as { spec?: { ttlSecondsAfterFinished?: number } } | null;
    expect(job?.spec, 'or a Job could vanish before its results are seen').not.to.have.property('ttlSecondsAfterFinished');
    await scan.endPod(pod, { exitCode: 0, message: JSON.stringify(stored) });
    await scan.settles();
    await until('the Job is gone', async () => (await scan.job()) === null);
    expect((await scan.read())?.status?.phase).to.equal('done');
  });
});
