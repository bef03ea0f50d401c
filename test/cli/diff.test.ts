import { expect } from 'chai';
import { parse } from 'yaml';
import type { ReportPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from '../report/samples.ts';
import { reportOf } from '../support/scan-results.ts';
import { SCAN_ID, replies, serviceForTests, type Answering } from './service.ts';

const AFTER = SCAN_ID.replace('3f2b', '9999');
const SITE = 'https://www.example.org/';

const violation = (...nodes: [name: string, at: number][]) =>
  sampleViolation(
    'link-name',
    'serious',
    'Links must have text',
    nodes.map(([name, at]) => sampleNode(`<a class="${name}" href="/${name}"></a>`, `li:nth-child(${at}) > a`)),
    ['2.4.4', '4.1.2'],
  );
const pageOf = (path: string, ...nodes: [string, number][]): ReportPage =>
  samplePage(`${SITE}${path}`, path, nodes.length === 0 ? [] : [violation(...nodes)]);
const scanOf = (...pages: ReportPage[]): Report => reportOf(sampleInput(), pages);

describe('curbcut diff', () => {
  const { service, run } = serviceForTests();
  const link =
    (path: string): Answering =>
    () => ({ status: 200, body: { url: `${service().url}${path}`, expires_in: 3600 } });
  const exportOf = (scanId: string): string => `GET /v1/scans/${scanId}/report/json`;
  const serving = (before: unknown, after: unknown): Record<string, Answering[]> => ({
    [exportOf(SCAN_ID)]: [link('/objects/before')],
    [exportOf(AFTER)]: [link('/objects/after')],
    'GET /objects/before': [replies(200, before)],
    'GET /objects/after': [replies(200, after)],
  });
  const diff = (before: unknown, after: unknown, ...options: string[]) => run(['diff', SCAN_ID, AFTER, ...options], serving(before, after));

  const before = scanOf(pageOf('', ['kept', 1], ['fixed', 2]), pageOf('lost', ['lost', 1]));
  const after = scanOf(pageOf('', ['new', 1], ['kept', 2]), sampleUntested(`${SITE}lost`, 'timeout', null), pageOf('added', ['new', 7]));

  it('prints new violations first, with page, rule, selector and WCAG: exit code 1', async () => {
    const ran = await diff(before, after);
    expect(ran).to.deep.include({ code: 1, stderr: '' });
    expect(ran.stdout.split('\n')).to.deep.equal([
      'New: 2 violations',
      '  ✗ link-name: Links must have text',
      '    serious, WCAG 2.4.4, 4.1.2, 2 elements on 2 pages, 1 of them on new pages',
      `    ${SITE}  li:nth-child(1) > a`,
      `    ${SITE}added  li:nth-child(7) > a`,
      '',
      'Fixed: 1 violation',
      '  ✓ link-name: Links must have text',
      '    serious, WCAG 2.4.4, 4.1.2, 1 element on 1 page',
      `    ${SITE}  li:nth-child(2) > a`,
      '',
      'Unchanged: 1 violation',
      'Not tested again: 1 violation on pages that only the first scan tested',
      '  – link-name: Links must have text',
      '    serious, WCAG 2.4.4, 4.1.2, 1 element on 1 page',
      `    ${SITE}lost  li:nth-child(1) > a`,
      '',
      'Pages: 1 compared, 1 only in the first scan, 1 only in the second',
      '',
    ]);
  });

  it('exits with 0 if nothing is new, or with --exit-zero', async () => {
    expect(await diff(before, before)).to.deep.include({ code: 0 });
    expect((await diff(after, scanOf(pageOf('')))).code).to.equal(0);
    expect((await diff(before, after, '--exit-zero')).code).to.equal(0);
  });

  it('refuses a partial report as the earlier one, and says it of the later one', async () => {
    const partial = { ...after, partial: true };
    const refused = await diff(partial, after);
    expect(refused.code).to.be.greaterThan(1);
    expect(refused.stderr).to.include(`The report of scan ${SCAN_ID} is partial`);
    const noted = await diff(before, partial);
    expect(noted.code).to.equal(1);
    expect(noted.stdout).to.include('A scan was canceled before all pages were tested.');
    expect((await diff(before, after)).stdout).to.not.include('canceled');
  });

  it('does not pass if nothing is new in a partial report: exit code 2', async () => {
    const partial = { ...before, partial: true };
    const ran = await diff(before, partial);
    expect(ran.code).to.equal(2);
    expect(ran.stdout).to.include('New: 0 violations');
    expect(ran.stderr).to.include(`The report of scan ${AFTER} is partial`).and.include('other pages may have new violations');
    expect(await diff(before, partial, '--quiet')).to.deep.include({ code: 2, stdout: '' });
    expect(await diff(before, partial, '--exit-zero')).to.deep.include({ code: 0, stderr: '' });
  });

  it('prints the difference as data', async () => {
    const json = JSON.parse((await diff(before, after, '--json')).stdout) as Record<string, unknown>;
    expect(json).to.include({ before: SCAN_ID, after: AFTER, unchanged: 1 });
    expect(json).to.have.all.keys('before', 'after', 'new', 'fixed', 'not_tested', 'unchanged', 'pages', 'comparable');
    expect((json.new as object[])[0]).to.include({ rule: 'link-name', elements: 2, on_new_pages: 1, in_both: false });
    expect(parse((await diff(before, after, '-o', 'yaml')).stdout)).to.deep.equal(json);
  });

  it('adds root causes and links to help with -o wide', async () => {
    const { stdout } = await diff(before, after, '-o', 'wide');
    expect(stdout).to.match(/root cause [0-9a-f]{16}\n {4}https:\/\/dequeuniversity\.com/);
  });

  it('notes how the scans differ', async () => {
    const other = structuredClone(after);
    other.scan.options.wcag_level = 'A';
    const { stdout } = await diff(before, other);
    expect(stdout).to.match(/\nNote: The scans test different WCAG versions or levels\. .* \(2\.2 AA – 2\.2 A\)\n$/);
  });

  it('says how many elements are not listed, and prints no control characters', async () => {
    const many = Array.from({ length: 9 }, (_, at): [string, number] => ['x', at]);
    const scan = scanOf(pageOf('', ...many));
    const page = scan.pages[0]!;
    if (page.tested) for (const node of page.violations[0]!.nodes) node.selector = `\u001b[2J${node.selector}`;
    const { stdout } = await diff(scanOf(pageOf('')), scan);
    expect(stdout).to.include('\n    and 4 more\n').and.not.include('\u001b');
  });

  it('sends the API key to the service only, and asks for a new link if a download fails', async () => {
    const table = { ...serving(before, after), 'GET /objects/before': [replies(403, ''), replies(200, before)] };
    const ran = await run(['diff', SCAN_ID, AFTER], table);
    expect(ran.code).to.equal(1);
    expect(service().of('GET', `/v1/scans/${SCAN_ID}/report/json`)).to.have.length(2);
    for (const seen of service().of('GET', /objects/)) expect(seen.headers).to.not.have.property('x-api-key');
  });

  it('explains an unknown scan, a lost export, and one that it does not understand: exit code 2', async () => {
    const unknown = { detail: 'scan_not_found', message: 'The scan does not exist; check its ID.' };
    expect(await run(['diff', SCAN_ID, AFTER], { [exportOf(SCAN_ID)]: [replies(404, unknown)] })).to.deep.include({
      code: 2,
      stderr: 'curbcut: The scan does not exist; check its ID. (404)\n',
    });
    const lost = await run(['diff', SCAN_ID, AFTER], { ...serving(before, after), 'GET /objects/after': [replies(404, '')] });
    expect(lost).to.deep.include({ code: 2, stdout: '' });
    expect(lost.stderr).to.include(`The JSON export of scan ${AFTER} could not be downloaded: the object store answered 404.`);
    for (const [content, said] of [
      ['<html>', 'is not JSON'],
      ['{}', 'does not understand'],
      ['null', 'does not understand'],
    ] as const) {
      const ran = await diff(before, content);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include(said).and.include(AFTER);
    }
  });
});
