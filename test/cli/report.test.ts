import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { formatReport } from '../../report/formats/formats.ts';
import { CSV_TABLES, REPORT_FORMAT_NAMES } from '../../report/schema/objects.ts';
import { smallReport } from '../report/samples.ts';
import { SCAN_ID, replies, serviceForTests, type Answering } from './service.ts';

const PDF = `GET /v1/scans/${SCAN_ID}/report`;
const EXPORT = `${PDF}/json`;

describe('curbcut report', () => {
  const { service, run } = serviceForTests();
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-report-'))));
  after(() => rm(folder, { recursive: true }));
  const link =
    (path: string): Answering =>
    () => ({ status: 200, body: { url: `${service().url}${path}`, expires_in: 3599 } });

  it('prints links to both reports, and how long they are valid', async () => {
    const ran = await run(['report', SCAN_ID], { [PDF]: [link('/a.pdf')], [EXPORT]: [link('/a.json')] });
    expect(ran).to.deep.include({ code: 0, stderr: '' });
    expect(ran.stdout).to.equal(
      `PDF report   ${service().url}/a.pdf\nJSON export  ${service().url}/a.json\nThe links are valid for 59 minutes. Anyone who has a link can open it.\n`,
    );
  });

  it('saves the reports that are asked for, and downloads nothing else', async () => {
    const file = join(folder, 'a.json');
    const ran = await run(['report', SCAN_ID, '--export', file], { [EXPORT]: [link('/a.json')], 'GET /a.json': [replies(200, '{}')] });
    expect(ran).to.deep.include({ code: 0, stdout: `Saved ${file}\n` });
    expect(await readFile(file, 'utf8')).to.equal('{}');
    expect(service().requests.map(({ path }) => path)).to.deep.equal([`/v1/scans/${SCAN_ID}/report/json`, '/a.json']);
  });

  it('makes SARIF, JUnit XML and EARL from one download of the export', async () => {
    const report = smallReport();
    const files = REPORT_FORMAT_NAMES.map((format) => ({ format, file: join(folder, `formats.${format}`) }));
    // Of the tables of CSV, one call saves one.
    const options = files.filter(({ format }) => !format.startsWith('csv')).flatMap(({ format, file }) => [`--${format}`, file]);
    for (const [table, format] of Object.entries(CSV_TABLES)) {
      const file = join(folder, `formats.${format}`);
      const ran = await run(['report', SCAN_ID, '--csv', file, '--csv-table', table], {
        [EXPORT]: [link('/a.json')],
        'GET /a.json': [replies(200, report)],
      });
      expect(ran).to.deep.include({ code: 0, stdout: `Saved ${file}\n` });
    }
    const ran = await run(['report', SCAN_ID, ...options], {
      [EXPORT]: [link('/a.json')],
      'GET /a.json': [replies(200, report)],
    });
    expect(ran).to.deep.include({ code: 0, stdout: `Saved ${options.filter((option) => !option.startsWith('--')).join(', ')}\n` });
    for (const { format, file } of files) expect(await readFile(file, 'utf8')).to.equal(formatReport(format, report));
    expect(service().of('GET', '/a.json')).to.have.length(1);
  });

  it('reads the pictures for the HTML report, if the export names some', async () => {
    const report = smallReport();
    report.page_pictures = [{ offset: 0, bytes: 8, width: 320, height: 200, page_url: report.pages[0]!.url }];
    const file = join(folder, 'report.html');
    const ran = await run(['report', SCAN_ID, '--html', file], {
      [EXPORT]: [link('/a.json')],
      'GET /a.json': [replies(200, report)],
      [`${PDF}/pictures`]: [link('/a.pictures')],
      'GET /a.pictures': [replies(200, 'pictures')],
    });
    expect(ran).to.deep.include({ code: 0, stderr: '', stdout: `Saved ${file}\n` });
    expect(service().of('GET', '/a.pictures')).to.have.length(1);
    expect(await readFile(file, 'utf8')).to.equal(formatReport('html', report, Buffer.from('pictures')));
  });

  it('writes no file of an export that it does not understand, and says so: exit code 2', async () => {
    const file = join(folder, 'unknown.sarif');
    const ran = await run(['report', SCAN_ID, '--sarif', file], { [EXPORT]: [link('/a.json')], 'GET /a.json': [replies(200, '{}')] });
    expect(ran.code).to.equal(2);
    expect(ran.stderr)
      .to.include('this command does not understand the JSON export')
      .and.include(`curbcut report ${SCAN_ID} --sarif ${file}`);
    expect(await readFile(file).catch((error: NodeJS.ErrnoException) => error.code)).to.equal('ENOENT');
  });

  it('refuses a table of CSV that does not exist, and one without a file', async () => {
    expect((await run(['report', SCAN_ID, '--csv', 'a.csv', '--csv-table', 'rules'], {})).stderr).to.include('elements, causes, pages');
    expect((await run(['report', SCAN_ID, '--csv-table', 'pages'], {})).stderr).to.include('--csv-table needs --csv FILE');
  });

  it('names the option for the table of a CSV file that cannot be saved', async () => {
    const ran = await run(['report', SCAN_ID, '--csv', join(folder, 'u.csv'), '--csv-table', 'pages'], {
      [EXPORT]: [link('/a.json')],
      'GET /a.json': [replies(200, '{}')],
    });
    expect(ran.stderr).to.include(`--csv ${join(folder, 'u.csv')} --csv-table pages`);
  });

  it('names the saved files as data', async () => {
    const file = join(folder, 'b.pdf');
    const ran = await run(['report', SCAN_ID, '--pdf', file, '--json'], { [PDF]: [link('/b.pdf')], 'GET /b.pdf': [replies(200, '%PDF')] });
    expect(JSON.parse(ran.stdout)).to.deep.equal({ scan_id: SCAN_ID, saved: { pdf: file } });
  });

  it('waits for a scan that is not complete', async () => {
    const early = replies(409, { detail: 'scan_not_complete', message: 'The scan is not complete.' }, { 'Retry-After': '5' });
    const ran = await run(['report', SCAN_ID], { [PDF]: [early, link('/a.pdf')], [EXPORT]: [link('/a.json')] });
    expect(ran).to.deep.include({ code: 0, slept: [5000] });
    expect(ran.stderr).to.include('The report is not ready yet');
  });
});
