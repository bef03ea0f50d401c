/** Outages during a submission: it gets 503, nothing is charged, and the sweeper can clean up what remains. */
import { expect } from 'chai';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { sweepOnce } from '../support/sweep-once.ts';
import { createScanResources } from '../../stores/submissions/scan-resources.ts';
import { down, outage } from './replica.ts';
import { NAMESPACE } from './stack.ts';
import { useContext, SUBMISSION } from './context.ts';

describe('during an outage, the API', () => {
  const context = useContext({ dependencyTimeoutMs: 1_000 });

  const submit = (key: string, idempotencyKey?: string) =>
    context.request('POST', '/v1/ci/scans', {
      key,
      body: SUBMISSION,
      headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    });
  const pending = () => context.stores.scans.pending(new Date(Date.now() + 1000), 100);
  /** Runs the operator's sweeper as if some minutes had passed. */
  const sweepNow = () => {
    const resources = createScanResources(context.kubernetes, { namespace: NAMESPACE });
    return sweepOnce({ ...context.stores, exists: (row) => resources.exists(row), pendingBefore: new Date(Date.now() + 1000), limit: 100 });
  };
  /** The store call that fails, whether a pending row may stay for the sweeper, and how it fails. */
  const failures: [call: string, rowMayStay: boolean, fault?: () => Promise<never>][] = [
    ['keys.recognise', false],
    ['queueStates.read', false],
    ['idempotency.claim', false],
    ['scans.create', false],
    ['credits.reserve', true],
    ['scanResources.submit', false],
    ['scanResources.submit', false, () => new Promise<never>(() => undefined)],
  ];
  for (const [call, rowMayStay, fault = down] of failures)
    it(`answers 503 and charges nothing if ${call} ${fault === down ? 'fails' : 'does not answer'}`, async () => {
      const { id, key } = await context.organisation({ credits: 5 });
      context.faults.set(call, fault);
      const { status, body, headers, text } = await submit(key, 'k');
      expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'service_unavailable', '5']);
      expect(text).to.not.match(/mongo|secret-host|ECONN|10\.0\.0\.5/i);
      expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0, spent: 0 });
      if (!rowMayStay) expect((await pending()).filter((row) => row.organisation === id)).to.deep.equal([]);

      context.faults.clear();
      expect((await submit(key, 'k')).status, 'the repeated request').to.equal(202);
      await sweepNow();
      expect(await context.stores.credits.balance(id)).to.include({ balance: 0, held: 5 });
      expect((await pending()).filter((row) => row.organisation === id)).to.deep.equal([]);
    });

  it('finds the resource and accepts the scan if every response of Kubernetes is lost', async () => {
    const { key } = await context.organisation({ credits: 5 });
    context.faults.set('scanResources.submit', async (real, ...parameters) => {
      await real(...parameters);
      throw outage();
    });
    const { status, body } = await submit(key);
    expect(status).to.equal(202);
    expect((await context.stores.scans.find(body.scan_id))?.submission).to.equal('accepted');
  });

  it('charges nothing if it cannot find out whether the resource exists', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    context.faults.set('scanResources.submit', async (real, ...parameters) => {
      await real(...parameters);
      throw outage();
    });
    context.faults.set('scanResources.exists', down);
    const { status, body } = await submit(key);
    expect([status, body.detail]).to.deep.equal([503, 'service_unavailable']);
    expect(body.message).to.include('nothing was charged');
    expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0 });
    // The operator ends the resource without running it, because its row is abandoned.
    expect(await context.db.collection('scans').countDocuments({ organisation: id, submission: 'abandoned' })).to.equal(1);
    await sweepNow();
    expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0 });
  });

  it('does not say that nothing was charged if it cannot return the credits, or if the scan may run', async () => {
    for (const end of ['credits.settle', 'scans.abandon']) {
      const { id, key } = await context.organisation({ credits: 5 });
      context.faults.clear();
      context.faults.set('scanResources.submit', async (real, ...parameters) => {
        await real(...parameters);
        throw outage();
      });
      context.faults.set('scanResources.exists', down);
      context.faults.set(end, down);
      const { status, body } = await submit(key);
      expect([end, status, body.detail]).to.deep.equal([end, 503, 'submission_unconfirmed']);
      expect(body.message).to.not.match(/nothing was charged/i);
      expect(await context.stores.credits.balance(id)).to.include({ held: 5 });
    }
  });

  it('answers 202 and charges once if the operator accepts the scan while the API believes that its write failed', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    context.faults.set('scanResources.submit', async (real, row, origin) => {
      await real(row, origin);
      const { id: scanId } = row as { id: string };
      await context.stores.scans.accept(scanId, { pagesReserved: 5 });
      throw outage();
    });
    context.faults.set('scanResources.exists', down);
    const { status, body } = await submit(key, 'k');
    expect([status, body.pages_reserved]).to.deep.equal([202, 5]);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 5 });
  });

  it('answers 500 to a submission that the Kubernetes API rejects, without a retry, a charge or a row', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    context.log.length = 0;
    let tries = 0;
    context.faults.set('scanResources.submit', () => {
      tries += 1;
      return Promise.reject(new KubernetesError(403, 'Forbidden', 'quota exceeded in namespace-of-ours'));
    });
    const { status, text, body } = await submit(key, 'k');
    expect([status, body.detail, tries]).to.deep.equal([500, 'internal_error', 1]);
    expect(text).to.not.include('quota');
    expect(await context.scrape()).to.include('outcome="resource_rejected"} 1');
    expect(context.log.some(({ level, message }) => level === 'error' && message.includes('rejected the resource'))).to.equal(true);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0 });
    expect((await pending()).filter((row) => row.organisation === id)).to.deep.equal([]);
  });

  for (const [code, tries] of [
    [401, 1],
    [429, 3],
  ] as const)
    it(`answers 503 to a submission while the Kubernetes API answers ${code}`, async () => {
      const { id, key } = await context.organisation({ credits: 5 });
      let tried = 0;
      context.faults.set('scanResources.submit', () => {
        tried += 1;
        return Promise.reject(new KubernetesError(code, 'Unknown', 'not now'));
      });
      expect([(await submit(key)).status, tried]).to.deep.equal([503, tries]);
      expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0 });
    });

  it('accepts a scan whose row it cannot mark as accepted; the operator or the sweeper marks it', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    context.faults.set('scans.accept', down);
    const { status, body } = await submit(key);
    expect(status).to.equal(202);
    context.faults.clear();
    expect((await context.request('GET', body.status_url, { key })).status).to.equal(202);
    await sweepNow();
    expect(await context.stores.scans.find(body.scan_id, id)).to.include({ submission: 'accepted', pagesReserved: 5 });
  });

  it('does not accept a scan whose row the sweeper has abandoned', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    context.faults.set('scanResources.submit', async (_real, row) => {
      const { id: scanId } = row as { id: string };
      await context.stores.scans.abandon(scanId);
      await context.stores.credits.settle(id, scanId, 0);
    });
    expect((await submit(key)).status).to.equal(503);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 5, held: 0 });
  });

  it('gets 503 on every other route too, and the metrics name the dependency', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    const row = await context.scan(id);
    const routes: [call: string, method: string, path: string, body?: unknown][] = [
      ['scans.find', 'GET', `/v1/ci/scans/${row.id}`],
      ['credits.balance', 'GET', '/v1/billing/credits'],
      ['keys.issue', 'POST', '/v1/api-keys', { name: 'x' }],
    ];
    for (const [call, method, path, body] of routes) {
      context.faults.clear();
      context.faults.set(call, down);
      const answer = await context.request(method, path, { key, body });
      expect([path, answer.status, answer.body.detail]).to.deep.equal([path, 503, 'service_unavailable']);
    }
    const done = await context.scan(id, { phase: 'done', reports: await context.storeReports('gone', []) });
    context.faults.set('reports.size', down);
    context.faults.delete('scans.find');
    expect((await context.request('GET', `/v1/scans/${done.id}/report`, { key })).status).to.equal(503);
    const text = await context.scrape();
    expect(text).to.match(/curbcut_dependency_failures_total\{dependency="mongodb"\} [1-9]/);
    expect(text).to.match(/curbcut_dependency_failures_total\{dependency="objects"\} 1/);
  });
});
