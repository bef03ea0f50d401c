import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pod-identity.ts';
import { createChildren } from '../../operator/scan/launch/children.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { openContext, type Scan, type OperatorContext } from './context.ts';

describe('operator: restarts', function () {
  this.timeout(480_000);
  let context: OperatorContext;
  beforeEach(async () => {
    context = await openContext();
    await context.grant(10_000);
  });
  afterEach(() => context.close());

  it('takes up what another one left, in every state', async () => {
    const first = context.start({ maxRunning: 3 });
    const [pending, running, finished] = [await context.submit(), await context.submit(), await context.submit()] as [Scan, Scan, Scan];
    const pods = [await pending.pod(), await running.pod(), await finished.pod()];
    await running.runs(pods[1]!);
    await running.says({
      kind: 'progress',
      scanId: running.id,
      ...identityOf(pods[1]!),
      sequence: 1,
      phase: 'scanning',
      pages: { scanned: 1, failed: 0, total: 2 },
    });
    await running.reaches('scanning', ({ status }) => status?.phase === 'scanning' && status.pages?.scanned === 1);
    const queued = await context.submit();
    await queued.reaches('queued', ({ status }) => status?.phase === 'queued');
    await first.stop();

    // While nobody looks: one ends, one is canceled, one is new.
    const stored = await finished.stores(pods[2]!, bytesOf(reportOf(await finished.input())));
    await finished.ends(pods[2]!, { exitCode: 0, message: JSON.stringify(stored) });
    await pending.patch({ spec: { cancel: true } });
    const fresh = await context.submit();

    context.start({ maxRunning: 3 });
    expect((await finished.settles()).status?.phase).to.equal('done');
    expect((await pending.settles()).status?.phase).to.equal('canceled');
    await queued.pod();
    await fresh.pod();
    const still = (await running.read())!;
    expect(still.status).to.deep.include({ phase: 'scanning', attempts: 1, podName: pods[1]!.metadata.name });
    await running.says(await running.stores(pods[1]!, bytesOf(reportOf(await running.input()))));
    expect((await running.settles()).status?.phase).to.equal('done');
    expect(await context.spent()).to.equal(4);
  });

  it('comes to the same end wherever it dies, and charges once', async () => {
    let deaths = 0;
    for (let writes = 0; ; writes += 1) {
      const fuse = createFuse(context, writes);
      const mortal = context.start({ leaseSeconds: 3 }, fuse.parts);
      const scan = await context.submit();
      // The pod does its work as soon as it is made, whoever lives.
      const made = scan.pod();
      const before = await Promise.race([made.then(() => 'made' as const), fuse.blown.then(() => 'died' as const)]);
      let immortal = null;
      const takeOver = async () => {
        deaths += 1;
        await mortal.stop();
        await context.dropLease().catch(() => undefined);
        return context.start();
      };
      if (before === 'died') immortal = await takeOver();
      const own = await made;
      const stored = await scan.stores(own, bytesOf(reportOf(await scan.input())));
      await scan.ends(own, { exitCode: 0, message: JSON.stringify(stored) });
      const settled = scan.settles();
      const first = immortal ?? (await Promise.race([settled.then(() => null), fuse.blown.then(() => 'died' as const)]));
      if (first === 'died') immortal = await takeOver();
      const done = await settled;
      expect(done.status, `died before write ${writes}`).to.deep.include({ phase: 'done', attempts: 1 });
      expect((await scan.row())?.phase).to.equal('done');
      expect(await context.spent(), `died before write ${writes}`).to.equal(2 * (writes + 1));
      expect(await context.held()).to.equal(0);
      expect(await scan.pods()).to.have.length(1);
      await (immortal ?? mortal).stop();
      await context.dropLease().catch(() => undefined);
      if (immortal === null) break;
    }
    // From claiming to releasing there are about fourteen writes; fewer deaths would mean that the fuse did not work.
    expect(deaths).to.be.greaterThan(10);
  });

  it('leaves a Job alone that bears its name but is not its own', async () => {
    const children = createChildren(context.connection);
    const operator = context.start();
    await context.setQueue({ paused: true });
    const scan = await context.apply(context.team);
    const template = {
      spec: { restartPolicy: 'Never', nodeSelector: { 'curbcut.test/stage': 'nowhere' }, containers: [{ name: 'scanner', image: 'x' }] },
    };
    await context.connection.request('POST', context.connection.path({ group: 'batch', version: 'v1', plural: 'jobs' }, context.team), {
      body: { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `scan-${scan.id}` }, spec: { template } },
    });
    await context.setQueue({ paused: false });
    const failed = await scan.settles();
    expect(failed.status?.message).to.match(/exists and does not belong to this scan/);
    expect(await children.readJob(failed, scan.id)).to.equal(null);
    expect(await scan.job()).not.to.equal(null);
    await operator.stop();
  });
});

/**
 * The context's dependencies, through which an operator may write so many times; before the next write it dies: nothing of it
 * reaches the context any more. Leases and events are left out, for they are no step of a scan.
 */
function createFuse(context: OperatorContext, writes: number) {
  const { promise: blown, resolve } = Promise.withResolvers<void>();
  let left = writes;
  let dead = false;
  const pass = (isWrite: boolean): void => {
    if (!dead && isWrite && left-- <= 0) {
      dead = true;
      resolve();
    }
    if (dead) throw new Error('this operator is dead');
  };
  const guard = <T extends object>(store: T, reads: readonly string[]): T =>
    new Proxy(store, {
      get(target, name, receiver) {
        const member = Reflect.get(target, name, receiver) as unknown;
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          pass(!reads.includes(String(name)));
          return (member as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  const { connection, stores } = context;
  const counted = /\/(accessibilityscans|jobs|secrets)/;
  return {
    blown,
    parts: {
      connection: {
        ...connection,
        namespace: connection.namespace,
        path: connection.path.bind(connection),
        request: async (method, path, options) => {
          pass(method !== 'GET' && counted.test(path));
          return connection.request(method, path, options);
        },
        watch: connection.watch.bind(connection),
      } as typeof connection,
      stores: {
        ...stores,
        scans: guard(stores.scans, ['find', 'abandoned', 'stale', 'expired']),
        credits: guard(stores.credits, ['balance', 'holds', 'ledger', 'relay', 'open']),
      },
    },
  };
}
