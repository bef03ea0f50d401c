import { expect } from 'chai';
import { API_VERSION, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { QUEUES } from '../../operator/scan/kube-types.ts';
import { ORGANISATION, useContext, reasonOf, statusOf, until, type Scan } from './context.ts';

describe('operator: several queues', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  const admitted = (scan: Scan) => scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');
  const waits = (scan: Scan, reason: string) => scan.reaches(`waiting: ${reason}`, (read) => reasonOf(read, 'Admitted') === reason);
  const refusal = async (request: Promise<unknown>): Promise<string> =>
    request.then(
      () => 'accepted',
      (error: unknown) => String(error),
    );
  it('have places and a pause of their own', async () => {
    await context.createQueue('nightly', { paused: true });
    context.start({ maxRunning: 1 });
    const [first, second] = [await context.submit(), await context.apply(context.team, { queue: 'nightly' })];
    await admitted(first);
    const waiting = await waits(second, 'QueuePaused');
    expect(waiting.status?.message).to.match(/queue is paused/);
    const counts = (wanted: number, isPaused: boolean) =>
      until(`${wanted} scans are counted`, async () => {
        const { paused, live } = await context.stores.queueStates.read();
        return paused === isPaused && live === wanted;
      });
    // A manifest that waits takes no place of submissions.
    await counts(1, false);
    await until('the status of both queues is written', async () => {
      const [one, other] = [(await context.queue())?.status, (await context.queue('nightly'))?.status];
      return one?.queued === 0 && one.running === 1 && other?.queued === 1 && other.running === 0 ? true : null;
    });
    expect((await context.queue('nightly'))!.status?.organisations).to.deep.equal([
      { name: ORGANISATION, queued: 1, running: 0, starting: 0 },
    ]);
    await context.pauseQueue();
    await context.setQueue({ paused: false }, 'nightly');
    // Its own place: the only one of the default queue is taken.
    await admitted(second);
    await counts(2, true);
    expect(statusOf((await first.read())!, 'Admitted')).to.equal('True');
  });

  it('have a name that is a DNS label, and bounded weights', async () => {
    expect(await refusal(context.createQueue('a.b'))).to.match(/the name must be a DNS label/);
    expect(await refusal(context.createQueue('x'.repeat(64)))).to.match(/the name must be a DNS label/);
    expect(await refusal(context.createQueue('heavy', { weights: { acme: 101 } }))).to.match(/weights/);
    expect(await refusal(context.createQueue('x'.repeat(63), { weights: { acme: 100 } }))).to.equal('accepted');
  });

  it("say in their status that no scan uses them if they are not in the API's namespace, unless another operator uses them", async () => {
    const { connection, team, namespace } = context;
    const path = (name?: string) => connection.path(QUEUES, team, name);
    const create = (name: string) =>
      connection.request('POST', path(), { body: { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name }, spec: {} } });
    const patch = (name: string, body: object, subresource?: string) =>
      connection.request('PATCH', connection.path(QUEUES, team, name, subresource), { contentType: 'application/merge-patch+json', body });
    const read = (name: string) => connection.request<ScanQueue>('GET', path(name));
    await Promise.all(['lost', 'theirs'].map(create));
    const open = { type: 'Ready', status: 'True', reason: 'Open', message: 'Theirs.', lastTransitionTime: '2026-03-02T10:00:00Z' };
    await patch('theirs', { status: { queued: 0, running: 0, oldestWaitSeconds: 0, conditions: [open] } }, 'status');
    context.start();
    const { status } = await until('the status is written', async () => {
      const queue = await read('lost');
      return queue.status?.observedGeneration === 1 ? queue : null;
    });
    expect(status!.conditions!.map(({ type, status: holds, reason }) => [type, holds, reason])).to.deep.equal([
      ['Ready', 'False', 'WrongNamespace'],
      ['Stalled', 'True', 'WrongNamespace'],
    ]);
    expect(status!.conditions![0]!.message).to.include(`queues are in the namespace ${namespace}`);
    expect((await read('theirs')).status!.conditions).to.deep.equal([open]);
  });
});
