/** Cases on a custom resource, and on events about it. */
import { expect } from 'chai';
import type { Reply } from './client.ts';
import { APPLY, NAMESPACE, CORE, WIDGETS, MERGE, STRATEGIC, TABLE, behaves } from './semantics-case.ts';
import { DEFINITION, widget } from './widgets.ts';

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

behaves('validates transition rules', async ({ call }) => {
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

behaves('applies on the server, and says who owns a field', async ({ call }) => {
  const path = `${WIDGETS}/applied`;
  const by = (manager: string, more = '') => `${path}?fieldManager=${manager}${more}`;
  const config = (spec: object, metadata: object = {}) => ({ ...widget('applied', spec), metadata: { name: 'applied', ...metadata } });
  const specOf = async () => (await call('GET', path)).body['spec'] as Record<string, unknown>;

  expect((await call('PATCH', path, config({ url: 'http://a' }), APPLY)).code).to.equal(422);
  const made = await call('PATCH', by('a'), config({ url: 'http://a', pages: 3, list: ['one'] }, { labels: { a: '1', b: '1' } }), APPLY);
  expect(made.code).to.equal(201);
  const { uid, resourceVersion } = made.body['metadata'] as { uid: string; resourceVersion: string };
  expect(
    (await call('PATCH', by('a'), config({ url: 'http://a', pages: 3, list: ['one'] }, { labels: { a: '1', b: '1' } }), APPLY)).code,
  ).to.equal(200);

  // Another manager: the same value is shared, another one is a conflict.
  expect((await call('PATCH', by('b'), config({ url: 'http://a' }), APPLY)).code).to.equal(200);
  expect((await call('PATCH', by('b'), config({ url: 'http://a', pages: 4 }), APPLY)).code).to.equal(409);
  expect((await call('PATCH', by('b'), config({ url: 'http://a', pages: 4, list: [] }), APPLY)).code).to.equal(409);
  expect((await call('PATCH', by('b', '&force=true'), config({ url: 'http://a', pages: 4 }), APPLY)).code).to.equal(200);
  expect((await specOf())['pages']).to.equal(4);

  // What a configuration no longer has is removed, unless another manager owns it.
  const left = await call('PATCH', by('a'), config({ url: 'http://a' }, { labels: { a: '1' } }), APPLY);
  expect(left.body).to.nested.include({ 'metadata.labels.a': '1', 'spec.pages': 4 });
  expect(left.body['spec']).to.not.have.property('list');
  expect(left.body).to.not.have.nested.property('metadata.labels.b');

  // A merge patch takes a field over.
  expect((await call('PATCH', by('c'), { spec: { level: 'AA', flag: true } }, MERGE)).code).to.equal(200);
  expect((await call('PATCH', by('a'), config({ url: 'http://a', flag: false }), APPLY)).code).to.equal(409);

  // An outdated version, and an object that is gone.
  expect((await call('PATCH', by('a'), config({ url: 'http://a' }, { uid, resourceVersion }), APPLY)).code).to.equal(409);
  await call('DELETE', path);
  expect((await call('PATCH', by('a'), config({ url: 'http://a' }, { uid }), APPLY)).code).to.equal(409);
  expect((await call('GET', path)).code).to.equal(404);
});

behaves('evaluates functions in rules', async ({ call }) => {
  const TAKEN = {
    zone: ['UTC', 'Europe/Berlin', 'US/Eastern', 'Etc/GMT+5', 'EST5EDT', 'GB', 'Factory', 'Local', '+01:00', ''],
    every: ['60s', '1h30m', '1.h', '.5h', '+1m', '60000000µs', '60000000μs', '2562047h'],
    numbers: ['1', 'ONE', 'x', '007,12'],
  };
  const REFUSED = {
    zone: ['Europe/Atlantis', 'europe/berlin', 'EUROPE/BERLIN', 'BST', 'PST', 'SystemV/EST5', 'GMT+5', 'local'],
    every: ['59s', '-2h', '0', '1d', '', '5', '1 h', '2562048h'],
    numbers: ['0', '1,0', '99999999999999999999'],
  };
  const TAKEN_SIZES = ['1', '0', '500m', '2Gi', '1e3', '1E', '.5', '5.', '+5', '-0'];
  const REFUSED_SIZES = ['lots', '', '-1', '1 Gi', '1gb', '1KI', '0x10'];
  const made = async (functions: object) =>
    (await call('POST', `${WIDGETS}?dryRun=All`, widget('called', { url: 'http://a', functions }))).code;
  for (const [specs, code] of [
    [{ ...TAKEN, sizes: TAKEN_SIZES.map((size) => ({ size })) }, 201],
    [{ ...REFUSED, sizes: REFUSED_SIZES.map((size) => ({ size })) }, 422],
  ] as const)
    for (const [field, values] of Object.entries(specs))
      for (const value of values) expect(await made({ [field]: value }), `${field} ${JSON.stringify(value)}`).to.equal(code);
});

behaves('separates the status and counts generations', async ({ call }) => {
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
