import { expect } from 'chai';
import { createMirror } from '../../operator/scan/mirror.ts';
import { createSweeper, type SweepResult } from '../../operator/maintenance/sweeper.ts';
import { noMessageBus } from '../../stores/nats.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { openContext, reportKeys, until, type OperatorContext } from './context.ts';

describe('operator: the sweeper', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let reconciled: string[];
  beforeEach(async () => {
    context = await openContext();
    await context.grant(100);
    reconciled = [];
  });
  afterEach(() => context.close());

  /** Sweeps with a clock that is ahead by the given seconds. */
  function sweepIn(seconds: number): Promise<SweepResult> {
    const { connection, stores } = context;
    return createSweeper({
      connection,
      scanClient: { get: () => undefined },
      ...stores,
      reports: context.reports,
      mirror: createMirror({ ...stores, bus: noMessageBus() }),
      reconcileAgain: (scan) => reconciled.push(scan.metadata.name),
      apiNamespace: context.namespace,
      retentionDays: 90,
      pendingForMs: 120_000,
      staleForMs: 300_000,
      logger: silentLogger,
      now: () => new Date(Date.now() + seconds * 1000),
    })();
  }

  /** The row of an API that crashed after reserving credits. */
  async function pendingRow(): Promise<ScanRow> {
    const scan = await context.submit();
    await scan.remove();
    await until('the resource is gone', async () => (await scan.read()) === null);
    return (await scan.row())!;
  }

  it('discards an abandoned submission and releases its credits after the grace period', async () => {
    const row = await pendingRow();
    expect(await sweepIn(0)).to.include({ discarded: 0, settled: 0 });
    expect(await context.held()).to.equal(5);
    expect(await sweepIn(130)).to.include({ discarded: 1, settled: 1, accepted: 0 });
    expect(await context.stores.scans.find(row.id)).to.equal(null);
    expect(await context.held()).to.equal(0);
  });

  it('accepts a pending submission whose resource exists', async () => {
    const scan = await context.submit();
    expect(await sweepIn(130)).to.include({ accepted: 1, discarded: 0 });
    expect((await scan.row())?.submission).to.equal('accepted');
    expect(await context.held()).to.equal(5);
  });

  it('ends a row whose resource is gone and reconciles one whose resource exists', async () => {
    const gone = await context.submit({ thresholds: { minScore: 1 } });
    const there = await context.submit();
    for (const scan of [gone, there]) await context.stores.scans.accept(scan.id);
    await gone.remove();
    await until('the resource is gone', async () => (await gone.read()) === null);
    expect(await sweepIn(290)).to.include({ orphaned: 0 });
    expect(await sweepIn(310)).to.include({ orphaned: 1 });
    expect(await gone.row()).to.include({
      phase: 'failed',
      passed: false,
      message: "The scan's Kubernetes resource was deleted before the scan ended. Nothing was charged.",
    });
    expect((await there.row())?.phase).to.equal('queued');
    expect(reconciled).to.deep.equal([there.name]);
    expect(await context.held()).to.equal(5);
  });

  it('does not mistake another resource of the same name for the one of the row', async () => {
    const scan = await context.apply(context.team);
    await context.stores.scans.create({
      ...(await (await context.submit()).row())!,
      id: 'b51de9e8-0d3e-4b43-9f0a-000000000001',
      origin: 'manifest',
      submission: 'accepted',
      resource: { namespace: context.team, name: scan.name },
    });
    await sweepIn(310);
    expect((await context.stores.scans.find('b51de9e8-0d3e-4b43-9f0a-000000000001'))?.phase).to.equal('failed');
  });

  it('ends no row if the Kubernetes API does not answer', async () => {
    const scan = await context.submit();
    await context.stores.scans.accept(scan.id);
    const { connection } = context;
    const unavailable = {
      ...connection,
      path: connection.path.bind(connection),
      request: () => Promise.reject(new KubernetesError(404, 'NotFound', 'the server could not find the requested resource')),
    } as unknown as typeof connection;
    const real = context.connection;
    context.connection = unavailable;
    const error = await sweepIn(310).then(
      () => null,
      (reason: unknown) => reason,
    );
    context.connection = real;
    expect(error).to.be.an('error');
    expect((await scan.row())?.phase).to.equal('queued');
  });

  it('releases the credits of a scan that has ended', async () => {
    const scan = await context.submit();
    await context.stores.scans.accept(scan.id);
    await context.stores.scans.mirror(scan.id, { phase: 'canceled', finishedAt: new Date() });
    expect(await sweepIn(0)).to.include({ settled: 1 });
    expect(await context.held()).to.equal(0);
  });

  it('deletes only reports whose retention has ended', async () => {
    const operator = context.start();
    const scan = await context.submit();
    const pod = await scan.pod();
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    await scan.settles();
    await operator.stop();
    const keys = reportKeys(scan.id);
    // The upload link of another attempt is still valid after the scan.
    const late = incomingKeys(scan.id, { attempt: 1, shard: 0 }).pdf;
    const link = await context.reports.uploadLink(late, 'application/pdf', 60);
    await fetch(link, { method: 'PUT', body: '%PDF-', headers: { 'content-type': 'application/pdf' } });
    expect(await sweepIn(89 * 86_400)).to.include({ expired: 0 });
    expect(await context.reports.size(keys.pdf)).to.be.greaterThan(0);
    expect(await sweepIn(91 * 86_400)).to.include({ expired: 1 });
    expect(await context.reports.size(keys.pdf)).to.equal(null);
    expect(await context.reports.size(keys.export)).to.equal(null);
    expect(await context.reports.size(late)).to.equal(null);
    expect(await scan.row()).to.equal(null);
  });
});
