/** Watches on the embedded API and on a real cluster. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { Client, Line } from './client.ts';
import { openTargets, type Targets } from './targets.ts';
import { widget, widgets } from './widgets.ts';

const NAMESPACE = `watch-${randomUUID().slice(0, 8)}`;
const MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WIDGETS = widgets(NAMESPACE);
const MERGE = { type: 'application/merge-patch+json' };
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const shown = (lines: Line[]): string[] => lines.map(({ type, object }) => `${type} ${String(object.metadata['name'])}`);
const revisionOf = async ({ call }: Client, path: string): Promise<string> =>
  ((await call('GET', path)).body['metadata'] as { resourceVersion: string }).resourceVersion;
const make = ({ call }: Client, name: string, labels: object = {}): Promise<unknown> => call('POST', MAPS, { metadata: { name, labels } });

const scenarios: Record<string, (client: Client) => Promise<void>> = {
  async 'sends every change after a revision, in order'(client) {
    const from = await revisionOf(client, MAPS);
    await make(client, 'before');
    const watch = client.watch(`${MAPS}?watch=1&resourceVersion=${from}`);
    await watch.until((lines) => lines.length === 1);
    await client.call('PATCH', `${MAPS}/before`, { data: { a: 'b' } }, MERGE);
    await client.call('DELETE', `${MAPS}/before`);
    const lines = await watch.until((seen) => seen.length === 3);
    watch.close();
    expect(shown(lines)).to.deep.equal(['ADDED before', 'MODIFIED before', 'DELETED before']);
    const revisions = lines.map(({ object }) => Number(object.metadata['resourceVersion']));
    expect(revisions).to.deep.equal(revisions.toSorted((a, b) => a - b));
    expect(new Set(revisions).size, 'a removal has a revision of its own').to.equal(3);
    expect(lines[2]?.object).to.have.nested.property('data.a', 'b');
  },

  async 'starts with the existing objects if no revision is given'(client) {
    await make(client, 'there', { begin: 'yes' });
    const watch = client.watch(`${MAPS}?watch=1&labelSelector=begin`);
    expect(shown(await watch.until((lines) => lines.length === 1))).to.deep.equal(['ADDED there']);
    watch.close();
  },

  async 'sends objects that start to match as added, and objects that stop to match as deleted'(client) {
    const from = await revisionOf(client, MAPS);
    const watch = client.watch(`${MAPS}?watch=1&resourceVersion=${from}&labelSelector=${encodeURIComponent('mode in (on)')}`);
    await make(client, 'switch', { mode: 'off' });
    for (const mode of ['on', 'off', 'on']) await client.call('PATCH', `${MAPS}/switch`, { metadata: { labels: { mode } } }, MERGE);
    await client.call('DELETE', `${MAPS}/switch`);
    expect(shown(await watch.until((lines) => lines.length === 4))).to.deep.equal([
      'ADDED switch',
      'DELETED switch',
      'ADDED switch',
      'DELETED switch',
    ]);
    watch.close();
  },

  async 'marks the end of the initial events'(client) {
    await make(client, 'initial', { initial: 'yes' });
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=initial';
    const watch = client.watch(`${MAPS}?${query}`);
    const lines = await watch.until((seen) => seen.some(({ type }) => type === 'BOOKMARK'));
    watch.close();
    expect(lines.map(({ type }) => type)).to.deep.equal(['ADDED', 'BOOKMARK']);
    expect(lines[1]?.object).to.deep.include({ kind: 'ConfigMap', apiVersion: 'v1' });
    expect(lines[1]?.object.metadata['annotations']).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
  },

  async 'ends after its timeout'(client) {
    const watch = client.watch(`${MAPS}?watch=1&timeoutSeconds=1&labelSelector=nothing`);
    await watch.ended;
    expect(watch.lines).to.deep.equal([]);
  },

  async 'sends table rows'(client) {
    const from = await revisionOf(client, WIDGETS);
    const watch = client.watch(`${WIDGETS}?watch=1&resourceVersion=${from}`, TABLE);
    await client.call('POST', WIDGETS, widget('printed', { url: 'http://a' }));
    await client.call('PATCH', `${WIDGETS}/printed/status`, { status: { phase: 'there' } }, MERGE);
    const lines = await watch.until((seen) => seen.length === 2);
    watch.close();
    const tables = lines.map(
      ({ object }) => object as unknown as { columnDefinitions: unknown[] | null; rows: { cells: unknown[]; object: { kind: string } }[] },
    );
    expect(tables.map(({ columnDefinitions }) => columnDefinitions?.length ?? null)).to.deep.equal([6, null]);
    expect(tables.map(({ rows }) => rows[0]?.cells.slice(0, 4))).to.deep.equal([
      ['printed', 'http://a', null, 5],
      ['printed', 'http://a', 'there', 5],
    ]);
    expect(tables[0]?.rows[0]?.object.kind).to.equal('PartialObjectMetadata');
  },
};

describe('watch', () => {
  let targets: Targets;
  before(async () => {
    targets = await openTargets(NAMESPACE);
  });
  after(() => targets.close());

  for (const [name, run] of Object.entries(scenarios)) {
    it(name, () => run(targets.embedded));
    if (process.env.KUBECONFIG) it(`${name}, on a real cluster`, () => run(targets.real!));
  }
});
