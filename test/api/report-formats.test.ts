/** SARIF, JUnit XML and EARL over HTTP: made from the stored export when they are first asked for. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { formatReport } from '../../report/formats/formats.ts';
import { REPORT_FORMATS, reportKeys } from '../../report/schema/objects.ts';
import { CONVERTED_MAX_BYTES } from '../../report/schema/export-size.ts';
import { smallReport } from '../report/samples.ts';
import { reportWith } from '../web/large-report.ts';
import { eventually, useContext } from './context.ts';

describe('GET /v1/scans/{scan_id}/report/json with a format', () => {
  const context = useContext();

  const report = smallReport();

  /** Stores a scan that is done, with this export. */
  async function scanWith(content: string | null) {
    const { id: organisation, key } = await context.organisation();
    const id = randomUUID();
    const reports = await context.storeReports(id, content === null ? ['pdf'] : ['pdf', 'export']);
    if (content !== null) {
      const link = await context.stores.reports.uploadLink(reportKeys(id).export, 'application/json', 60);
      const put = await fetch(link, { method: 'PUT', body: content, headers: { 'content-type': 'application/json' } });
      expect(put.status).to.equal(200);
    }
    await context.scan(organisation, { id, phase: 'done', reports });
    return { id, get: (format: string) => context.request('GET', `/v1/scans/${id}/report/json?format=${format}`, { key }) };
  }

  for (const format of ['junit', 'earl', 'html', 'csv', 'csv_pages', 'openacr', 'barriers'] as const)
    it(`returns a link to ${format}, with its type and a file name`, async () => {
      const { id, get } = await scanWith(JSON.stringify(report));
      const { status, body } = await get(format);
      expect(status).to.equal(200);
      expect(body.expires_in).to.equal(3600);
      const response = await fetch(body.url);
      const { contentType, extension } = REPORT_FORMATS[format];
      expect(response.headers.get('content-type')).to.equal(contentType);
      expect(response.headers.get('content-disposition')).to.include(`-${id.slice(0, 8)}.${extension}`);
      // With the byte order mark, which `text()` leaves out.
      expect(Buffer.from(await response.arrayBuffer()).toString()).to.equal(formatReport(format, report));
    });

  it('makes each format once, also for requests at the same time, and keeps it', async () => {
    const { get } = await scanWith(JSON.stringify(report));
    context.calls.length = 0;
    const all = [...(await Promise.all([get('sarif'), get('sarif'), get('sarif')])), await get('sarif')];
    expect(all.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    expect(context.calls.filter((call) => call === 'reports.writeFormat')).to.have.length(1);
    expect(context.calls.filter((call) => call === 'reports.read')).to.have.length(1);
  });

  it('returns the JSON export for json, and refuses other formats', async () => {
    const { id, get } = await scanWith(JSON.stringify(report));
    const { body } = await get('json');
    expect(new URL(body.url).pathname).to.match(new RegExp(`/scans/${id}/report\\.json$`));
    const refused = await get('pdf');
    expect(refused.status).to.equal(422);
    expect(refused.body.detail[0].loc).to.deep.equal(['query', 'format']);
  });

  it('says that there is no export, or that it cannot be converted here', async () => {
    const none = await (await scanWith(null)).get('junit');
    expect([none.status, none.body.detail]).to.deep.equal([404, 'json_export_unavailable']);
    const other = await (await scanWith('{"schema_version":2}')).get('junit');
    expect([other.status, other.body.detail]).to.deep.equal([404, 'report_version_unsupported']);
    const large = await (await scanWith(`{"a":"${'x'.repeat(CONVERTED_MAX_BYTES)}"}`)).get('html');
    expect([large.status, large.body.detail]).to.deep.equal([404, 'report_format_unavailable']);
  });

  it('calls an export of this version that it cannot convert an error of its own', async () => {
    const { status, body } = await (await scanWith(JSON.stringify({ tools: report.tools }))).get('junit');
    expect([status, body.detail]).to.deep.equal([500, 'internal_error']);
  });

  it('makes the HTML report and CSV of 100 pages with 2,000 root causes', async () => {
    const { get } = await scanWith(JSON.stringify(reportWith(100, 2_000, 'https://example.com/')));
    expect([(await get('html')).status, (await get('csv')).status]).to.deep.equal([200, 200]);
  });

  it('finds nothing, and stores nothing, after retention removed the export', async () => {
    const { id, get } = await scanWith(JSON.stringify(report));
    await context.stores.reports.remove([reportKeys(id).export]);
    const gone = await get('earl');
    expect([gone.status, gone.body.detail]).to.deep.equal([404, 'json_export_unavailable']);
    expect(await context.stores.reports.size(reportKeys(id).earl)).to.equal(null);
  });

  it('refuses with 503 what exceeds the share of an organisation', async () => {
    const { get } = await scanWith(JSON.stringify(report));
    const { promise: stored, resolve: answer } = Promise.withResolvers<void>();
    let checked = 0;
    context.faults.set('reports.read', async (real, ...args) => {
      await stored;
      return real(...args);
    });
    context.faults.set('reports.size', async (real, ...args) => {
      const size = await real(...args);
      checked += 1;
      return size;
    });
    const pending = [get('sarif'), get('junit')];
    await eventually('two conversions', () => checked === pending.length);
    const { body, headers } = await get('earl');
    answer();
    expect([body.detail, body.limit, headers.get('retry-after')]).to.deep.equal(['replica_busy', 'organisation', '5']);
    expect((await Promise.all(pending)).map(({ status }) => status)).to.deep.equal([200, 200]);
  });
});
