/** `curbcut scan --local`, with the real scanner and the real browser. */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Value } from 'typebox/value';
import type { TestedPage } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { curbcut } from './service.ts';

describe('curbcut scan --local', () => {
  let server: Server;
  let url: string;
  let page: string;
  let folder: string;
  /** The languages that pages were last requested in, by their addresses. */
  const languages = new Map<string, string>();
  const { PATH, HOME, CHROMIUM_PATH, NODE_COMPILE_CACHE } = process.env;
  const machine = { PATH, HOME, CHROMIUM_PATH, NODE_COMPILE_CACHE };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    server = createServer((request, response) => {
      if (request.url === '/robots.txt' || request.url === '/sitemap.xml') return void response.writeHead(404).end();
      languages.set(request.url!, request.headers['accept-language'] ?? '');
      const signedIn = request.headers.authorization === `Basic ${btoa('ann:pass-word')}`;
      if (request.url === '/members' && !signedIn) return void response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      const links = request.url === '/' ? '<a href="/two">Two</a><a href="/gone">Gone</a>' : '<img src="/x.png">';
      response.writeHead(request.url === '/gone' ? 404 : 200, { 'content-type': 'text/html' });
      response.end(`<!doctype html><html lang="en"><head><title>Page</title></head><body><main><h1>Page</h1>${links}</main></body></html>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    page = `${url}two`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  const local = (args: string[], environment: Record<string, string | undefined> = {}, interrupt?: AbortController) =>
    curbcut(['scan', '--local', ...args], { environment: { ...machine, TMPDIR: folder, ...environment }, interrupt });

  it('tests the site without a service, reports untested pages, saves every report, and exits by the verdict', async () => {
    const files = ['pdf', 'export', 'sarif', 'junit', 'codequality', 'earl', 'csv', 'openacr', 'barriers'].flatMap((name) => [
      `--${name}`,
      join(folder, `report.${name}`),
    ]);
    const ran = await local([url, '--max-violations', '0', ...files]);
    expect(ran.code, ran.stderr).to.equal(1);
    expect(ran.stdout).to.include('critical  1').and.to.include('did not pass');
    expect(ran.stderr)
      .to.include('scanning 2 of 5 pages')
      .and.to.match(/\/gone was not tested: .*404/);
    const report: unknown = JSON.parse(await readFile(join(folder, 'report.export'), 'utf8'));
    expect([...Value.Errors(Report, report)]).to.deep.equal([]);
    expect((await readFile(join(folder, 'report.pdf'))).subarray(0, 5).toString()).to.equal('%PDF-');
    expect(await readFile(join(folder, 'report.sarif'), 'utf8')).to.include('image-alt');
    for (const name of ['junit', 'codequality', 'earl', 'csv', 'openacr', 'barriers'])
      expect(await readFile(join(folder, `report.${name}`), 'utf8')).to.include('image-alt');
    expect((await readdir(folder)).filter((name) => name.startsWith('curbcut-local-'))).to.deep.equal([]);
  });

  it('judges by the export of an earlier scan and the known issues of a manifest, as the service does, and marks them', async () => {
    const [before, exported, known] = [join(folder, 'report.export'), join(folder, 'second.json'), join(folder, 'known.yaml')];
    const until = new Date(Date.now() + 5 * 86_400_000).toISOString();
    const why = ['--reason', 'New pictures in May.', '--owner', 'shop team', '--until', until];
    const accepted = await curbcut(['accept', before, '--all', ...why, '--site', 'www.example.com', '-o', known], { environment: {} });
    expect(accepted.code, accepted.stderr).to.equal(0);
    const gate = ['--max-pages', '1', '--fail-on', 'minor', '--max-new-violations', '0', '--baseline', before];
    const elsewhere = await local([page, ...gate, '--known-issues', known]);
    expect([elsewhere.code, elsewhere.stderr.includes(`no known issues for ${new URL(url).host}, but for www.example.com`)]).to.deep.equal([2, true]); // prettier-ignore
    const judged = ['--known-issues', known, '--known-issues-site', 'https://www.example.com'];
    const passed = await local([page, ...gate, ...judged, '--json', '--export', exported]);
    expect(passed.code, passed.stderr).to.equal(0);
    const numbers = { violations_count: 1, violations_new_or_open: 0, score_without_known: 100, passed: true };
    const result = JSON.parse(passed.stdout) as { baseline: object };
    expect(result).to.deep.include({ status: 'done', ...numbers, known_issues: { matched: 1, unmatched: 0, ending: 1 } });
    expect(result.baseline).to.include({ problem: null, new: 0, unchanged: 1 });
    const { groups, known_issues: listed, scan } = JSON.parse(await readFile(exported, 'utf8')) as Report;
    expect(groups[0]!.known!.map(({ reason, elements }) => [reason, elements])).to.deep.equal([['New pictures in May.', 1]]);
    expect(listed!.issues[0]).to.deep.include({ id: 'www.example.com/1', owner: 'shop team', elements: 1, ending: true });
    expect(scan.local).to.equal(true);
    await writeFile(before, '{}');
    const wrong = await local([page, ...gate]);
    expect([wrong.code, wrong.stderr.includes('it is not the JSON export of a scan')], wrong.stderr).to.deep.equal([2, true]);
  });

  it('obeys its options, and reports them', async () => {
    const [file, steps, auth] = [join(folder, 'options.json'), join(folder, 'steps.yaml'), join(folder, 'auth')];
    await mkdir(auth);
    await Promise.all([
      writeFile(steps, '- goto: /two\n- assert: {text: Page}\n'),
      writeFile(join(auth, 'username'), 'ann'),
      writeFile(join(auth, 'password'), 'pass-word\n'),
    ]);
    const options = ['--metadata', 'team=web', '--locale', 'pl', '--auth', auth, '--prepare', steps, '--consent', 'reject'];
    const variables = { GITLAB_CI: 'true', CI_COMMIT_SHA: 'c0ffee' };
    const ran = await local([`${url}members`, '--max-pages', '1', '--export', file, ...options], variables);
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.stderr).to.include('No consent dialog was recognised');
    const { scan, pages, consent } = JSON.parse(await readFile(file, 'utf8')) as Report;
    expect(scan.metadata).to.deep.equal({ commit: 'c0ffee', team: 'web' });
    expect(scan.verdict.passed).to.equal(null);
    expect(scan.options).to.deep.include({ locale: 'pl', prepare: [{ goto: '/two' }, { assert: { text: 'Page' } }] });
    expect(consent).to.include({ action: 'reject', outcome: 'not_found' });
    expect((pages[0] as TestedPage).violations.map(({ help }) => help)).to.deep.equal(['Obrazy muszą mieć tekst alternatywny.']);
    expect(languages.get('/members')).to.match(/^pl-PL,pl/);
  });

  it('exits with 2 if the site cannot be tested', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const dead = `http://127.0.0.1:${port}/`;
    const ran = await local([dead]);
    expect(ran.code).to.equal(2);
    expect(ran.stdout).to.include('the scan failed').and.to.include('ECONNREFUSED');
  });

  it('says what to install or set if there is no Chromium', async () => {
    const ran = await local([url, '--min-score', '1'], { CHROMIUM_PATH: join(folder, 'no-chromium') });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('no-chromium').and.to.include('CHROMIUM_PATH');
  });

  it('rejects a manifest of known issues with a mistake, and says in which line', async () => {
    const file = join(folder, 'wrong.yaml');
    const lines = (...issue: string[]): string =>
      ['# x', 'apiVersion: curbcut.dev/v1', 'kind: KnownIssues', 'metadata: {name: a}', 'spec:', '  site: a.example', '  issues:', ...issue].join('\n'); // prettier-ignore
    const about = ["    - fingerprint: '0123456789abcdef'", '      reason: r', '      owner: o'];
    const end = '      expiresAt: 2020-01-31T00:00:00Z';
    const live = `      expiresAt: ${new Date(Date.now() + 86_400_000).toISOString()}`;
    for (const [text, said] of [
      [lines(...about, '      expiresAt: soon'), 'line 11: spec.issues[0].expiresAt: must be a date and time'],
      [lines(...about, end, '      ruel: x'), 'line 12: spec.issues[0].ruel: there is no such field'],
      [lines(...about, live, ...about, end, ...about, live), 'line 16: spec.issues[2]: is about the same as one before it.'],
      [lines(...about, end, '    - [}'), 'line 12: this is not valid YAML'],
      [lines(...about, end).replace('a.example', 'a b'), 'line 6: spec.site: must be a host'],
      [lines().replace('{name: a}', '{}'), 'line 4: metadata.name: must be a name'],
      ['kind: Namespace', 'there is no KnownIssues manifest in it'],
    ] as const) {
      await writeFile(file, text);
      const ran = await local([url, '--known-issues', file]);
      expect([ran.code, ran.stderr.includes(said)], `${said}\n${ran.stderr}`).to.deep.equal([2, true]);
    }
  });

  it('rejects options that need others, a service, or none: exit code 2', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'));
    for (const [args, said] of [
      [['--local', '--partial'], '--local'],
      [['--local', '--parallelism', '2'], '--parallelism is about pods of the service'],
      [['--local', '--idempotency-key', 'k'], '--local'],
      [['--local', '--auth-secret', 'shop-login'], '--auth-secret is about a Secret of the service'],
      [['--local', '--auth', empty], 'none of the keys username, password and cookie'],
      [['--local', '--max-new-violations', '0'], '--max-new-violations needs --baseline'],
      [['--local', '--baseline-optional'], '--baseline-count a --baseline'],
      [['--local', '--baseline', 'a.json', '--baseline-count', 'pages'], '--baseline-count must be elements or causes'],
      [['--local', '--known-issues', join(folder, 'none.yaml')], 'none.yaml cannot be read'],
      [['--local', '--known-issues-site', 'a.example'], '--known-issues-site needs --known-issues'],
      [['--auth', empty], '--auth needs --local'],
      [['--known-issues', 'x'], '--known-issues needs --local'],
    ] as const) {
      const ran = await curbcut(['scan', url, ...args], { environment: { ...machine, TMPDIR: folder } });
      expect([ran.code, (ran.stdout + ran.stderr).includes(said)], ran.stdout + ran.stderr).to.deep.equal([2, true]);
    }
    expect((await local(['ftp://x.example/'])).stderr).to.include('is not an http or https URL');
  });

  it('ends the scanner when it is interrupted', async () => {
    const controller = new AbortController();
    const held = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write('<!doctype html>');
      controller.abort('SIGINT');
    });
    await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
    try {
      const ran = await local([`http://127.0.0.1:${(held.address() as AddressInfo).port}/`], {}, controller);
      expect(ran.code).to.equal(130);
      expect((await readdir(folder)).filter((name) => name.startsWith('curbcut-local-'))).to.deep.equal([]);
    } finally {
      held.closeAllConnections();
      held.close();
    }
  });
});
