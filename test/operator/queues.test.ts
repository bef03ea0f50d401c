import { expect } from 'chai';
import { API_VERSION, type AccessibilityScanSpec, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { QUEUES } from '../../operator/scan/kube-types.ts';
import { ORGANISATION, useContext, reasonOf, statusOf, until, type Scan } from './context.ts';

const OTHER = 'bolt';

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
  const isAdmitted = async (scan: Scan) => statusOf((await scan.read())!, 'Admitted') === 'True';

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

  it('let a scan of an unknown queue wait until the queue is created', async () => {
    context.start();
    const scan = await context.apply(context.team, { queue: 'nightly' });
    const waiting = await waits(scan, 'QueueNotFound');
    expect(statusOf(waiting, 'Admitted')).to.equal('False');
    expect(waiting.status).to.include({
      phase: 'queued',
      message: `There is no ScanQueue nightly in namespace ${context.namespace}; the scan waits until it is created. To use another queue, apply another scan.`,
    });
    expect((await scan.row())?.queue).to.equal('nightly');
    const other = await context.submit();
    await admitted(other);
    await context.createQueue('nightly');
    const started = await admitted(scan);
    expect(started.status?.message).to.equal(undefined);
    await scan.pod();
  });

  it('hold no place for a scan that may not use them, and admit it when it may', async () => {
    await context.createQueue('nightly', { maxRunning: 1, allowedNamespaces: [context.namespace] });
    context.start();
    const [denied, stranger] = [
      await context.apply(context.team, { queue: 'nightly' }),
      await context.apply(context.team, { queue: 'public' }),
    ];
    const waiting = await waits(denied, 'QueueNotAllowed');
    expect(waiting.status?.message).to.equal(
      `The ScanQueue nightly is not for scans of organisation ${ORGANISATION} in namespace ${context.team} (allowedOrganisations, allowedNamespaces); the scan waits until it may use it. To use another queue, apply another scan.`,
    );
    await waits(stranger, 'QueueNotAllowed');
    await until('the scan counts as waiting', async () => (await context.queue('nightly'))?.status?.queued === 1);
    await context.setQueue({ allowedNamespaces: [context.team] }, 'nightly');
    await admitted(denied);
    expect(await isAdmitted(stranger)).to.equal(false);
  });

  it('let running scans of a deleted queue continue, and the others wait for its return', async () => {
    await context.createQueue('nightly', { maxRunning: 1 });
    context.start();
    const runs = await context.apply(context.team, { queue: 'nightly' });
    await admitted(runs);
    const scan = await context.apply(context.team, { queue: 'nightly' });
    await waits(scan, 'Queued');
    await context.deleteQueue('nightly');
    await waits(scan, 'QueueNotFound');
    await runs.startPod(await runs.pod());
    await runs.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    await context.createQueue('nightly', { maxRunning: 2, maxStartingPerOrganisation: 2 });
    await admitted(scan);
  });

  it('share their places by the weights of the organisations', async () => {
    const { stores } = context;
    await stores.organisations.add({ id: OTHER, displayName: 'Bolt', plan: 'test', namespaces: [context.strangers] });
    await stores.credits.open(OTHER);
    await stores.credits.grant(OTHER, 'grant', 1000);
    const spec = { paused: true, maxRunning: 4, maxStartingPerOrganisation: 4, weights: { [OTHER]: 3 } };
    await context.createQueue('nightly', spec);
    context.start();
    const apply = (namespace: string) =>
      Promise.all(Array.from({ length: 4 }, () => context.apply(namespace, { queue: 'nightly', maxPages: 1 })));
    const [acme, bolt] = [await apply(context.team), await apply(context.strangers)];
    for (const scan of [...acme, ...bolt]) await waits(scan, 'QueuePaused');
    await context.setQueue({ paused: false }, 'nightly');
    const count = async (scans: Scan[]) => (await Promise.all(scans.map(isAdmitted))).filter(Boolean).length;
    await until('four scans run', async () => (await count([...acme, ...bolt])) === 4);
    expect([await count(acme), await count(bolt)]).to.deep.equal([1, 3]);
  });

  it('admit the scans of an organisation by priority and mirror this order for the API', async () => {
    await context.createQueue('nightly', { paused: true, maxRunning: 1 });
    context.start();
    const priorities = [0, -7, 1000];
    const scans = await Promise.all(priorities.map((priority) => context.apply(context.team, { queue: 'nightly', priority })));
    const [normal, low, high] = scans as [Scan, Scan, Scan];
    const order = async () => (await context.stores.queueStates.readLine('nightly'))?.order ?? [];
    await until('the order is mirrored', async () => (await order()).length === 3);
    expect(await order()).to.deep.equal([high.id, normal.id, low.id]);
    await context.setQueue({ paused: false }, 'nightly');
    await admitted(high);
    expect([await isAdmitted(normal), await isAdmitted(low)]).to.deep.equal([false, false]);
    await high.patch({ spec: { cancel: true } });
    await admitted(normal);
    await normal.patch({ spec: { cancel: true } });
    await admitted(low);
    await until('no scan waits', async () => (await context.stores.queueStates.readLine('nightly')) === null);
  });

  it('cannot be changed for a scan, nor its priority, and have bounds', async () => {
    const scan = await context.apply(context.team, { queue: 'nightly', priority: 3 });
    expect((await scan.read())!.spec).to.include({ queue: 'nightly', priority: 3 });
    const byDefault = await context.apply(context.team);
    expect((await byDefault.read())!.spec).to.include({ queue: 'default', priority: 0 });
    expect(await refusal(scan.patch({ spec: { queue: 'default' } }))).to.match(/queue cannot be changed; apply another AccessibilityScan/);
    expect(await refusal(scan.patch({ spec: { priority: 4 } }))).to.match(/priority cannot be changed; apply another AccessibilityScan/);
    const refused: [Partial<AccessibilityScanSpec>, RegExp][] = [
      [{ priority: 1001 }, /priority/],
      [{ priority: -1001 }, /priority/],
      [{ queue: 'Nightly' }, /queue/],
      [{ queue: '' }, /queue/],
    ];
    for (const [spec, message] of refused) expect(await refusal(context.apply(context.team, spec))).to.match(message);
    expect(await refusal(context.createQueue('a.b'))).to.match(/the name must be a DNS label/);
    expect(await refusal(context.createQueue('x'.repeat(64)))).to.match(/the name must be a DNS label/);
    expect(await refusal(context.createQueue('heavy', { weights: { acme: 101 } }))).to.match(/weights/);
    expect(await refusal(context.createQueue('light', { weights: { acme: 0 } }))).to.match(/weights/);
    expect(await refusal(context.createQueue('x'.repeat(63), { weights: { acme: 100 } }))).to.equal('accepted');
  });

  it('are ready also if the operator of another installation has seen them first', async () => {
    await context.createQueue('nightly');
    const other = context.start({ namespace: context.strangers, operatorClass: 'other' });
    const conditions = async () =>
      (await context.queue('nightly'))?.status?.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`) ?? [];
    await until('the other operator takes it for misplaced', async () => (await conditions()).includes('Stalled True WrongNamespace'));
    context.start();
    await until('the queue is open', async () => (await conditions()).includes('Ready True Open'));
    expect(await conditions()).to.include('Stalled False Open');
    await other.stop();
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
    const stated = (generation: number) =>
      until('the status is written', async () => {
        const queue = await read('lost');
        return queue.status?.observedGeneration === generation ? queue : null;
      });
    const { status } = await stated(1);
    expect(status!.conditions!.map(({ type, status: holds, reason }) => [type, holds, reason])).to.deep.equal([
      ['Ready', 'False', 'WrongNamespace'],
      ['Stalled', 'True', 'WrongNamespace'],
    ]);
    expect(status!.conditions![0]!.message).to.include(`queues are in the namespace ${namespace}`);
    await patch('lost', { spec: { paused: true } });
    await stated(2);
    expect((await read('theirs')).status!.conditions).to.deep.equal([open]);
    await until('the own queue is open', async () => conditionOf((await context.queue())?.status?.conditions, 'Ready')?.reason === 'Open');
    await context.setQueue({ paused: true });
    await until(
      'the own queue is paused',
      async () => conditionOf((await context.queue())?.status?.conditions, 'Ready')?.reason === 'Paused',
    );
  });
});
