/** The npm package, installed from its file in an empty folder without a registry. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { Report } from '../../report/schema/report.ts';
import { accepts, complete, EVENTS, KEY, routes, startService, streams, SUBMIT } from '../cli/service.ts';
import { smallReport } from '../report/samples.ts';
import { opened } from '../support/opened.ts';
import { bundleTo, openInstallation, SOURCE_URL } from './installed.ts';
import { nodeOf } from './node-versions.ts';

/** The names of the functions of the bundle that ran, from V8's report of coverage. Those of modules are their paths. */
function functionsRun(coverage: string): string[] {
  const { result } = JSON.parse(coverage) as {
    result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
  };
  return result
    .filter(({ url }) => url.endsWith('/curbcut.cjs'))
    .flatMap(({ functions }) => functions.filter(({ ranges }) => ranges[0]!.count > 0).map(({ functionName }) => functionName));
}

describe('the npm package', function () {
  this.timeout(180_000);
  const installation = opened(openInstallation);

  it('is all that is installed, with its licences', () => {
    const modules = join(installation.folder, 'node_modules');
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).to.deep.equal(['curbcut']);
    const licences = readFileSync(join(modules, 'curbcut/LICENSES-OF-PACKAGES.txt'), 'utf8');
    for (const name of [
      'yaml',
      'typebox',
      'playwright-core',
      'axe-core',
      'pdfkit',
      '@modelcontextprotocol/server',
      'zod',
      '@expo-google-fonts/inter',
      'undici',
    ])
      expect(licences, name).to.match(new RegExp(`^${name} \\d+\\.\\S+ \\(`, 'm'));
    expect(readFileSync(join(modules, 'curbcut/LICENSE'), 'utf8')).to.include('Apache License');
    const readme = readFileSync(join(modules, 'curbcut/README.md'), 'utf8');
    const { engines, repository } = JSON.parse(readFileSync(join(modules, 'curbcut/package.json'), 'utf8')) as {
      engines: { node: string };
      repository: object;
    };
    // npm publishes provenance only of a package that names the repository.
    expect(repository).to.deep.equal({ type: 'git', url: `git+${SOURCE_URL}.git` });
    expect(readme).to.include(`Node.js ${engines.node.replace('>=', '')} or later`);
  });

  it('has its version and help, and suggests a command', async () => {
    const version = await installation.run('curbcut', ['--version']);
    expect(version).to.deep.equal({ code: 0, stdout: `curbcut ${CURBCUT_VERSION}\n`, stderr: '' });
    const help = await installation.run('curbcut', ['--help']);
    expect(help).to.include({ code: 0, stderr: '' });
    expect(help.stdout).to.include('scan <URL>');
    const misspelt = await installation.run('curbcut', ['scna']);
    expect(misspelt).to.include({ code: 2, stdout: '' });
    expect(misspelt.stderr).to.include('Did you mean scan?');
  });

  it('is small, and starts fast', async () => {
    expect(statSync(join(installation.out, 'curbcut.cjs')).size).to.be.lessThan(1_800_000);
    expect(statSync(join(installation.out, 'curbcut-mcp.cjs')).size).to.be.lessThan(700_000);
    // What is run before the help is there, because a time would be that of the machine: 1,017 functions of 3,972.
    const coverage = join(installation.folder, 'coverage');
    const program = join(installation.folder, 'node_modules/curbcut/bin/curbcut');
    await installation.run(process.execPath, [program, 'scan', '--help'], { NODE_V8_COVERAGE: coverage });
    const functions = readdirSync(coverage).flatMap((file) => functionsRun(readFileSync(join(coverage, file), 'utf8')));
    expect(functions).to.have.length.within(100, 1200);
    expect(functions.filter((name) => /node_modules\/(yaml|undici|pdfkit)\//.test(name))).to.deep.equal([]);
  });

  it('is the same each time', async () => {
    const again = await mkdtemp(join(tmpdir(), 'curbcut-again-'));
    const umask = process.umask(0o077);
    try {
      await bundleTo(again);
    } finally {
      process.umask(umask);
    }
    const digests = (folder: string): string[] =>
      readdirSync(folder).map((name) => `${name} ${createHash('sha256').update(readFileSync(join(folder, name))).digest('hex')}`); // prettier-ignore
    expect(digests(again)).to.deep.equal(digests(installation.out)).and.have.length(5);
    await rm(again, { recursive: true });
  });

  describe('and a Node.js', () => {
    const program = (): string => join(installation.folder, 'node_modules/curbcut/bin/curbcut');

    it('that is too old: ends with 2 and a sentence', async () => {
      const node = await nodeOf(20);
      for (const file of [program(), join(installation.out, 'curbcut.cjs')]) {
        const ran = await installation.run(node, [file, 'scan', 'https://x.example/']);
        expect(ran).to.include({ code: 2, stdout: '' });
        expect(ran.stderr).to.match(/^curbcut: Node\.js 22\.\d+ or later is required, and \S+ is version 20\.\d+\.\d+\.\n$/);
      }
    });

    it('of the oldest supported version: scans a page without a service, with the Chromium of this machine', async () => {
      const server = createServer(({ url }, response) => {
        const page = `<!doctype html><html lang="de"><title>Seite</title><main><h1>Seite</h1><img src="/x.png"><p>שלום</p></main></html>`;
        response.writeHead(url === '/' ? 200 : 404, { 'content-type': 'text/html' }).end(url === '/' ? page : '');
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      const files = ['--pdf', 'local.pdf', '--export', 'local.json', '--sarif', 'local.sarif'];
      const ran = await installation.run(await nodeOf(22), [program(), 'scan', '--local', url, '--locale', 'de', '--max-violations', '0', ...files]); // prettier-ignore
      server.close();
      expect(ran.code, ran.stderr).to.equal(1);
      expect(ran.stdout).to.include('image-alt');
      const report = JSON.parse(await readFile(join(installation.folder, 'local.json'), 'utf8')) as Report;
      expect(report.scan).to.deep.include({ local: true });
      expect(JSON.stringify(report)).to.include('Alternativtext');
      expect((await readFile(join(installation.folder, 'local.pdf'))).subarray(0, 5).toString()).to.equal('%PDF-');
      expect(await readFile(join(installation.folder, 'local.sarif'), 'utf8')).to.include('image-alt');
    });
  });

  it('as a single file has the licences beside it, without those of the scanner', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-program-'));
    await bundleTo(folder, '--only-program');
    expect(readdirSync(folder).toSorted()).to.deep.equal(['LICENSE', 'LICENSES-OF-PACKAGES.txt', 'curbcut-mcp.cjs', 'curbcut.cjs']);
    const licences = readFileSync(join(folder, 'LICENSES-OF-PACKAGES.txt'), 'utf8');
    expect(licences)
      .to.match(/^yaml \d/m)
      .and.not.match(/^playwright-core \d/m);
    await rm(folder, { recursive: true });
  });

  it('serves tools for agents', async () => {
    const client = new Client({ name: 'test', version: '1' });
    const bin = join(installation.folder, 'node_modules/curbcut/bin/curbcut');
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp'] }));
    const { structuredContent } = await client.callTool({ name: 'rule', arguments: { rule: 'image-alt' } });
    await client.close();
    expect(structuredContent).to.include({ problem: 'Images must have alternative text' });
  });

  it('as a single file says that it has no scanner', async () => {
    const ran = await installation.run(process.execPath, [join(installation.out, 'curbcut.cjs'), 'scan', '--local', 'http://127.0.0.1:9/']);
    expect(ran).to.include({ code: 2, stdout: '' });
    expect(ran.stderr).to.include('--local needs the scanner').and.include('npm package');
  });

  it('scans over HTTP, and exits by the verdict', async () => {
    const service = await startService(routes({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2, { passed: false }))] }));
    const environment = { CURBCUT_URL: service.url, CURBCUT_API_KEY: KEY };
    const ran = await installation.run('curbcut', ['scan', 'https://www.example.com/', '--max-violations', '0'], environment);
    await service.close();
    expect(ran.code, ran.stderr).to.equal(1);
    expect(ran.stdout).to.include('did not pass');
    await writeFile(join(installation.folder, 'scan.json'), JSON.stringify(smallReport()));
    const comment = await installation.run('curbcut', ['comment', 'scan.json']);
    expect(comment.code, comment.stderr).to.equal(0);
    expect(comment.stdout).to.match(/^<!-- curbcut:/);
  });
});
