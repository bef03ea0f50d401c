/** Scans as people and GitOps tools handle them: with a real kubectl, and by their conditions. */
import { expect } from 'chai';
import { systemClock } from '../../platform/clock.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { kubectlIn, type Kubectl } from '../support/kubectl.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { NOWHERE, ORGANISATION, useContext, reasonOf, TARGET, until, type Scan } from './context.ts';

const DAY_MS = 86_400_000;

describe('operator: a scan in kubectl', function () {
  this.timeout(240_000);
  const context = useContext();
  let kubectl: Kubectl;
  before(async () => {
    kubectl = kubectlIn(context.kubeconfig, context.team);
    await context.grant(1000);
  });
  afterEach(() => context.rest());
  afterEach(async () => {
    expect(await context.held(), 'held credits').to.equal(0);
  });

  async function finish(scan: Scan): Promise<AccessibilityScan> {
    await scan.publish(await scan.upload(await scan.pod(), bytesOf(reportOf(await scan.input()))));
    return scan.settles();
  }
  const patch = (scan: Scan, spec: object) => kubectl(['patch', 'a11y', scan.name, '--type=merge', '-p', JSON.stringify({ spec })]);

  it('is printed with the reason why it waits, failed or is done', async () => {
    context.start();
    await context.pauseQueue();
    const waiting = await context.apply(context.team);
    const failed = await context.apply(context.team, { url: 'http://127.0.0.1/' });
    await waiting.reaches('waiting', (read) => reasonOf(read, 'Admitted') === 'QueuePaused');
    await failed.settles();
    const cells = async (scan: Scan) => {
      const [head, row] = (await kubectl(['get', 'a11y', scan.name])).trimEnd().split('\n');
      const names = head!.match(/\S+/g)!;
      expect(names.slice(-3)).to.deep.equal(['READY', 'REASON', 'AGE']);
      return [names.indexOf('PHASE'), -3, -2].map((at) => row!.trim().split(/\s+/).at(at));
    };
    expect(await cells(waiting)).to.deep.equal(['queued', 'Unknown', 'QueuePaused']);
    expect(await cells(failed)).to.deep.equal(['failed', 'False', 'TargetRefused']);
    await context.setQueue({ paused: false });
    const done = await finish(waiting);
    expect(done.status?.phase).to.equal('done');
    expect(await cells(waiting)).to.deep.equal(['done', 'True', 'Done']);
  });

  it('can be selected by phase, organisation and queue', async () => {
    context.start();
    const canceled = await context.apply(context.team, { cancel: true });
    await canceled.settles();
    const running = await context.apply(context.team);
    await running.pod();
    const names = async (selector: string) =>
      (await kubectl(['get', 'a11y', '-o', 'name', '--field-selector', selector])).split('\n').map((line) => line.split('/')[1]);
    const organisation = `status.organisation=${ORGANISATION}`;
    expect(await names('status.phase=canceled'))
      .to.include(canceled.name)
      .and.not.include(running.name);
    expect(await names(`status.phase=queued,${organisation},spec.queue=default`))
      .to.include(running.name)
      .and.not.include(canceled.name);
    expect(await names('spec.queue=other')).to.not.include(running.name);
    await patch(running, { cancel: true });
    await running.settles();
  });

  it('is not scanned or charged again when Git applies its manifest long after its end', async () => {
    const operator = context.start();
    const metadata = { name: 'from-git', namespace: context.team };
    const manifest = { apiVersion: 'curbcut.dev/v1', kind: 'AccessibilityScan', metadata, spec: { url: TARGET, podTemplate: NOWHERE } };
    const apply = async () => JSON.parse(await kubectl(['apply', '-f', '-', '-o', 'json'], manifest)) as AccessibilityScan;
    const scan = context.simulate(await apply());
    const { metadata: ended } = await finish(scan);
    const submitted = await context.submit({ ttlSecondsAfterFinished: 3600 });
    await finish(submitted);
    const spent = await context.spent();
    await operator.stop();

    // Two years later the API's resource is deleted, and both results are beyond their retention.
    let days = 730;
    const clock = { ...systemClock, now: () => new Date(Date.now() + days * DAY_MS) };
    const later = context.start({ sweepEveryMs: 100, maxEndedPerOrganisation: 0 }, { clock });
    await until("the API's resource is deleted", async () => (await submitted.read()) === null);
    // Reports are removed again some time later, and rows after that.
    await until('its row is deleted', async () => {
      days += 1;
      return (await scan.row()) === null;
    });
    const again = await apply();
    expect(again.metadata).to.include({ uid: ended.uid, resourceVersion: ended.resourceVersion, generation: 1 });
    expect(again.status?.phase).to.equal('done');
    // Another scan shows that the operator has caught up with the apply.
    await (await context.apply(context.strangers)).settles();
    expect(await context.spent()).to.equal(spent);
    expect((await scan.read())!.metadata.resourceVersion).to.equal(ended.resourceVersion);
    await later.stop();
  });
});
