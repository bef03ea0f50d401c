/** Canceling over HTTP: what is written to the custom resource, repeated requests, refusals and outages. */
import { expect } from 'chai';
import { GROUP, SCANS_PLURAL, VERSION, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { down } from './replica.ts';
import { HIGH_LIMITS, useContext, SUBMISSION } from './context.ts';
import { NAMESPACE } from './stack.ts';

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

describe('POST /v1/ci/scans/{scan_id}/cancel', () => {
  const context = useContext({
    dependencyTimeoutMs: 1_000,
    limits: HIGH_LIMITS,
  });

  const pathOf = (scanId: string, ...more: string[]) => context.kubernetes.path(SCANS, NAMESPACE, `scan-${scanId}`, ...more);
  const resourceOf = (scanId: string) => context.kubernetes.request<AccessibilityScan>('GET', pathOf(scanId));
  const cancel = (scanId: string, key: string) => context.request('POST', `/v1/ci/scans/${scanId}/cancel`, { key });
  /** Submits a scan of an organisation of its own. */
  const submitted = async () => {
    const { id: organisation, key } = await context.organisation({ credits: 5 });
    const { body } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    return { organisation, key, scanId: body.scan_id as string };
  };

  it('answers 202 with the scan, and sets spec.cancel on its resource', async () => {
    const { key, scanId } = await submitted();
    context.calls.length = 0;
    const { status, headers, body } = await cancel(scanId.toUpperCase(), key);
    expect([status, headers.get('retry-after')]).to.deep.equal([202, '5']);
    expect(body).to.deep.include({ scan_id: scanId, status: 'queued', passed: null });
    expect((await resourceOf(scanId)).spec.cancel).to.equal(true);
    expect(context.calls.filter((call) => /^(scans|scanResources|credits)\./.test(call))).to.deep.equal([
      'scanResources.cancel',
      'scans.markCanceling',
    ]);
  });

  it('answers a repeated request in the same way until the scan has ended, without another change of the resource', async () => {
    const { key, scanId } = await submitted();
    const first = await cancel(scanId, key);
    const { resourceVersion } = (await resourceOf(scanId)).metadata;
    const second = await cancel(scanId, key);
    expect([second.status, second.text]).to.deep.equal([202, first.text]);
    expect((await resourceOf(scanId)).metadata.resourceVersion).to.equal(resourceVersion);
    await context.stores.scans.mirror(scanId, { phase: 'canceled', finishedAt: new Date() });
    expect((await cancel(scanId, key)).body.detail).to.equal('scan_already_ended');
  });

  it('answers 409 if the scan has ended, without a request to Kubernetes', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'done' });
    context.calls.length = 0;
    const { status, body, headers } = await cancel(row.id, key);
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([409, 'scan_already_ended', null]);
    expect(context.calls).to.not.include('scanResources.cancel');
  });

  it('answers 409 if the resource has ended before its row', async () => {
    const { key, scanId } = await submitted();
    await context.kubernetes.request('PATCH', pathOf(scanId, 'status'), {
      contentType: 'application/merge-patch+json',
      body: { status: { phase: 'done' } },
    });
    const { status, body } = await cancel(scanId, key);
    expect([status, body.detail]).to.deep.equal([409, 'scan_already_ended']);
  });

  it('answers 409 to a scan from a manifest, which is canceled in the cluster', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { origin: 'manifest', resource: { namespace: 'team', name: 'shop' } });
    context.calls.length = 0;
    const { status, body } = await cancel(row.id, key);
    expect([status, body.detail]).to.deep.equal([409, 'scan_managed_by_manifest']);
    expect(body.message).to.include('spec.cancel');
    expect(context.calls).to.not.include('scanResources.cancel');
  });

  it('answers 503 while the resource of a submission in progress does not exist yet', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { submission: 'pending' });
    const { status, body, headers } = await cancel(row.id, key);
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'service_unavailable', '5']);
    expect(body.message).to.include('not canceled').and.not.include('down');
  });

  it('answers 202 if the resource of an accepted scan is gone: the sweeper ends the scan', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'scanning' });
    const { status, body } = await cancel(row.id, key);
    expect([status, body.status]).to.deep.equal([202, 'scanning']);
  });

  it('answers 503 if Kubernetes is down, and cancels the scan on the next request', async () => {
    const { key, scanId } = await submitted();
    context.faults.set('scanResources.cancel', down);
    const { status, body, headers } = await cancel(scanId, key);
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'service_unavailable', '5']);
    context.faults.clear();
    expect((await cancel(scanId, key)).status).to.equal(202);
    expect((await resourceOf(scanId)).spec.cancel).to.equal(true);
  });

  for (const [what, error] of [
    ['the change conflicts with others', new KubernetesError(409, 'Conflict', 'the object has been modified')],
    ['the custom resource definition is missing', new KubernetesError(404, 'Unknown', '404 page not found')],
  ] as const)
    it(`answers 503 if ${what}, because a retry can help`, async () => {
      const { key, scanId } = await submitted();
      context.faults.set('scanResources.cancel', () => Promise.reject(error));
      const { status, body, headers } = await cancel(scanId, key);
      expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'service_unavailable', '5']);
    });

  it('answers 500 if Kubernetes refuses the change, because a retry does not help', async () => {
    const { key, scanId } = await submitted();
    context.faults.set('scanResources.cancel', () =>
      Promise.reject(new KubernetesError(403, 'Forbidden', 'no patch for service account x')),
    );
    const { status, text } = await cancel(scanId, key);
    expect(status).to.equal(500);
    expect(text).to.not.include('service account');
    expect(await context.metrics.registry.metrics()).to.include('curbcut_cancellations_total{outcome="resource_rejected"} 1');
  });
});
