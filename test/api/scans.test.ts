/** Polling, report links and credits. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { HIGH_LIMITS, useContext } from './context.ts';

const VIOLATIONS = { total: 10, critical: 1, serious: 2, moderate: 3, minor: 4 };
const OUTCOME = { score: 87.5, violations: VIOLATIONS, pages: { scanned: 5, failed: 0, total: 5 } };

const context = useContext({
  limits: HIGH_LIMITS,
});

describe('GET /v1/ci/scans/{scan_id}', () => {
  it('answers 202 without a result while the scan is under way', async () => {
    const phase = 'scanning';
    const { id, key } = await context.organisation();
    const row = await context.scan(id, {
      phase,
      options: withDefaults({ url: 'https://example.com/', maxPages: 7, thresholds: { minScore: 90 }, crawl: { include: ['/shop/**'] } }),
      pages: { scanned: 2, failed: 0, total: 5 },
      pagesRequested: 7,
      startedAt: new Date(0),
    });
    const { status, headers, body } = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect([status, headers.get('retry-after')]).to.deep.equal([202, '5']);
    // The contract check has all other fields.
    expect(body.options).to.deep.include({ max_pages: 7, wcag_level: 'AA', include: ['/shop/**'], exclude: [], prepare: [] });
    expect(body.thresholds).to.include({ min_score: 90, max_violations: null });
    expect(body).to.include({ scan_id: row.id, status: phase, score: null, passed: null, report_url: null, url: 'https://example.com/' });
    expect(body).to.include({ submitted_at: row.createdAt.toISOString(), started_at: '1970-01-01T00:00:00.000Z', finished_at: null });
    expect(body).to.include({ pages_requested: 7, pages_reserved: 5, pages_tested: 2, pages_charged: null, coverage: null });
  });

  it('accepts the options and thresholds of a result as a submission, except those that only manifests set', async () => {
    const { key } = await context.organisation({ credits: 10 });
    const prepare = [{ goto: '/sign-in' }, { fill: { selector: '#name', value: 'ann' } }];
    const given = { url: 'https://example.com/', max_pages: 2, min_score: 80, exclude: ['/a'], consent: 'reject', prepare };
    const first = await context.request('POST', '/v1/ci/scans', { key, body: given });
    const { url, options, thresholds } = (await context.request('GET', first.body.status_url, { key })).body;
    expect(options).to.deep.include({ max_pages: 2, exclude: ['/a'], consent: 'reject', prepare });
    const { sitemap: _, respect_robots: __, ...stated } = options;
    const again = await context.request('POST', '/v1/ci/scans', { key, body: { url, ...stated, ...thresholds } });
    expect(again.status).to.equal(202);
    expect((await context.request('GET', again.body.status_url, { key })).body).to.deep.include({ options, thresholds });
  });

  it('returns the position of a scan that waits in its queue, and no position if it does not', async () => {
    const { id, key } = await context.organisation();
    const [waiting, admitted] = [await context.scan(id), await context.scan(id)];
    const queueOf = async (scanId: string) => (await context.request('GET', `/v1/ci/scans/${scanId}`, { key })).body.queue;
    await context.stores.queueStates.writeLine('default', { waiting: 3, order: [randomUUID(), waiting.id, randomUUID()] });
    expect(await queueOf(waiting.id)).to.deep.equal({ name: 'default', position: 2, waiting: 3 });
    expect(await queueOf(admitted.id)).to.equal(undefined);
    await context.stores.queueStates.writeLine('default', { waiting: 0, order: [] });
    expect(await queueOf(waiting.id)).to.equal(undefined);
  });

  const ends: [what: string, change: object, status: number][] = [
    ['done and passed', { phase: 'done', outcome: OUTCOME, passed: true }, 200],
    [
      'done and not passed',
      { phase: 'done', outcome: OUTCOME, passed: false, message: 'The score is 87.5, below the minimum of 90.' },
      422,
    ],
    ['failed without thresholds', { phase: 'failed', passed: null, message: 'The site did not answer.' }, 200],
    ['canceled with thresholds', { phase: 'canceled', passed: false, message: 'The scan was canceled.' }, 422],
  ];
  for (const [what, change, status] of ends)
    it(`answers ${status} with the result if ${what}`, async () => {
      const { id, key } = await context.organisation();
      const row = await context.scan(id, change);
      const answer = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
      expect(answer.status).to.equal(status);
      expect(answer.headers.get('retry-after')).to.equal(null);
      expect(answer.body).to.deep.include({ scan_id: row.id, status: row.phase, passed: row.passed, message: row.message });
      if (row.outcome)
        expect(answer.body).to.include({
          score: 87.5,
          violations_count: 10,
          violations_critical: 1,
          violations_serious: 2,
          violations_moderate: 3,
          violations_minor: 4,
          coverage: 100,
        });
      else expect(answer.body).to.include({ score: null, violations_count: null });
    });

  it('has the numbers with and without known issues', async () => {
    const { id, key } = await context.organisation();
    const violations = { total: 3, critical: 0, serious: 1, moderate: 0, minor: 2 };
    const known = { score: 95, violations, matched: 4, unmatched: 1, ending: 2 };
    const row = await context.scan(id, { phase: 'done', outcome: { ...OUTCOME, known }, passed: null, message: null });
    const { body } = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect(body).to.deep.include({
      score: 87.5,
      violations_count: 10,
      score_without_known: 95,
      violations_new_or_open: 3,
      known_issues: { matched: 4, unmatched: 1, ending: 2 },
    });
  });

  it('reads neither the Kubernetes API nor the object store', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    context.calls.length = 0;
    await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect(context.calls).to.deep.equal(['keys.recognise', 'keys.touch', 'rateLimits.admit', 'scans.find', 'queueStates.readLine']);
  });

  it('answers 404 for a scan that does not exist', async () => {
    const { key } = await context.organisation();
    for (const [pattern, code] of [
      ['/v1/ci/scans/{}', 'scan_not_found'],
      ['/v1/scans/{}/report', 'report_not_found'],
    ] as const) {
      const { status, body } = await context.request('GET', pattern.replace('{}', randomUUID()), { key });
      expect([status, body.detail]).to.deep.equal([404, code]);
    }
  });

  it('answers 422 on every route to an ID that is not a UUID', async () => {
    const { key } = await context.organisation();
    for (const id of ['42', `urn:uuid:${randomUUID()}`])
      for (const path of [`/v1/ci/scans/${id}`, `/v1/scans/${id}/report`]) {
        const { status, body } = await context.request('GET', path, { key });
        expect([status, body.detail[0].type]).to.deep.equal([422, 'string.uuid']);
        expect(body.detail[0].loc).to.deep.equal(['path', 'scan_id']);
      }
    const { body } = await context.request('DELETE', '/v1/api-keys/1', { key });
    expect(body.detail[0].loc).to.deep.equal(['path', 'key_id']);
  });

  it('accepts a UUID in upper case, and HEAD', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    expect((await context.request('GET', `/v1/ci/scans/${row.id.toUpperCase()}`, { key })).status).to.equal(202);
    const head = await context.request('HEAD', `/v1/ci/scans/${row.id}`, { key });
    expect([head.status, head.text, head.headers.get('retry-after')]).to.deep.equal([202, '', '5']);
    expect((await context.request('HEAD', `/v1/ci/scans/${randomUUID()}`, { key })).status).to.equal(404);
  });
});

describe('report links', () => {
  it('download the PDF and the export under descriptive file names', async () => {
    const { id, key } = await context.organisation();
    const scanId = randomUUID();
    const row = await context.scan(id, { phase: 'done', outcome: OUTCOME, reports: await context.storeReports(scanId) });
    const poll = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect(poll.body.report_url).to.equal(`/v1/scans/${row.id}/report`);
    for (const [path, content, extension] of [
      [poll.body.report_url as string, 'the pdf', 'pdf'],
      [`${poll.body.report_url as string}/json`, 'the export', 'json'],
    ]) {
      const { status, body } = await context.request('GET', path!, { key });
      expect([status, body.expires_in]).to.deep.equal([200, 3600]);
      const download = await fetch(body.url as string);
      expect(await download.text()).to.equal(content);
      expect(download.headers.get('content-disposition')).to.include(`accessibility-example.com-${row.id.slice(0, 8)}.${extension}`);
    }
  });

  it('get 409 while the scan is not complete', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'generating' });
    const { status, body, headers } = await context.request('GET', `/v1/scans/${row.id}/report`, { key });
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([409, 'scan_not_complete', '5']);
  });

  it('get 404 after the end of their retention, while polling still answers with the verdict', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, {
      phase: 'done',
      outcome: OUTCOME,
      passed: true,
      reports: await context.storeReports(randomUUID()),
    });
    const poll = async () => (await context.request('GET', `/v1/ci/scans/${row.id}`, { key })) as { status: number; body: object };
    const before = await poll();
    await context.stores.scans.reportsRemoved(row.id);
    const after = await poll();
    expect(after.status).to.equal(before.status);
    expect(after.body).to.deep.equal({ ...before.body, report_url: null });
    const { status, body } = await context.request('GET', `/v1/scans/${row.id}/report`, { key });
    expect([status, body.detail]).to.deep.equal([404, 'report_not_found']);
  });

  it('get 404 for a failed scan, a deleted report, and an export that was never stored', async () => {
    const { id, key } = await context.organisation();
    const failed = await context.scan(id, { phase: 'failed' });
    expect((await context.request('GET', `/v1/scans/${failed.id}/report`, { key })).body.detail).to.equal('report_not_found');
    const deleted = await context.scan(id, { phase: 'done', outcome: OUTCOME, reports: await context.storeReports(randomUUID(), []) });
    expect((await context.request('GET', `/v1/scans/${deleted.id}/report`, { key })).body.detail).to.equal('report_not_found');
    const legacy = await context.scan(id, { phase: 'done', outcome: OUTCOME, reports: await context.storeReports(randomUUID(), ['pdf']) });
    expect((await context.request('GET', `/v1/scans/${legacy.id}/report`, { key })).status).to.equal(200);
    const json = await context.request('GET', `/v1/scans/${legacy.id}/report/json`, { key });
    expect([json.status, json.body.detail]).to.deep.equal([404, 'json_export_unavailable']);
  });
});

describe('GET /v1/scans/{scan_id}/report/pictures', () => {
  it('returns a link from which the picture of one root cause can be read alone', async () => {
    const { id, key } = await context.organisation();
    const scanId = randomUUID();
    const row = await context.scan(id, { id: scanId, phase: 'done', outcome: OUTCOME, reports: await context.storeReports(scanId) });
    const link = await context.stores.reports.uploadLink(reportKeys(row.id).pictures, 'application/octet-stream', 60);
    await fetch(link, { method: 'PUT', body: 'first second', headers: { 'content-type': 'application/octet-stream' } });
    const { status, body } = await context.request('GET', `/v1/scans/${row.id}/report/pictures`, { key });
    expect([status, body.expires_in]).to.deep.equal([200, 3600]);
    const part = await fetch(body.url as string, { headers: { range: 'bytes=6-11' } });
    expect([part.status, await part.text()]).to.deep.equal([206, 'second']);
    expect(part.headers.get('content-disposition')).to.include(`accessibility-example.com-${row.id.slice(0, 8)}.pictures`);
  });

  it('says that a scan has no pictures', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'done', outcome: OUTCOME, reports: await context.storeReports(randomUUID()) });
    const { status, body } = await context.request('GET', `/v1/scans/${row.id}/report/pictures`, { key });
    expect([status, body.detail]).to.deep.equal([404, 'pictures_unavailable']);
  });
});

describe('GET /v1/billing/credits', () => {
  it('returns the available credits, the plan, and whether setup is complete', async () => {
    const fresh = await context.organisation({ plan: 'trial' });
    const empty = await context.request('GET', '/v1/billing/credits', { key: fresh.key });
    expect(empty.body).to.deep.equal({ balance: 0, plan: 'trial', setup_complete: false });
    await context.stores.credits.grant(fresh.id, 'g', 7);
    const { status, body } = await context.request('GET', '/v1/billing/credits', { key: fresh.key });
    expect([status, body]).to.deep.equal([200, { balance: 7, plan: 'trial', setup_complete: true }]);
  });
});
