/** The operator and the API decide about the same submission: the first decision holds, and the credits follow it. */
import { expect } from 'chai';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, useContext, reasonOf, until, type Scan } from './context.ts';

describe('operator: submissions that the API has not decided', function () {
  this.timeout(240_000);
  const metrics = createOperatorMetrics();
  const context = useContext();
  before(() => context.grant(100));
  afterEach(() => context.rest());

  async function complete(scan: Scan): Promise<void> {
    const pod = await scan.pod();
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    expect((await scan.settles()).status?.phase).to.equal('done');
  }

  it('are accepted with their reserved pages; the API cannot abandon them any more, and they are charged once', async () => {
    const spent = await context.spent();
    context.start();
    // The API believes that the write of the resource failed.
    const scan = await context.submit();
    await until('the operator accepted it', async () => (await scan.row())?.submission === 'accepted');
    const late = await context.stores.scans.abandon(scan.id);
    expect(late).to.deep.include({ ok: false, reason: 'accepted' });
    expect(await scan.row()).to.include({ pagesReserved: 5 });
    await complete(scan);
    expect((await context.spent()) - spent).to.equal(2);
    expect(await context.held()).to.equal(0);
  });

  it('end without running if the API abandoned them first, also before it returned the credits', async () => {
    const scan = await context.submit();
    expect(await context.stores.scans.abandon(scan.id)).to.deep.include({ ok: true, won: true });
    context.start();
    const ended = await scan.settles();
    expect(reasonOf(ended, 'Succeeded')).to.equal('SubmissionAbandoned');
    expect(await scan.job()).to.equal(null);
    expect((await scan.row())?.submission).to.equal('abandoned');
    expect(await context.held()).to.equal(0);
  });

  it('are accepted also if they are deleted first: a caller that got its ID finds it, and a repeated request starts no other', async () => {
    const scan = await context.submit();
    await scan.remove();
    context.start();
    await until('the end', async () => (await scan.row())?.phase === 'canceled');
    expect(await scan.row()).to.include({ submission: 'accepted', pagesReserved: 5 });
    expect(await context.held()).to.equal(0);
  });

  it('raise a metric and an Event if a scan completes without credits to charge', async () => {
    context.start({}, { metrics });
    const scan = await context.submit();
    await scan.pod();
    expect(await metrics.registry.metrics()).to.match(/^curbcut_scans_uncharged_total 0$/m);
    await context.stores.credits.settle(ORGANISATION, scan.id, 0);
    const pod = (await scan.pods())[0]!;
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    expect((await scan.settles()).status?.phase).to.equal('done');
    await until('the Event', async () => (await scan.events()).includes('NotCharged'));
    expect(await metrics.registry.metrics()).to.match(/^curbcut_scans_uncharged_total 1$/m);
  });
});
