import type { ScheduleRegression } from '../../core/webhooks/webhooks.ts';
import { expect } from 'chai';
import { systemClock } from '../../platform/clock.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import type { Logger } from '../../platform/logger.ts';
import { createResourceClient } from '../../operator/runtime/resource-client.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { createChildren } from '../../operator/scan/launch/children.ts';
import type { OperatorSettings } from '../../operator/config.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { SweepResult } from '../../operator/maintenance/sweep.ts';
import { runSweep } from '../../operator/maintenance/sweeper.ts';
import { noMessageBus } from '../../stores/nats.ts';
import { contextOf } from '../support/operator-context.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { AllStores } from '../../stores/stores.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { incomingKeys, type Reports } from '../../stores/reports.ts';
import { useContext, reasonOf, reportKeys, until, type Scan } from './context.ts';

type Watched = Pick<OperatorSettings, 'watchNamespaces' | 'operatorClass'>;
type SweepOverrides = Partial<Pick<AllStores, 'scans' | 'credits'>> & {
  connection?: KubernetesConnection;
  reports?: Reports;
  signal?: AbortSignal;
  watched?: Watched;
  logger?: Logger;
};

/** Writes scans of which the cache holds none. */
const uncached = (connection: KubernetesConnection) =>
  createResourceClient<AccessibilityScan>({
    connection,
    resource: SCANS,
    cache: { get: () => undefined, list: () => [], byIndex: () => [], onChange: () => () => undefined },
  });

describe('operator: the sweeper', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  let reconciled: string[];
  let ends: string[];
  beforeEach(async () => {
    await context.grant(100);
    reconciled = [];
    ends = [];
  });

  /** The context's connection, with another answer to requests that contain `part` in their path. */
  function answering(part: string, answer: () => Promise<never>): KubernetesConnection {
    const { connection } = context;
    return {
      ...connection,
      path: connection.path.bind(connection),
      request: ((method, path, options) =>
        path.includes(part) ? answer() : connection.request(method, path, options)) as KubernetesConnection['request'],
    };
  }

  /** Sweeps with a clock that is ahead by the given seconds. */
  function sweepIn(
    seconds: number,
    {
      connection = context.connection,
      reports = context.reports,
      signal = new AbortController().signal,
      watched = { watchNamespaces: [], operatorClass: 'curbcut' },
      logger = silentLogger,
      ...replaced
    }: SweepOverrides = {},
  ): Promise<SweepResult> {
    const stores = { ...context.stores, ...replaced };
    const sweeps = contextOf({
      connection,
      scanClient: uncached(connection),
      children: createChildren(connection),
      metrics: { ended: (_phase, reason) => void ends.push(reason) },
      stores,
      reports,
      bus: noMessageBus(),
      settings: { namespace: context.namespace, retentionDays: 90, verdictDays: 400, ...watched },
      logger,
      clock: { ...systemClock, now: () => new Date(Date.now() + seconds * 1000) },
    });
    return runSweep(sweeps, { reconcileAgain: (scan) => reconciled.push(scan.metadata.name) }, signal);
  }

  /** Deletes a resource without an operator to settle it. */
  async function removeByForce(scan: Scan): Promise<void> {
    await scan.patch({ metadata: { finalizers: [] } });
    await scan.remove();
    await until('the resource is gone', async () => (await scan.read()) === null);
  }

  /** The row of an API that crashed after reserving credits. */
  async function pendingRow(): Promise<ScanRow> {
    const scan = await context.submit();
    await removeByForce(scan);
    return (await scan.row())!;
  }

  it('abandons a submission without a resource and releases its credits after the grace period', async () => {
    const row = await pendingRow();
    expect(await sweepIn(0)).to.include({ abandoned: 0, settled: 0 });
    expect(await context.held()).to.equal(5);
    expect(await sweepIn(130)).to.include({ abandoned: 1, settled: 1, accepted: 0 });
    expect((await context.stores.scans.find(row.id))?.submission).to.equal('abandoned');
    expect(await context.held()).to.equal(0);
  });

  it('releases the credits of an abandoned submission, and removes its row when no repeated request can name it', async () => {
    const row = await pendingRow();
    // The API abandoned it and crashed before it released the credits.
    await context.stores.scans.abandon(row.id);
    expect(await sweepIn(24 * 3600)).to.include({ abandoned: 0, settled: 1, removed: 0 });
    expect(await context.held()).to.equal(0);
    expect(await sweepIn(26 * 3600)).to.include({ settled: 0, removed: 1 });
    expect(await context.stores.scans.find(row.id)).to.equal(null);
  });

  it('accepts a pending submission whose resource exists', async () => {
    const scan = await context.submit();
    expect(await sweepIn(130)).to.include({ accepted: 1, abandoned: 0 });
    expect(await scan.row()).to.include({ submission: 'accepted', pagesReserved: 5 });
    expect(await context.held()).to.equal(5);
  });

  it('ends a row whose resource is gone and reconciles one whose resource exists', async () => {
    const gone = await context.submit({ thresholds: { minScore: 1 } });
    const there = await context.submit();
    for (const scan of [gone, there]) await context.stores.scans.accept(scan.id, { pagesReserved: 5 });
    await removeByForce(gone);
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

  describe('of a scan that is not watched any more', () => {
    /** A scan of the team with a Job, whose operator is gone. */
    async function launched(): Promise<Scan> {
      const operator = context.start();
      const scan = await context.apply(context.team, { thresholds: { minScore: 1 } });
      await scan.pod();
      await scan.reaches('launched', ({ status }) => status?.jobName !== undefined);
      await operator.stop();
      return scan;
    }
    const elsewhere = (): Watched => ({ watchNamespaces: [context.namespace], operatorClass: 'curbcut' });
    const forbidden = (): Promise<never> => Promise.reject(new KubernetesError(403, 'Forbidden', 'accessibilityscans is forbidden'));

    it('ends the scan and leaves no credits, no finalizer and no Job', async () => {
      const scan = await launched();
      expect(await sweepIn(310, { watched: elsewhere() })).to.include({ orphaned: 1, failed: 0, unreadable: 0 });
      const ended = (await scan.read())!;
      expect(ended.status).to.include({ phase: 'failed', passed: false });
      expect(reasonOf(ended, 'Succeeded')).to.equal('NotWatched');
      expect(ends).to.deep.equal(['NotWatched']);
      expect(ended.metadata.finalizers ?? []).to.deep.equal([]);
      expect(await scan.row()).to.include({ phase: 'failed', passed: false, message: ended.status!.message });
      expect([await context.held(), await context.spent()]).to.deep.equal([0, 0]);
      await until('the Job is gone', async () => (await scan.job()) === null);
      expect(reconciled).to.deep.equal([]);
    });

    it('releases the credits of one that it may not read, and names the command that removes its finalizer', async () => {
      const scan = await launched();
      const logger = createFakeLogger();
      const connection = answering(`/${scan.name}`, forbidden);
      expect(await sweepIn(310, { connection, logger }), 'while it is watched').to.include({ orphaned: 0, unreadable: 1 });
      expect(await sweepIn(310, { connection, logger, watched: elsewhere() })).to.include({ orphaned: 1, unreadable: 0 });
      expect(await scan.row()).to.include({ phase: 'failed' });
      expect(await context.held()).to.equal(0);
      expect(JSON.stringify(logger.lines)).to.contain(`kubectl -n ${context.team} patch accessibilityscan ${scan.name}`);
    });
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
    await context.stores.scans.accept(scan.id, { pagesReserved: 5 });
    // The answer of an API server without the custom resource definition.
    const connection = answering(scan.name, () => Promise.reject(new KubernetesError(404, 'NotFound', 'the server could not find it')));
    expect(await sweepIn(310, { connection })).to.include({ orphaned: 0, failed: 1 });
    expect((await scan.row())?.phase).to.equal('queued');
  });

  it('repairs every other row and ends retention although one row is in an unreadable namespace', async () => {
    const operator = context.start();
    const old = await context.submit();
    await old.patch({ spec: { cancel: true } });
    await old.settles();
    await operator.stop();
    const unreadable = await context.apply(context.team);
    await context.stores.scans.create({
      ...(await (await context.submit()).row())!,
      id: unreadable.id,
      origin: 'manifest',
      submission: 'accepted',
      resource: { namespace: context.team, name: unreadable.name },
      createdAt: new Date(0),
    });
    const gone = await pendingRow();
    await context.stores.scans.accept(gone.id, { pagesReserved: 5 });
    const connection = answering(context.team, () => Promise.reject(new KubernetesError(403, 'Forbidden', 'forbidden')));
    const day = 86_400;
    expect(await sweepIn(91 * day, { connection })).to.include({ unreadable: 1, failed: 0, orphaned: 1, expired: 1 });
    expect((await old.row())?.phase).to.equal('canceled');
    expect((await unreadable.row())?.phase).to.equal('queued');
    expect((await context.stores.scans.find(gone.id))?.phase).to.equal('failed');
  });

  it('ends retention although the ledger cannot be read', async () => {
    const scan = await context.submit();
    await context.stores.scans.accept(scan.id, { pagesReserved: 5 });
    await context.stores.scans.mirror(scan.id, { phase: 'canceled', finishedAt: new Date() });
    const credits = { ...context.stores.credits, relay: () => Promise.reject(new Error('the ledger is down')) };
    for (const days of [91, 401]) {
      const error = await sweepIn(days * 86_400, { credits }).catch((reason: unknown) => reason);
      expect(error).to.be.an('error').with.property('message', 'the ledger is down');
    }
    expect(await scan.row()).to.equal(null);
  });

  it('writes nothing after its replica has lost the lease', async () => {
    const lost = new AbortController();
    const row = await pendingRow();
    const scan = await context.submit();
    await context.stores.scans.accept(scan.id, { pagesReserved: 5 });
    await context.stores.scans.mirror(scan.id, { phase: 'canceled', finishedAt: new Date() });
    const connection = answering(row.resource.name, () => {
      lost.abort(new Error('lost lease'));
      return Promise.reject(new KubernetesError(404, 'NotFound', `${row.resource.name} not found`));
    });
    const error = await sweepIn(91 * 86_400, { connection, signal: lost.signal }).catch((reason: unknown) => reason);
    expect(error).to.be.an('error').with.property('message', 'lost lease');
    expect((await context.stores.scans.find(row.id))?.submission).to.equal('pending');
    expect(await scan.row()).not.to.equal(null);
    expect(await context.held()).to.equal(10);
  });

  /** A scan that has ended and has a PDF. */
  async function endedWithReport(): Promise<Scan> {
    const scan = await context.submit();
    await context.stores.scans.accept(scan.id, { pagesReserved: 5 });
    await context.stores.scans.mirror(scan.id, { phase: 'canceled', finishedAt: new Date() });
    await put(reportKeys(scan.id).pdf);
    return scan;
  }
  const put = async (key: string) => {
    const link = await context.reports.uploadLink(key, 'application/pdf', 60);
    await fetch(link, { method: 'PUT', body: '%PDF-', headers: { 'content-type': 'application/pdf' } });
    expect(await context.reports.size(key)).to.be.greaterThan(0);
  };

  it('deletes the reports of a purged organisation at once, and with the rows what a conversion wrote meanwhile', async () => {
    const scan = await endedWithReport();
    const { pdf, sarif } = reportKeys(scan.id);
    const delivery = { webhook: 'w', organisation: 'acme', event: `scan.completed:${scan.id}`, type: 'scan.completed', order: 0 } as const;
    const [stored] = await context.stores.deliveries.enqueue([{ ...delivery, scan: scan.id, body: 'https://example.com/' }]);
    const { knownIssues } = context.stores;
    const issue = { site: 'example.com', fingerprint: '0123456789abcdef', reason: 'Known', owner: 'team', createdBy: 'ann@example.com' };
    const now = new Date();
    await knownIssues.add({ ...issue, organisation: 'acme', expiresAt: new Date(Date.now() + 86_400_000), createdAt: now });
    expect(await knownIssues.choose(scan.id, 'acme', [issue.site], now)).to.not.equal(undefined);
    const row = (await scan.row())!;
    await context.stores.sites.record([row]);
    const data = { scanId: scan.id, url: 'https://secret.example/' } as unknown as ScheduleRegression;
    await context.stores.webhookEvents.add({ scan: scan.id, organisation: row.organisation, at: now, data });
    const key = { organisation: 'acme', key: 'k', fingerprint: 'f', resourceId: 'r', leaseSeconds: 60 };
    const claimed = await context.stores.idempotency.claim(key);
    if (claimed.ok) await context.stores.idempotency.complete(claimed.claim, { status: 202, headers: {}, body: 'x', scan: scan.id });
    await context.stores.scans.eraseAll(row.organisation);
    expect(await sweepIn(1)).to.include({ erased: 1, failed: 0 });
    expect(await context.db.collection('idempotency').countDocuments({ 'repetition.scan': scan.id })).to.equal(0);
    expect((await context.stores.sites.of(row.organisation, row.site)).groups, 'after a crash of the deletion').to.deep.equal([]);
    expect(JSON.stringify(await context.db.collection('webhook_events').find().toArray())).to.not.include('secret.example');
    expect(await knownIssues.chosenFor(scan.id)).to.equal(undefined);
    expect(await context.reports.size(pdf)).to.equal(null);
    expect(await context.stores.deliveries.find('acme', 'w', stored!.id)).to.equal(null);
    await put(sarif);
    expect(await sweepIn(1_800)).to.include({ erased: 0 });
    expect(await scan.row(), 'remembers the scan until nothing can be under way').to.not.equal(null);
    expect(await sweepIn(24 * 3_600), 'a repeated submission is answered').to.include({ erased: 0 });
    expect(await scan.row()).to.not.equal(null);
    expect(await sweepIn(26 * 3_600)).to.include({ failed: 0 });
    expect([await context.reports.size(sarif), await scan.row()]).to.deep.equal([null, null]);
  });

  it('deletes what a conversion wrote after the end of retention', async () => {
    const scan = await endedWithReport();
    const { sarif } = reportKeys(scan.id);
    expect(await sweepIn(91 * 86_400)).to.include({ expired: 1 });
    await put(sarif);
    expect(await sweepIn(92 * 86_400)).to.include({ expired: 0, failed: 0 });
    expect(await context.reports.size(sarif)).to.equal(null);
    expect(await context.stores.scans.removable({ before: new Date(), now: new Date(Date.now() + 1e11), limit: 9 })).to.deep.equal([]);
  });

  it('deletes reports when their retention has ended, and later the row with the verdict', async () => {
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
    expect(await context.reports.size(keys.findings)).to.be.greaterThan(0);
    expect(await context.reports.readView(scan.id)).to.include({ view_version: 1, pages_total: 2 });
    const cache = context.stores.comparisonCache;
    await cache.store('acme', 'earlier', scan.id, { ok: false, reason: 'not_comparable' }, new Date());
    expect(await sweepIn(91 * 86_400)).to.include({ expired: 1 });
    expect(await context.reports.size(keys.pdf)).to.equal(null);
    expect(await context.reports.size(keys.export)).to.equal(null);
    expect(await context.reports.size(keys.findings)).to.equal(null);
    expect(await context.reports.readView(scan.id)).to.equal(null);
    expect(await cache.find('acme', 'earlier', scan.id)).to.equal(null);
    expect(await context.reports.size(late)).to.equal(null);
    expect(await scan.row()).to.deep.include({ phase: 'done', reports: null });
    expect((await scan.row())!.outcome).to.not.equal(null);
    const { organisation, site } = (await scan.row())!;
    await context.stores.sites.record([(await scan.row())!]);
    expect(await sweepIn(399 * 86_400)).to.include({ expired: 0, forgotten: 0 });
    expect((await context.stores.sites.of(organisation, site)).groups).to.have.length(1);
    expect(await sweepIn(401 * 86_400)).to.include({ expired: 0, forgotten: 1 });
    expect(await scan.row()).to.equal(null);
    expect((await context.stores.sites.of(organisation, site)).groups).to.deep.equal([]);
  });

  it('deletes the uploads of ended scans, and of unknown ones only when no other installation can need them', async () => {
    const operator = context.start();
    const [ended, live] = [await context.submit(), await context.submit()];
    for (const scan of [ended, live]) await scan.upload(await scan.pod(), bytesOf(reportOf(await scan.input())));
    await ended.patch({ spec: { cancel: true } });
    await ended.settles();
    await operator.stop();
    // The operator deletes uploads after the end. A late one arrives afterwards.
    const slot = { attempt: 1, shard: 0 };
    const unknown = 'b51de9e8-0d3e-4b43-9f0a-000000000002';
    for (const id of [ended.id, unknown]) {
      const link = await context.reports.uploadLink(incomingKeys(id, slot).pdf, 'application/pdf', 60);
      await fetch(link, { method: 'PUT', body: '%PDF-', headers: { 'content-type': 'application/pdf' } });
    }
    const uploads = async () => (await context.reports.uploads()).map(({ scanId }) => scanId).toSorted();
    const hour = 3_600;
    expect(await sweepIn(0.9 * hour)).to.include({ uploads: 0 });
    expect(await uploads()).to.deep.equal([ended.id, live.id, unknown].toSorted());
    expect(await sweepIn(1.1 * hour)).to.include({ uploads: 1 });
    expect(await uploads()).to.deep.equal([live.id, unknown].toSorted());
    expect(await sweepIn(7 * 24 * hour)).to.include({ uploads: 0 });
    expect(await sweepIn(9 * 24 * hour)).to.include({ uploads: 1 });
    expect(await uploads()).to.deep.equal([live.id]);
  });
});
