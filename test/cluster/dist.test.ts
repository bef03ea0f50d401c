/**
 * What `make release-dry-run` built, and nothing else of this checkout: the chart from its package with the images of the version, the
 * command line from its package, and the image that contains everything.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startDemoSite } from '../../demo-site/server.ts';
import { clusterAndHelm, helm, kubectl, nameServers, nodeAddress, removeNamespace, settings } from './release.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'dist');
const REGISTRY = 'curbcut.dev';
const only = (folder: string, pattern: RegExp): string =>
  join(
    DIST,
    folder,
    readdirSync(join(DIST, folder)).find((name) => pattern.test(name))!,
  );

describe('what a release consists of', function () {
  this.timeout(600_000);
  const namespace = `curbcut-dist-${process.pid}`;
  let folder: string | undefined;
  let version: string;

  before(async function () {
    if (!(await clusterAndHelm())) return this.skip();
    if (!existsSync(join(DIST, 'SHA256SUMS'))) {
      console.log('      (skipped: run make release-dry-run first, with an IMAGE_BUILD that loads images into the cluster)');
      return this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'curbcut-dist-'));
    version = /curbcut-(.*)\.tgz$/.exec(only('chart', /tgz$/))![1]!;
  });
  after(async () => {
    if (folder === undefined) return;
    await helm('uninstall', 'curbcut', '--namespace', namespace, '--ignore-not-found', '--wait').catch(() => undefined);
    await Promise.all([removeNamespace(`${namespace}-scans`), removeNamespace(namespace)]);
    await rm(folder, { recursive: true });
  });

  it('has the checksums that it states', async () => {
    const { stdout } = await run('sha256sum', ['-c', 'SHA256SUMS'], { cwd: DIST, maxBuffer: 4 << 20 });
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.endsWith(': OK')),
    ).to.deep.equal([]);
  });

  it('installs from the package of the chart, and passes helm test', async () => {
    const values = {
      'evaluation.enabled': true,
      'crds.enabled': false,
      'admission.queueNamespace': false,
      ...(await nameServers(await nodeAddress())),
    };
    const chart = only('chart', /tgz$/);
    await helm(
      'install',
      'curbcut',
      chart,
      '--namespace',
      namespace,
      '--create-namespace',
      '--wait',
      '--timeout',
      '8m',
      ...settings(values),
    );
    const images = 'jsonpath={range .items[*]}{.spec.containers[0].image}{"\\n"}{end}';
    const used = new Set((await kubectl(['-n', namespace, 'get', 'pods', '-o', images])).trim().split('\n'));
    const reference = (name: string) => `${REGISTRY}/${name}:${version}`;
    expect(used).to.deep.equal(new Set([reference('service'), reference('evaluation')]));
    expect(await helm('test', 'curbcut', '--namespace', namespace, '--timeout', '8m')).to.match(/Phase:\s+Succeeded/);
  });

  it('scans a site with the command line from its package', async () => {
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--prefix', folder!, only('cli', /^curbcut-.*tgz$/)], {
      cwd: folder,
    });
    const demo = await startDemoSite();
    try {
      const report = join(folder!, 'report.json');
      const args = ['scan', `${demo.url}/en/`, '--local', '--max-pages', '1', '--fail-on', 'minor', '--export', report];
      const scan = run(join(folder!, 'node_modules/.bin/curbcut'), args, { cwd: folder });
      const { code, stderr } = await scan.then(() => ({ code: 0, stderr: '' }), (error: { code: number; stderr: string }) => error); // prettier-ignore
      // The demo site has violations.
      expect(code, stderr).to.equal(1);
      expect(JSON.parse(readFileSync(report, 'utf8'))).to.have.nested.property('score.pages_tested', 1);
    } finally {
      await demo.close();
    }
  });

  it('runs as one container, whose addresses work', async () => {
    const mocha = join(ROOT, 'node_modules', '.bin', 'mocha');
    const environment = { ...process.env, IMAGE_PREFIX: REGISTRY, TAG: version };
    const tests = run(mocha, [join(ROOT, 'test/cluster/try.test.ts')], { cwd: ROOT, env: environment, maxBuffer: 16 << 20 });
    await tests.catch((error: { stdout: string }) => expect.fail(error.stdout));
  });
});
