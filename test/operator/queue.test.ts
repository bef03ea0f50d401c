import { expect } from 'chai';
import { GROUP, SCANS_PLURAL, VERSION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { useContext, reasonOf, statusOf, until, type Scan } from './context.ts';

import { createOperatorMetrics } from '../../operator/metrics.ts';
import { JOBS } from '../../operator/scan/kube-types.ts';
import { logWrites, writesOf } from './request-log.ts';

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

describe('operator: the queue', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  const admitted = (scan: Scan) => scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');
  const waits = (scan: Scan, message: RegExp) =>
    scan.reaches(
      `waiting with message ${message}`,
      (read) => statusOf(read, 'Admitted') === 'False' && message.test(read.status?.message ?? ''),
    );

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

  it('is created open if it does not exist', async () => {
    context.start();
    const queue = await until('there is a queue', () => context.queue());
    expect(queue.spec).to.deep.equal({});
  });

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

  it('admits other scans while an admission webhook fails for the first one', async () => {
    let broken = 'none';
    const connection = refusing(500, 'Internal error occurred: failed calling webhook "policy.example.com"', (path) =>
      path.includes(`/${broken}/status`),
    );
    context.start({ maxRunning: 1 }, { connection });
    await context.pauseQueue();
    const first = await context.apply(context.team, { priority: 1 });
    const second = await context.apply(context.team);
    for (const scan of [first, second]) await waits(scan, /queue is paused/);
    broken = first.name;
    await context.setQueue({ paused: false });
    await admitted(second);
    expect(statusOf((await first.read())!, 'Admitted')).to.equal('False');
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
    context.start({ maxRunning: 1, timeouts: { requeueBaseMs: 3_000 } }, { connection, metrics });
    const failing = await context.apply(context.team);
    await admitted(failing);
    const healthy = await context.submit();
    const requeued = await failing.reaches('back in its queue', (read) => reasonOf(read, 'Admitted') === 'LaunchFailed');
    expect(requeued.status).to.deep.include({ phase: 'queued' });
    expect(requeued.status?.message).to.match(/could not be started.*failed calling webhook "policy.example.com"/);
    expect(requeued.status?.requeueState?.count).to.equal(1);
    await healthy.pod();
    await until('an Event says so', async () => (await failing.events()).includes('LaunchFailed'));
    expect(await metrics.registry.metrics()).to.match(/^curbcut_scans_requeued_total 1$/m);

    isDown = false;
    await healthy.patch({ spec: { cancel: true } });
    await failing.pod();
    const again = await failing.reaches('admitted again', (read) => statusOf(read, 'Admitted') === 'True');
    expect(again.status?.requeueState?.count).to.equal(1);
  });

  it('admits no scan while paused, reports the reason and the pause, and resumes', async () => {
    context.start();
    const runs = await context.submit();
    await admitted(runs);
    await context.pauseQueue();
    const scan = await context.submit();
    const waiting = await waits(scan, /queue is paused/);
    expect(waiting.status?.phase).to.equal('queued');
    expect(reasonOf(waiting, 'Admitted')).to.equal('QueuePaused');
    expect(statusOf(waiting, 'Succeeded')).to.equal('Unknown');
    expect(await scan.job()).to.equal(null);
    await until('the queue status is updated', async () => {
      const { status } = (await context.queue())!;
      return status?.queued === 1 && status.running === 1;
    });
    await until('both scans are counted', async () => (await context.stores.queueStates.read()).live === 2);
    // Running scans continue.
    await runs.startPod(await runs.pod());
    await runs.reaches('crawling', ({ status }) => status?.phase === 'crawling');

    await context.setQueue({ paused: false });
    await admitted(scan);
    await scan.pod();
    await until('the queue state is updated', async () => !(await context.stores.queueStates.read()).paused);
  });

  it('stays paused when it is deleted, also while no operator runs', async () => {
    const recreated = async (uid: string) => {
      const queue = await context.queue();
      return queue !== null && queue.metadata.uid !== uid ? queue : null;
    };
    const operator = context.start();
    await context.pauseQueue();
    const scan = await context.submit();
    await waits(scan, /queue is paused/);
    const first = (await context.queue())!;
    await context.deleteQueue();
    const second = await until('the queue exists again', () => recreated(first.metadata.uid!));
    expect(second.spec.paused).to.equal(true);
    await operator.stop();
    await context.deleteQueue();
    context.start();
    const third = await until('the queue exists again', () => recreated(second.metadata.uid!));
    expect(third.spec.paused).to.equal(true);
    expect(statusOf((await scan.read())!, 'Admitted')).to.equal('False');
    await context.setQueue({ paused: false });
    await admitted(scan);
  });

  it('admits scans in order up to maxRunning and writes nothing to the others meanwhile', async () => {
    const { connection, writes } = logWrites(context.connection);
    context.start({ maxRunning: 1 }, { connection });
    const first = await context.submit();
    await admitted(first);
    const second = await context.submit();
    await waits(second, /Waiting in the queue/);
    // Creation times are whole seconds; scans of the same second are not ordered by arrival.
    await new Promise((resolve) => setTimeout(resolve, 1001));
    const third = await context.submit();
    await waits(third, /Waiting in the queue/);
    const before = writesOf(writes, third).length;
    expect(await second.job()).to.equal(null);
    await first.patch({ spec: { cancel: true } });
    await admitted(second);
    expect(writesOf(writes, third)).to.have.length(before);
    await waits(third, /Waiting in the queue/);
    await context.setQueue({ maxRunning: 2, maxStartingPerOrganisation: 2 });
    await admitted(third);
  });

  it('never admits more than maxRunning scans from a burst', async () => {
    context.start({ maxRunning: 3 });
    await context.setQueue({ maxStartingPerOrganisation: 3 });
    const scans = await Promise.all(Array.from({ length: 12 }, () => context.submit()));
    // One list is one snapshot; separate reads could count a scan and its successor.
    const look = async () => {
      const { items } = await context.connection.request<{ items: AccessibilityScan[] }>(
        'GET',
        context.connection.path(SCANS, context.namespace),
      );
      const live = items.filter((read) => read.status?.completionTime === undefined);
      return { left: live.length, running: live.filter((read) => statusOf(read, 'Admitted') === 'True') };
    };
    await until('three scans run', async () => ((await look()).running.length === 3 ? true : null));
    const counts: number[] = [];
    for (let left = scans.length; left > 0;) {
      const now = await look();
      const { running } = now;
      counts.push(running.length);
      left = now.left;
      for (const read of running) await scans.find(({ name }) => name === read.metadata.name)!.patch({ spec: { cancel: true } });
    }
    expect(Math.max(...counts)).to.equal(3);
  });

  it('counts no pause as waiting time, also after a restart and a deletion of the queue', async () => {
    const settings = { timeouts: { queueMs: 4000, pendingMs: 60_000, stuckMs: 60_000 } };
    const operator = context.start(settings);
    await context.pauseQueue();
    await until('the pause is stored', async () => (await context.queue())?.status?.pauses?.length === 1);
    const scan = await context.apply(context.team);
    await waits(scan, /queue is paused/);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    await operator.stop();
    const { lines } = context.start(settings);
    const { uid } = (await context.queue())!.metadata;
    await until('the operator has listed the queue', () => lines.some(({ message }) => message === 'caches synced'));
    await context.deleteQueue();
    const again = await until('the queue has its pause back', async () => {
      const queue = await context.queue();
      return queue?.metadata.uid !== uid && queue?.status?.pauses?.length === 1 ? queue : null;
    });
    expect(again.status!.pauses![0]).to.have.all.keys('startTime');
    await context.setQueue({ paused: false });
    await admitted(scan);
    await until('the end is stored', async () => (await context.queue())?.status?.pauses?.[0]?.endTime);
  });

  it('fails scans that wait beyond the deadline', async () => {
    context.start({ maxRunning: 1, timeouts: { queueMs: 3000, pendingMs: 60_000, stuckMs: 60_000 } });
    await admitted(await context.submit());
    const scan = await context.submit();
    const failed = await scan.settles();
    expect(reasonOf(failed, 'Succeeded')).to.equal('QueueDeadline');
    expect(reasonOf(failed, 'Admitted')).to.equal('QueueDeadline');
    expect(failed.status?.message).to.match(/waited .* in the queue/);
    expect(await context.held(), 'of the running scan').to.equal(5);
  });
});
