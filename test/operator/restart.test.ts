import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import { createChildren } from '../../operator/scan/launch/children.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { useContext, type Scan } from './context.ts';
import { crashAfter } from './crash.ts';
import { nightly } from '../support/nightly.ts';

describe('operator: restarts', function () {
  this.timeout(480_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(10_000));

  it('takes over scans of a previous operator in every state', async () => {
    const first = context.start({ maxRunning: 3 });
    await context.setQueue({ maxStartingPerOrganisation: 3 });
    const [pending, running, finished] = [await context.submit(), await context.submit(), await context.submit()] as [Scan, Scan, Scan];
    const pods = [await pending.pod(), await running.pod(), await finished.pod()];
    await running.startPod(pods[1]!);
    await running.publish({
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

    // While no operator runs: one scan ends, one is canceled, one is new.
    const stored = await finished.upload(pods[2]!, bytesOf(reportOf(await finished.input())));
    await finished.endPod(pods[2]!, { exitCode: 0, message: JSON.stringify(stored) });
    await pending.patch({ spec: { cancel: true } });
    const fresh = await context.submit();

    context.start({ maxRunning: 3 });
    expect((await finished.settles()).status?.phase).to.equal('done');
    expect((await pending.settles()).status?.phase).to.equal('canceled');
    await queued.pod();
    await fresh.pod();
    const still = (await running.read())!;
    expect(still.status).to.deep.include({ phase: 'scanning', attempts: 1, podName: pods[1]!.metadata.name });
    await running.publish(await running.upload(pods[1]!, bytesOf(reportOf(await running.input()))));
    expect((await running.settles()).status?.phase).to.equal('done');
    expect(await context.spent()).to.equal(4);
  });

  it('reaches the same result and charges once wherever it crashes', async () => {
    let crashes = 0;
    let scans = 0;
    for (let writes = 0; ; writes += nightly(4, 1)) {
      scans += 1;
      const crash = crashAfter(context, writes);
      const crashing = context.start({ leaseSeconds: 3 }, crash.deps);
      const scan = await context.submit();
      // The pod works as soon as it is created, whether or not the operator runs.
      const podCreated = scan.pod();
      const before = await Promise.race([podCreated.then(() => 'created' as const), crash.happened.then(() => 'crashed' as const)]);
      let successor = null;
      const takeOver = async () => {
        crashes += 1;
        await crashing.stop();
        await context.dropLease().catch(() => undefined);
        return context.start();
      };
      if (before === 'crashed') successor = await takeOver();
      const own = await podCreated;
      const stored = await scan.upload(own, bytesOf(reportOf(await scan.input())));
      await scan.endPod(own, { exitCode: 0, message: JSON.stringify(stored) });
      const settled = scan.settles();
      const first = successor ?? (await Promise.race([settled.then(() => null), crash.happened.then(() => 'crashed' as const)]));
      if (first === 'crashed') successor = await takeOver();
      const done = await settled;
      expect(done.status, `crash before write ${writes}`).to.deep.include({ phase: 'done', attempts: 1 });
      expect((await scan.row())?.phase).to.equal('done');
      expect(await context.spent(), `crash before write ${writes}`).to.equal(2 * scans);
      expect(await context.held()).to.equal(0);
      expect(await scan.pods()).to.have.length(1);
      await (successor ?? crashing).stop();
      await context.dropLease().catch(() => undefined);
      if (successor === null) break;
    }
    // A scan takes about fourteen writes. Fewer crashes would mean that the crash simulation does not work.
    expect(crashes).to.be.greaterThan(nightly(2, 10));
  });

  it('does not touch a foreign Job that has its name', async () => {
    const children = createChildren(context.connection);
    const operator = context.start();
    await context.pauseQueue();
    const scan = await context.apply(context.team);
    const indexed = { completionMode: 'Indexed', completions: 1, backoffLimitPerIndex: 0, podReplacementPolicy: 'Failed' };
    const template = {
      spec: { restartPolicy: 'Never', nodeSelector: { 'curbcut.test/stage': 'nowhere' }, containers: [{ name: 'scanner', image: 'x' }] },
    };
    await context.connection.request('POST', context.connection.path({ group: 'batch', version: 'v1', plural: 'jobs' }, context.team), {
      body: { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: `scan-${scan.id}` }, spec: { ...indexed, template } },
    });
    await context.setQueue({ paused: false });
    const failed = await scan.settles();
    expect(failed.status?.message).to.match(/exists and does not belong to this scan/);
    expect(await children.readJob(failed, scan.id, AbortSignal.timeout(30_000))).to.equal(null);
    expect(await scan.job()).not.to.equal(null);
    await operator.stop();
  });
});
