import { expect } from 'chai';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { createScanResources, resourceOf } from './scan-resources.ts';
import type { ScanRow } from '../scans/scans.ts';

const row = {
  id: '6f9d6c1e-3d3c-4f0e-9d55-5d0f4a1b2c3d',
  organisation: 'acme',
  resource: { namespace: 'curbcut', name: 'scan-6f9d6c1e-3d3c-4f0e-9d55-5d0f4a1b2c3d' },
  options: {
    url: 'https://example.com/',
    maxPages: 5,
    wcagLevel: 'AA',
    wcagVersion: '2.2',
    thresholds: { minScore: 90 },
    crawl: { include: ['/docs/**'], exclude: [], hashRoutes: 'paths', sitemap: true, respectRobots: true, waitFor: '', settleMs: 0 },
    locale: 'en',
  },
} as unknown as ScanRow;

/** A fake Kubernetes API that responds with the result of `answer`, and records the requests. */
function connectionThat(answer: () => unknown): { connection: KubernetesConnection; asked: unknown[][] } {
  const asked: unknown[][] = [];
  const connection = {
    path: (type: { plural: string }, namespace: string, name?: string) => [type.plural, namespace, name].filter(Boolean).join('/'),
    request: (method: string, path: string, options?: { body?: unknown; query?: unknown }) => {
      asked.push([method, path, options?.body ?? options?.query ?? null]);
      return new Promise((resolve) => resolve(answer()));
    },
  } as unknown as KubernetesConnection;
  return { connection, asked };
}

const refusal = (code: number, reason: string) => () => {
  throw new KubernetesError(code, reason, reason);
};

describe('scan resources', () => {
  it('builds the resource from the row', () => {
    expect(resourceOf(row)).to.deep.equal({
      apiVersion: 'curbcut.dev/v1',
      kind: 'AccessibilityScan',
      metadata: {
        name: row.resource.name,
        namespace: 'curbcut',
        finalizers: ['curbcut.dev/settle'],
        labels: { 'curbcut.dev/scan-id': row.id, 'curbcut.dev/organisation': 'acme' },
        annotations: { 'curbcut.dev/scan-id': row.id },
      },
      spec: { ...row.options, class: 'curbcut', ttlSecondsAfterFinished: 3600 },
    });
  });

  it('leaves out thresholds without a value, which the custom resource definition rejects', () => {
    const { spec } = resourceOf({ ...row, options: { ...row.options, thresholds: {} } });
    expect(spec).to.not.have.property('thresholds');
  });

  it('names the queue of the row, if it has one', () => {
    expect(resourceOf({ ...row, queue: 'public' }).spec).to.have.property('queue', 'public');
    expect(resourceOf(row).spec).to.not.have.property('queue');
  });

  it('creates the resource with the operator class of the installation', async () => {
    const { connection, asked } = connectionThat(() => ({}));
    await createScanResources(connection, { namespace: 'curbcut', operatorClass: 'staging' }).submit(row);
    expect(asked[0]![2]).to.have.nested.property('spec.class', 'staging');
  });

  it('creates the resource in the row’s namespace, and accepts that it already exists', async () => {
    const fresh = connectionThat(() => ({}));
    await createScanResources(fresh.connection, { namespace: 'curbcut' }).submit(row);
    expect(fresh.asked).to.deep.equal([['POST', 'accessibilityscans/curbcut', resourceOf(row)]]);
    await createScanResources(connectionThat(refusal(409, 'AlreadyExists')).connection, { namespace: 'curbcut' }).submit(row);
  });

  it('throws every other refusal', async () => {
    const { connection } = connectionThat(refusal(422, 'Invalid'));
    const error = await createScanResources(connection, { namespace: 'curbcut' })
      .submit(row)
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(KubernetesError);
  });

  it('distinguishes a missing scan from a missing custom resource definition', async () => {
    const existence = (answer: () => unknown) =>
      createScanResources(connectionThat(answer).connection, { namespace: 'curbcut' }).exists(row);
    expect(await existence(() => ({}))).to.equal(true);
    expect(await existence(refusal(404, 'NotFound'))).to.equal(false);
    const error = await existence(refusal(404, 'Unknown')).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(KubernetesError);
  });

  it('requests at most one scan to check the connection', async () => {
    const { connection, asked } = connectionThat(() => ({}));
    await createScanResources(connection, { namespace: 'curbcut' }).ping();
    expect(asked).to.deep.equal([['GET', 'accessibilityscans/curbcut', { limit: 1 }]]);
  });
});
