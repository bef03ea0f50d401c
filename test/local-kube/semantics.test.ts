/**
 * What a Kubernetes API answers, case by case: each case runs against the embedded API, and where KUBECONFIG names a
 * real cluster against that too; the two transcripts must be the same but for ids, times and revisions.
 */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { CallOptions, Client, Reply } from './client.ts';
import { openTargets, type Targets } from './targets.ts';
import { DEFINITION, widget, widgets } from './widgets.ts';

const NAMESPACE = `semantics-${randomUUID().slice(0, 8)}`;
const CORE = `/api/v1/namespaces/${NAMESPACE}`;
const WIDGETS = widgets(NAMESPACE);
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
const MERGE = { type: 'application/merge-patch+json' };
const JSON_PATCH = { type: 'application/json-patch+json' };
const STRATEGIC = { type: 'application/strategic-merge-patch+json' };
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

/** What differs from server to server and from run to run. */
const OWN_FIELDS = new Set([
  'continue',
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
  'serverAddressByClientCIDRs',
  'storageVersionHash',
]);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

function settled(value: unknown): unknown {
  if (typeof value === 'string') {
    return value
      .replace(UUID, '<uid>')
      .replace(TIME, '<time>')
      .replace(/\(\d+\)/g, '(<revision>)')

      .replace(/(patch: |^)Invalid value: "\{.*\}": strict/s, '$1Invalid value: <object>: strict')
      .replace(/(generated-)[a-z0-9]{5}/, '$1<suffix>');
  }
  if (Array.isArray(value)) return value.map(settled);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !OWN_FIELDS.has(key));
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, settled(item)]));
}

/** The causes come in the random order of Go's maps. */
function sortedCauses(body: Record<string, unknown>): Record<string, unknown> {
  const details = body['details'] as { causes?: { field: string; message: string }[] } | undefined;
  if (details?.causes === undefined || details.causes.length < 2) return body;
  const causes = details.causes.toSorted((a, b) => `${a.field}${a.message}`.localeCompare(`${b.field}${b.message}`));
  return { ...body, message: '<many>', details: { ...details, causes } };
}

interface Trial {
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Reply>;
}

interface Case {
  name: string;
  run(trial: Trial): Promise<void>;
}

const cases: Case[] = [];
const behaves = (name: string, run: Case['run']): number => cases.push({ name, run });

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

behaves('refuses bad names, labels and bodies', async ({ call }) => {
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
  await call('POST', `${CORE}/configmaps`, { metadata: { name: 'x' }, data: { 'a b': '' } });
  await call('POST', `${CORE}/secrets`, { metadata: { name: 'x' }, data: { a: '_' } });
  await call('POST', '/api/v1/namespaces', { metadata: { name: 'A' } });
  await call('GET', `${CORE}/nonsense`);
  await call('GET', '/apis/none.test/v1/things');
  await call('POST', `${CORE}/configmaps/x`, {});
  await call('PUT', `${CORE}/configmaps`, {});
});

behaves('tells of unknown fields as it is asked to', async ({ call }) => {
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
  await call('PATCH', path, [{ op: 'add', path: '/data/y~1z', value: '2' }], JSON_PATCH);
  await call('PATCH', path, [{ op: 'test', path: '/data/z', value: '2' }], JSON_PATCH);
  await call('PATCH', path, [{ op: 'remove', path: '/data/q' }], JSON_PATCH);
  await call(
    'PATCH',
    path,
    [
      { op: 'replace', path: '/data/z', value: '3' },
      { op: 'move', from: '/data/z', path: '/data/zz' },
    ],
    JSON_PATCH,
  );
  await call('PATCH', path, { metadata: { finalizers: ['a.test/y'] } }, STRATEGIC);
  await call('PATCH', path, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a.test/x'] } }, STRATEGIC);
  await call('PATCH', path, { metadata: { resourceVersion: '1' } }, MERGE);
  await call('PATCH', path, { data: { $patch: 'replace', only: 'this' } }, STRATEGIC);
  await call('PATCH', path, { metadata: { finalizers: null } }, MERGE);
});

behaves('merges lists by their keys', async ({ call }) => {
  await call('POST', `${CORE}/serviceaccounts`, { metadata: { name: 'merged' }, secrets: [{ name: 'a' }, { name: 'b' }] });
  const path = `${CORE}/serviceaccounts/merged`;
  await call('PATCH', path, { secrets: [{ name: 'c' }, { name: 'b' }] }, STRATEGIC);
  await call('PATCH', path, { secrets: [{ name: 'a', $patch: 'delete' }] }, STRATEGIC);
  await call(
    'PATCH',
    path,
    { secrets: [{ name: 'd' }], '$setElementOrder/secrets': [{ name: 'b' }, { name: 'd' }, { name: 'c' }] },
    STRATEGIC,
  );
  await call('PATCH', path, { secrets: [{ $patch: 'replace' }, { name: 'z' }] }, STRATEGIC);
  await call('PATCH', path, { secrets: [{ name: 'm' }] }, MERGE);
});

behaves('tells what it offers', async ({ call }) => {
  await call('GET', `/apis/${DEFINITION.spec.group}`);
  await call('GET', `/apis/${DEFINITION.spec.group}/v1`);
  await call('GET', `/apis/${DEFINITION.spec.group}/v2`);
  expect((await call('GET', '/api')).body).to.include({ kind: 'APIVersions' });
});

behaves('keeps Secrets as data, and immutable ones as they are', async ({ call }) => {
  await call('POST', `${CORE}/secrets`, { metadata: { name: 'secret' }, stringData: { a: 'b' }, data: { c: 'ZA==' } });
  await call('PATCH', `${CORE}/secrets/secret`, { stringData: { a: 'c' } }, MERGE);
  await call('PATCH', `${CORE}/secrets/secret`, { type: 'other' }, MERGE);
  await call('POST', `${CORE}/secrets`, { metadata: { name: 'fixed' }, immutable: true, data: { a: 'eA==' } });
  await call('PATCH', `${CORE}/secrets/fixed`, { data: { a: 'eQ==' } }, MERGE);
  await call('PATCH', `${CORE}/secrets/fixed`, { immutable: false }, MERGE);
});

behaves('gives names out', async ({ call }) => {
  const made = await call('POST', `${CORE}/configmaps`, { metadata: { generateName: 'generated-' } });
  expect((made.body['metadata'] as { name: string }).name).to.match(/^generated-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

behaves('lists in pages, by labels and by fields', async ({ call }) => {
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

behaves('continues a list as it was', async ({ call }) => {
  for (const name of ['l1', 'l2', 'l3']) await call('POST', `${CORE}/serviceaccounts`, { metadata: { name, labels: { listed: 'l' } } });
  // Not compared as a transcript: a real cluster has service accounts of its own.
  const page = await call('GET', `${CORE}/serviceaccounts?labelSelector=listed&limit=2`);
  const metadata = page.body['metadata'] as { continue: string; resourceVersion: string };
  await call('DELETE', `${CORE}/serviceaccounts/l3`);
  const rest = await call('GET', `${CORE}/serviceaccounts?labelSelector=listed&limit=2&continue=${encodeURIComponent(metadata.continue)}`);
  expect((rest.body['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name)).to.deep.equal(['l3']);
  expect((rest.body['metadata'] as { resourceVersion: string }).resourceVersion).to.equal(metadata.resourceVersion);
});

behaves('prunes and defaults custom resources', async ({ call }) => {
  const given = {
    url: 'http://a',
    bogus: 1,
    sub: { q: 1, n: null },
    free: { any: ['thing'] },
    pages: null,
    either: 'x',
    when: '2026-01-01T00:00:00Z',
  };
  const made = await call('POST', WIDGETS, widget('pruned', given, { status: { phase: 'x' }, top: 1 }));
  expect(made.body['spec']).to.deep.equal({
    url: 'http://a',
    pages: 5,
    level: 'AA',
    sub: { a: 'x', n: null },
    free: { any: ['thing'] },
    either: 'x',
    when: '2026-01-01T00:00:00Z',
  });
  await call('POST', `${WIDGETS}?fieldValidation=Strict`, widget('strict', given, { top: 1 }));
  await call('POST', `${WIDGETS}?fieldValidation=Strict`, {
    ...widget('strict', { url: 'http://a' }),
    metadata: { name: 'strict', foo: 1 },
  });
  expect((await call('PATCH', `${WIDGETS}/pruned?fieldValidation=Strict`, { spec: { nope: 7 } }, MERGE)).code).to.equal(422);
});

behaves('validates custom resources', async ({ call }) => {
  const specs = [
    {},
    { url: 'ftp' },
    { url: '' },
    { url: 'http://aaaaaaaaaaaaaaaaaaaaaaaaa' },
    { url: 'http://a', pages: 0 },
    { url: 'http://a', pages: 501 },
    { url: 'http://a', pages: '5' },
    { url: 'http://a', level: 'B' },
    { url: 'http://a', flag: 'x', ratio: 'x', map: { a: 1 }, list: ['abcd', 'b', 'c'], when: 'yesterday', either: 1.5 },
    { url: 'http://a', items: [{ v: 1 }] },
    { url: 'http://a', items: [{ id: 'a' }, { id: 'a' }] },
    { url: 'http://a', level: 'AAA', pages: 11 },
    'x',
    { url: 'http://a', list: ['no'] },
  ];
  for (const spec of specs) expect((await call('POST', WIDGETS, widget('invalid', spec))).code, JSON.stringify(spec)).to.equal(422);
  await call('POST', WIDGETS, { apiVersion: DEFINITION.spec.group + '/v1', kind: 'Widget', metadata: { name: 'x' } });
  await call('POST', WIDGETS, {
    apiVersion: DEFINITION.spec.group + '/v1',
    kind: 'Other',
    metadata: { name: 'x' },
    spec: { url: 'http://a' },
  });
  await call('POST', WIDGETS, {
    apiVersion: DEFINITION.spec.group + '/v2',
    kind: 'Widget',
    metadata: { name: 'x' },
  });
  await call('POST', WIDGETS, { ...widget('x', { url: 'http://a' }), metadata: { name: 'x', labels: { a: 1 } } });
});

behaves('holds rules over time', async ({ call }) => {
  const path = `${WIDGETS}/ruled`;
  await call('POST', WIDGETS, widget('ruled', { url: 'http://a', flag: true }));
  expect((await call('PATCH', path, { spec: { url: 'http://b' } }, MERGE)).code).to.equal(422);
  expect((await call('PATCH', path, { spec: { flag: false } }, MERGE)).code).to.equal(422);
  expect((await call('PATCH', path, { spec: { url: 'http://b', flag: false, level: 'AAA', pages: 20 } }, MERGE)).code).to.equal(422);
  expect((await call('PATCH', path, { spec: { pages: 7 } }, MERGE)).code).to.equal(200);
  expect((await call('PATCH', path, { spec: { level: 'B' } }, MERGE)).code).to.equal(422);
  expect((await call('PATCH', path, { spec: null }, MERGE)).code).to.equal(422);
  expect((await call('PATCH', path, { spec: {} }, STRATEGIC)).code).to.equal(415);
});

behaves('keeps status apart, and counts generations', async ({ call }) => {
  const path = `${WIDGETS}/apart`;
  const generation = (reply: Reply): number => (reply.body['metadata'] as { generation: number }).generation;
  const made = await call('POST', WIDGETS, widget('apart', { url: 'http://a' }));
  const status = {
    status: { phase: 'p', conditions: [{ type: 'Ready', status: 'True', odd: 1 }] },
    spec: { pages: 9 },
    metadata: { labels: { n: '1' } },
  };
  expect(generation(await call('PATCH', `${path}/status`, status, MERGE))).to.equal(1);
  expect((await call('PATCH', `${path}/status`, { status: { phase: 3 } }, MERGE)).code).to.equal(422);
  expect(generation(await call('PATCH', path, { status: { phase: 'q' }, metadata: { labels: { n: '2' } } }, MERGE))).to.equal(1);
  expect(generation(await call('PATCH', path, { spec: { pages: 8 } }, MERGE))).to.equal(2);
  await call('PUT', path, widget('apart', { url: 'http://a' }));
  expect((await call('PUT', `${path}/status`, { ...made.body, status: {} })).code).to.equal(409);
  await call('GET', `${path}/status`);
  await call('GET', `${path}/scale`);
});

behaves('waits for finalizers', async ({ call }) => {
  const path = `${WIDGETS}/held`;
  await call('POST', WIDGETS, { ...widget('held', { url: 'http://a' }), metadata: { name: 'held', finalizers: ['a.test/x'] } });
  await call('PATCH', path, { metadata: { finalizers: ['bad name'] } }, MERGE);
  const held = await call('DELETE', path);
  expect(held.body).to.have.nested.property('metadata.deletionTimestamp');
  await call('DELETE', path);
  await call('PATCH', path, { metadata: { finalizers: ['a.test/x', 'a.test/y'] } }, MERGE);
  await call('PATCH', path, { metadata: { finalizers: null } }, MERGE);
  expect((await call('GET', path)).code).to.equal(404);
  await call('DELETE', `${WIDGETS}/held?propagationPolicy=Elsewhere`);
});

behaves('prints tables', async ({ call }) => {
  await call('POST', WIDGETS, { ...widget('printed', { url: 'http://a' }), metadata: { name: 'printed', labels: { printed: 'yes' } } });
  const cells = async (path: string): Promise<unknown> => {
    const { body } = await call('GET', path, undefined, TABLE);
    expect(body['kind']).to.equal('Table');
    return {
      columns: (body['columnDefinitions'] as { name: string }[]).map(({ name }) => name),
      rows: (body['rows'] as { cells: unknown[] }[]).map((row) => row.cells.slice(0, 4)),
    };
  };
  expect(await cells(`${WIDGETS}?labelSelector=printed`)).to.deep.equal({
    columns: ['Name', 'URL', 'Phase', 'Pages', 'Ready', 'Age'],
    rows: [['printed', 'http://a', null, 5]],
  });
  expect(await cells(`${WIDGETS}/printed`))
    .to.have.property('rows')
    .with.lengthOf(1);
  await call('POST', `${CORE}/events`, {
    metadata: { name: 'printed' },
    involvedObject: { kind: 'Widget', namespace: NAMESPACE, name: 'printed' },
    reason: 'Tried',
    message: 'It was tried.',
    type: 'Normal',
    source: { component: 'test' },
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    count: 2,
  });
  const rows = async (path: string): Promise<unknown[][]> =>
    ((await call('GET', path, undefined, TABLE)).body['rows'] as { cells: unknown[] }[]).map((row) => row.cells.slice(1, 7));
  expect(await rows(`${CORE}/events?fieldSelector=involvedObject.name%3Dprinted,type%3DNormal`)).to.deep.equal([
    ['Normal', 'Tried', 'widget/printed', '', 'test', 'It was tried.'],
  ]);
});

behaves('shows one store of events under two groups', async ({ call }) => {
  const events = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
  await call('POST', events, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'both' },
    regarding: { apiVersion: `${DEFINITION.spec.group}/v1`, kind: 'Widget', namespace: NAMESPACE, name: 'w', uid: 'u' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'curbcut.dev/test',
    reportingInstance: 'one',
    action: 'Trying',
    reason: 'Tried',
    note: 'It was tried.',
    type: 'Warning',
  });
  const old = await call('GET', `${CORE}/events/both`);
  expect(old.body).to.include({ message: 'It was tried.', reportingComponent: 'curbcut.dev/test' });
  await call('GET', `${events}?fieldSelector=regarding.name%3Dw`);
  expect((await call('GET', `${CORE}/events?fieldSelector=involvedObject.uid%3Du`)).body['items']).to.have.lengthOf(1);
});

behaves('keeps Leases', async ({ call }) => {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
  const spec = { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z', leaseTransitions: 0 };
  const made = await call('POST', leases, { metadata: { name: 'lease' }, spec });
  expect((await call('PUT', `${leases}/lease`, { ...made.body, spec: { ...spec, holderIdentity: 'you' } })).code).to.equal(200);
  expect((await call('PUT', `${leases}/lease`, { ...made.body, spec })).code).to.equal(409);
});

behaves('refuses what pods and Jobs cannot be', async ({ call }) => {
  await call('POST', `${CORE}/pods`, { metadata: { name: 'x' }, spec: {} });
  await call('POST', `${CORE}/pods`, { metadata: { name: 'x' }, spec: { containers: [{ name: 'A', image: '' }] } });
  await call('POST', `${CORE}/pods`, {
    metadata: { name: 'x' },
    spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'x', volumeMounts: [{ name: 'v', mountPath: '/v' }] }] },
  });
  const template = { spec: { restartPolicy: 'Never', schedulerName: 'nobody', containers: [{ name: 'a', image: 'x' }] } };
  await call('POST', JOBS, { metadata: { name: 'x' }, spec: { template: { spec: { containers: [{ name: 'a', image: 'x' }] } } } });
  await call('POST', JOBS, { metadata: { name: 'x' }, spec: { backoffLimit: -1, template } });
  await call('POST', JOBS, { metadata: { name: 'fixed' }, spec: { suspend: true, template } });
  await call('PATCH', `${JOBS}/fixed`, { spec: { completions: 2 } }, MERGE);
  await call('PATCH', `${JOBS}/fixed`, { spec: { backoffLimit: 2 } }, MERGE);
  await call('DELETE', `${JOBS}/fixed`, { propagationPolicy: 'Background' });
});

describe('the semantics of a Kubernetes API', function () {
  this.timeout(60_000);
  let targets: Targets;
  before(async () => {
    targets = await openTargets(NAMESPACE);
  });
  after(() => targets.close());

  /** Runs a case and writes down what was said. */
  async function transcript(client: Client, { run }: Case): Promise<unknown[]> {
    const said: unknown[] = [];
    await run({
      async call(method, path, body, options) {
        const reply = await client.call(method, path, body, options);
        const warnings = [reply.headers['warning'] ?? []].flat().join(', ');
        const shown =
          reply.body['kind'] === 'Table'
            ? { rows: (reply.body['rows'] as { cells: unknown[] }[]).map((row) => row.cells.length) }
            : settled(sortedCauses(reply.body));
        said.push({ asked: `${method} ${path.replace(/continue=.*/, 'continue')}`, code: reply.code, warnings, body: shown });
        return reply;
      },
    });
    return said;
  }

  for (const trial of cases) {
    it(trial.name, async () => {
      const ours = await transcript(targets.embedded, trial);
      if (targets.real === undefined) return;
      const theirs = await transcript(targets.real, trial);
      expect(ours).to.have.lengthOf(theirs.length);
      const differences = theirs.flatMap((entry, index) =>
        isDeepStrictEqual(entry, ours[index]) ? [] : [{ real: entry, embedded: ours[index] }],
      );
      expect(JSON.stringify(differences, null, 1)).to.equal('[]');
    });
  }
});
