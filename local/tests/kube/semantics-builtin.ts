/** Cases on the kinds that every cluster has. */
import { expect } from 'chai';
import type { Reply } from './client.ts';
import { NAMESPACE, CORE, MERGE, STRATEGIC, behaves } from './semantics-case.ts';
import { DEFINITION } from './widgets.ts';

const configMap = (name: string, more: object = {}): object => ({ metadata: { name }, data: { k: 'v' }, ...more });
const version = (reply: Reply): string => (reply.body['metadata'] as { resourceVersion: string }).resourceVersion;

behaves('creates, reads, replaces and deletes', async ({ call }) => {
  const made = await call('POST', `${CORE}/configmaps`, configMap('crud', { metadata: { name: 'crud', labels: { a: 'b' } } }));
  expect(made.code).to.equal(201);
  expect((await call('POST', `${CORE}/configmaps`, configMap('crud'))).code).to.equal(409);
  await call('GET', `${CORE}/configmaps/crud`);
  const stale = { metadata: { name: 'crud', resourceVersion: '1' } };
  expect((await call('PUT', `${CORE}/configmaps/crud`, stale)).code).to.equal(409);
  expect(
    (await call('PUT', `${CORE}/configmaps/crud`, { metadata: { name: 'crud', resourceVersion: version(made) }, data: { n: '1' } })).code,
  ).to.equal(200);
  await call('PUT', `${CORE}/configmaps/crud`, { metadata: { name: 'crud', uid: 'x' } });
  await call('PUT', `${CORE}/configmaps/crud`, { metadata: { name: 'other' } });
  await call('PUT', `${CORE}/configmaps/nobody`, { metadata: { name: 'nobody' } });
  await call('DELETE', `${CORE}/configmaps/crud`, { preconditions: { uid: 'x' } });
  await call('DELETE', `${CORE}/configmaps/crud?dryRun=All`);
  expect((await call('DELETE', `${CORE}/configmaps/crud`)).code).to.equal(200);
  expect((await call('DELETE', `${CORE}/configmaps/crud`)).code).to.equal(404);
});

behaves('keeps the revision when nothing changes', async ({ call }) => {
  const made = await call('POST', `${CORE}/configmaps`, configMap('same'));
  const again = await call('PATCH', `${CORE}/configmaps/same`, { data: { k: 'v' } }, MERGE);
  expect(version(again)).to.equal(version(made));
  const dry = await call('PATCH', `${CORE}/configmaps/same?dryRun=All`, { data: { k: 'w' } }, MERGE);
  expect(dry.body).to.have.nested.property('data.k', 'w');
  expect((await call('GET', `${CORE}/configmaps/same`)).body).to.have.nested.property('data.k', 'v');
  await call('POST', `${CORE}/configmaps?dryRun=All`, configMap('dry'));
  expect((await call('GET', `${CORE}/configmaps/dry`)).code).to.equal(404);
});

behaves('rejects invalid names, labels and bodies', async ({ call }) => {
  for (const metadata of [
    { name: 'A_' },
    {},
    { name: 'x', namespace: 'other' },
    { name: 'x', labels: { 'a b': 'c' } },
    { name: 'x', labels: { a: 'c d' } },
    { name: 'x', resourceVersion: '1' },
  ]) {
    await call('POST', `${CORE}/configmaps`, { metadata });
  }
  await call('POST', `/api/v1/namespaces/${NAMESPACE}-none/configmaps`, configMap('x'));
  await call('POST', `${CORE}/configmaps`, '{}', { type: 'text/plain' });
  await call('POST', `${CORE}/configmaps`, { metadata: { name: 'x' }, data: { k: 1 } });
  await call('POST', `${CORE}/secrets`, { metadata: { name: 'x' }, data: { a: '_' } });
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'A' } });
  await call('GET', `${CORE}/nonsense`);
  await call('GET', '/apis/none.test/v1/things');
  await call('POST', `${CORE}/configmaps/x`, {});
  await call('PUT', `${CORE}/configmaps`, {});
});

behaves('reports unknown fields as requested', async ({ call }) => {
  const odd = { bogus: 1 };
  const warned = await call('POST', `${CORE}/configmaps`, configMap('odd', odd));
  expect(warned.headers['warning']).to.equal('299 - "unknown field \\"bogus\\""');
  await call('POST', `${CORE}/configmaps?fieldValidation=Strict`, configMap('odd2', odd));
  const ignored = await call('POST', `${CORE}/configmaps?fieldValidation=Ignore`, configMap('odd3', odd));
  expect(ignored.headers['warning']).to.equal(undefined);
});

behaves('patches', async ({ call }) => {
  await call('POST', `${CORE}/configmaps`, configMap('patched', { metadata: { name: 'patched', finalizers: ['a.test/x'] } }));
  const path = `${CORE}/configmaps/patched`;
  await call('PATCH', path, { data: { k: null, z: '1' } }, MERGE);
  await call('PATCH', path, { data: { y: null, x: '4' } }, STRATEGIC);
  await call('PATCH', path, { metadata: { resourceVersion: '1' } }, MERGE);
  await call('PATCH', path, { metadata: { finalizers: null } }, MERGE);
});

behaves('serves discovery', async ({ call }) => {
  await call('GET', `/apis/${DEFINITION.spec.group}/v1`);
  await call('GET', `/apis/${DEFINITION.spec.group}/v2`);
  expect((await call('GET', '/api')).body).to.include({ kind: 'APIVersions' });
});

behaves('stores Secrets as data', async ({ call }) => {
  await call('POST', `${CORE}/secrets`, { metadata: { name: 'secret' }, stringData: { a: 'b' }, data: { c: 'ZA==' } });
  await call('PATCH', `${CORE}/secrets/secret`, { stringData: { a: 'c' } }, MERGE);
});

behaves('generates names', async ({ call }) => {
  const made = await call('POST', `${CORE}/configmaps`, { metadata: { generateName: 'generated-' } });
  expect((made.body['metadata'] as { name: string }).name).to.match(/^generated-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

behaves('lists by labels and by fields', async ({ call }) => {
  for (const name of ['p1', 'p2', 'p3']) await call('POST', `${CORE}/secrets`, { metadata: { name, labels: { page: name, set: 'p' } } });
  const names = async (query: string): Promise<string[]> => {
    const { code, body } = await call('GET', `${CORE}/secrets?${query}`);
    expect(code).to.equal(200);
    return (body['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name);
  };
  expect(await names('labelSelector=set%3Dp')).to.deep.equal(['p1', 'p2', 'p3']);
  expect(await names('labelSelector=page+in+(p1,p3)')).to.deep.equal(['p1', 'p3']);
  expect(await names('labelSelector=set%3Dp,page+notin+(p1)')).to.deep.equal(['p2', 'p3']);
  expect(await names('labelSelector=page!%3Dp1,set')).to.deep.equal(['p2', 'p3']);
  expect(await names('labelSelector=set,!page')).to.deep.equal([]);
  expect(await names('fieldSelector=metadata.name%3Dp2')).to.deep.equal(['p2']);
  expect(await names('fieldSelector=metadata.name%3Dp2,type%3Dother')).to.deep.equal([]);
  expect((await call('GET', `${CORE}/secrets?fieldSelector=data.x%3Dy`)).code).to.equal(400);
  expect((await call('GET', `${CORE}/configmaps?fieldSelector=data.x%3Dy`)).code).to.equal(400);
});

behaves('stores Leases', async ({ call }) => {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
  const spec = { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z', leaseTransitions: 0 };
  const made = await call('POST', leases, { metadata: { name: 'lease' }, spec });
  expect((await call('PUT', `${leases}/lease`, { ...made.body, spec: { ...spec, holderIdentity: 'you' } })).code).to.equal(200);
  expect((await call('PUT', `${leases}/lease`, { ...made.body, spec })).code).to.equal(409);
});
