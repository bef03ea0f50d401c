/** Results that a pod stored although no message about them reached the operator. */
import { expect } from 'chai';
import { JOBS, type Pod } from '../../operator/scan/kube-types.ts';
import type { WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { useContext, until, type Scan } from './context.ts';

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
});
