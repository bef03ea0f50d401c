import { expect } from 'chai';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { useContext, reasonOf, statusOf, until, type Scan } from './context.ts';

import { createOperatorMetrics } from '../../operator/metrics.ts';
import { JOBS } from '../../operator/scan/kube-types.ts';

describe('operator: the queue', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  const admitted = (scan: Scan) => scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');

  /** A connection on which the API server refuses some writes. */
  function refusing(code: number, message: string, isRefused: (path: string) => boolean): KubernetesConnection {
    const { connection } = context;
    return {
      ...connection,
      path: connection.path.bind(connection),
      watch: connection.watch.bind(connection),
      request: (method, path, options) =>
        method !== 'GET' && isRefused(path)
          ? Promise.reject(new KubernetesError(code, code === 403 ? 'Forbidden' : 'InternalError', message))
          : connection.request(method, path, options),
    };
  }

  it('admits scans and mirrors their order also if the API server refuses to write the ScanQueue', async () => {
    const connection = refusing(403, 'denied by a policy', (path) => path.includes('/scanqueues'));
    const { lines } = context.start({ maxRunning: 1 }, { connection });
    await until('the creation was refused', async () => lines.some(({ fields }) => /denied by a policy/.test(String(fields['err']))));
    const first = await context.submit();
    await admitted(first);
    // The status cannot be written either.
    await context.createQueue('default');
    const second = await context.submit();
    await until('the order is mirrored', async () => (await context.stores.queueStates.readLine('default'))?.order.includes(second.id));
  });

  it('gives the place of a scan whose Job cannot be created to others, says why, and creates it later', async () => {
    let isDown = true;
    const jobs = context.connection.path(JOBS, context.team);
    const connection = refusing(
      500,
      'Internal error occurred: failed calling webhook "policy.example.com"',
      (path) => isDown && path === jobs,
    );
    const metrics = createOperatorMetrics();
    context.start({ maxRunning: 1, timeouts: { requeueBaseMs: 1_000 } }, { connection, metrics });
    const failing = await context.apply(context.team);
    await admitted(failing);
    const healthy = await context.submit();
    const requeued = await failing.reaches('back in its queue', (read) => reasonOf(read, 'Admitted') === 'LaunchFailed');
    expect(requeued.status).to.deep.include({ phase: 'queued' });
    expect(requeued.status?.message).to.match(/could not be started.*failed calling webhook "policy.example.com"/);
    await healthy.pod();
    await until('an Event says so', async () => (await failing.events()).includes('LaunchFailed'));
    // A slow machine may try it once more before the healthy one is in the queue. From here on that one has the only place.
    const { count } = (await failing.read())!.status!.requeueState!;
    const counted = `curbcut_scans_requeued_total{reason="LaunchFailed"} ${count}`;
    await until('the metric counts each time', async () => (await metrics.registry.metrics()).split('\n').includes(counted));

    isDown = false;
    await healthy.patch({ spec: { cancel: true } });
    await failing.pod();
    const again = await failing.reaches('admitted again', (read) => statusOf(read, 'Admitted') === 'True');
    expect(again.status?.requeueState?.count).to.equal(count);
  });
});
