/** Real kubectl commands on the embedded API, with the kubectl on the PATH. */
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { eventually } from './client.ts';
import { openEmbedded, type Embedded } from './targets.ts';
import { GROUP, widget } from './widgets.ts';

const kubectl = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'kubectl'))
  .find((path) => existsSync(path));

/** The only Jobs that the embedded controller runs. */
const INDEXED = { completionMode: 'Indexed', completions: 1, backoffLimitPerIndex: 1, podReplacementPolicy: 'Failed' };

interface Said {
  code: number;
  out: string;
  err: string;
}

describe('kubectl', () => {
  let embedded: Embedded;
  let cache: string;

  before(async function () {
    if (kubectl === undefined) {
      console.log('      skipped: there is no kubectl on the PATH of this machine');
      return this.skip();
    }
    embedded = await openEmbedded('default', { images: { 'test/true:1': { command: ['/bin/sh', '-c', 'echo said; exit 0'] } } });
    cache = join(embedded.folder, 'cache');
    mkdirSync(cache);
  });
  after(() => embedded?.close());

  const args = (given: string[]): string[] => ['--kubeconfig', embedded.kubeconfigPath, '--cache-dir', cache, ...given];
  const run = (given: string[], input = ''): Promise<Said> =>
    new Promise((resolve) => {
      const child = execFile(kubectl!, args(given), { timeout: 20_000 }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
      child.stdin?.end(input);
    });
  /** Runs a command that must succeed. */
  async function says(given: string[], input = ''): Promise<string> {
    const { code, out, err } = await run(given, input);
    expect(code, `${given.join(' ')}: ${err}`).to.equal(0);
    expect(err).to.equal('');
    return out;
  }
  const manifest = (name: string, spec: object): string => JSON.stringify(widget(name, spec));
  const rows = (out: string): string[][] =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));

  it("applies: creates, leaves unchanged, updates, and rejects immutable fields with the definition's message", async () => {
    const spec = { url: 'http://a', pages: 3 };
    expect(await says(['apply', '-f', '-'], manifest('applied', spec))).to.equal(`widget.${GROUP}/applied created\n`);
    expect(await says(['apply', '-f', '-'], manifest('applied', spec))).to.equal(`widget.${GROUP}/applied unchanged\n`);
    expect(await says(['apply', '-f', '-'], manifest('applied', { ...spec, pages: 4 }))).to.equal(`widget.${GROUP}/applied configured\n`);
    const rejected = await run(['apply', '-f', '-'], manifest('applied', { ...spec, url: 'http://b' }));
    expect(rejected.code).to.equal(1);
    expect(rejected.err).to.equal('The Widget "applied" is invalid: spec: Invalid value: url cannot be changed\n');
  });

  it("gets with the definition's columns, wide, by label, by category and as YAML", async () => {
    await says(['create', '-f', '-'], manifest('got', { url: 'http://got' }));
    await says(['label', 'wdg', 'got', 'shelf=top']);
    expect(rows(await says(['get', 'wdg', '-l', 'shelf=top'])).map((row) => row.slice(0, 2))).to.deep.equal([
      ['NAME', 'URL'],
      ['got', 'http://got'],
    ]);
    expect(rows(await says(['get', 'widgets', 'got', '-o', 'wide']))[0]).to.deep.equal(['NAME', 'URL', 'PHASE', 'PAGES', 'READY', 'AGE']);
    expect(await says(['get', 'trial', '-o', 'name'])).to.include(`widget.${GROUP}/got\n`);
    expect(await says(['get', 'widget', 'got', '-o', 'yaml'])).to.match(/^apiVersion: semantics\.curbcut\.test\/v1\nkind: Widget\n/);
    const missing = await run(['get', 'widget', 'nobody']);
    expect(missing.err).to.equal(`Error from server (NotFound): widgets.${GROUP} "nobody" not found\n`);
  });

  it('explains', async () => {
    const out = await says(['explain', 'widgets.spec']);
    expect(out).to.match(/GROUP: +semantics\.curbcut\.test\nKIND: +Widget\nVERSION: +v1\n/);
    expect(out).to.include('What is wanted.');
    expect(out).to.match(/url\t<string> -required-\n {4}Where it is\./);
  });

  it('runs a Job and shows its pod and log', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'test/true:1' }] } };
    await says(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'run' }, spec: { ...INDEXED, template } }),
    );
    await says(['wait', 'job/run', '--for=condition=complete', '--timeout=15s']);
    expect(rows(await says(['get', 'jobs', 'run']))[1]?.slice(0, 3)).to.deep.equal(['run', 'Complete', '1/1']);
    expect(rows(await says(['get', 'pods', '-l', 'job-name=run']))[1]?.slice(1, 4)).to.deep.equal(['0/1', 'Completed', '0']);
    expect(await says(['logs', 'job/run'])).to.equal('said\n');
    expect(await says(['describe', 'job', 'run'])).to.match(
      /SuccessfulCreate[^\n]+\n +Normal +Completed +\S+ +job-controller +Job completed/,
    );
    await says(['delete', 'job', 'run']);
    await eventually('its pod to go', async () =>
      (await run(['get', 'pods', '-l', 'job-name=run', '-o', 'name'])).out === '' ? true : undefined,
    );
  });

  it('serves an applied definition, and deletes its objects with it', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'gadgets.later.test' },
      spec: {
        group: 'later.test',
        scope: 'Cluster',
        names: { plural: 'gadgets', kind: 'Gadget' },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } },
            },
          },
        ],
      },
    };
    const file = join(embedded.folder, 'later.yaml');
    writeFileSync(file, JSON.stringify(definition));
    await says(['apply', '-f', file]);
    await says(['wait', 'crd/gadgets.later.test', '--for=condition=Established', '--timeout=5s']);
    await says(
      ['apply', '-f', '-'],
      JSON.stringify({ apiVersion: 'later.test/v1alpha1', kind: 'Gadget', metadata: { name: 'g' }, spec: { a: 'b' } }),
    );
    expect(rows(await says(['get', 'gadgets']))[0]).to.deep.equal(['NAME', 'AGE']);
    await says(['delete', '-f', file]);
    expect((await run(['get', 'gadgets'])).err).to.match(/NotFound|doesn't have a resource type/);
  });
});
