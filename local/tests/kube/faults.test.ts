/** The faults that tests turn on in the embedded Kubernetes, beside the answers of a real server. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { clientOf } from './client.ts';
import { openEmbedded, type Embedded } from './targets.ts';

const NAMESPACE = `faults-${randomUUID().slice(0, 8)}`;
const OPERATOR = 'system:serviceaccount:curbcut:curbcut-operator';
const pathOf = (namespace: string): string => `/apis/batch/v1/namespaces/${namespace}/jobs`;

describe('faults of the embedded Kubernetes', () => {
  let embedded: Embedded;
  before(async () => {
    embedded = await openEmbedded(NAMESPACE);
  });
  afterEach(() => Object.assign(embedded.kube.faults, { denied: [], hangingWebhook: null }));
  after(() => embedded.close());

  const REFUSED: [method: string, verb: string, name: string][] = [
    ['POST', 'create', ''],
    ['GET', 'list', ''],
    ['GET', 'get', 'a'],
    ['DELETE', 'delete', 'a'],
  ];
  for (const [method, verb, name] of REFUSED) {
    const sentence =
      `jobs.batch${name === '' ? '' : ` "${name}"`} is forbidden: ` +
      `User "${OPERATOR}" cannot ${verb} resource "jobs" in API group "batch" in the namespace "${NAMESPACE}"`;
    const details = { ...(name === '' ? {} : { name }), group: 'batch', kind: 'jobs' };
    const sent = method === 'GET' ? undefined : {};
    const path = `${pathOf(NAMESPACE)}${name === '' ? '' : `/${name}`}`;

    it(`refuse ${verb} with the sentence of RBAC, and nothing else`, async () => {
      embedded.kube.faults.denied.push({ verb, resource: 'jobs', namespace: NAMESPACE });
      const { code, body } = await embedded.client.call(method, path, sent);
      expect({ code, ...body }).to.deep.include({ code: 403, reason: 'Forbidden', message: sentence, details });
      expect((await embedded.client.call(method, path.replace(NAMESPACE, 'default'), sent)).code).to.not.equal(403);
    });

    const kubeconfig = process.env['KUBECONFIG'];
    if (kubeconfig !== undefined)
      it(`refuse ${verb} as a real server does`, async () => {
        const real = clientOf(kubeconfig);
        const { code, body } = await real.call(method, path, sent, { as: OPERATOR });
        real.close();
        expect({ code, ...body }).to.deep.include({ code: 403, reason: 'Forbidden', message: sentence, details });
      });
  }

  it('hold writes in one namespace as long as an admission webhook that never answers', async () => {
    embedded.kube.faults.hangingWebhook = { name: 'policy.example.com', namespace: NAMESPACE, timeoutMs: 200 };
    const mapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
    const create = (namespace: string) => embedded.client.call('POST', mapsOf(namespace), { metadata: { name: 'held' } });
    const started = performance.now();
    const held = create(NAMESPACE);
    expect((await create('default')).code).to.equal(201);
    expect((await embedded.client.call('GET', mapsOf(NAMESPACE))).body['items']).to.deep.equal([]);
    const { code, body } = await held;
    expect(performance.now() - started).to.be.at.least(190);
    expect(code).to.equal(500);
    expect(body).to.include({ reason: 'InternalError' });
    expect(body['message']).to.match(
      /^Internal error occurred: failed calling webhook "policy\.example\.com": failed to call webhook: Post "\S+": context deadline exceeded$/,
    );
    embedded.kube.faults.hangingWebhook = null;
    expect((await create(NAMESPACE)).code).to.equal(201);
  });
});
