/** Submissions over HTTP: options, charges and errors. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { HIGH_LIMITS, useContext, SUBMISSION } from './context.ts';

describe('POST /v1/ci/scans', () => {
  const context = useContext({ limits: HIGH_LIMITS, allowScanSecrets: ['shop'] });
  afterEach(async () => {
    context.faults.clear();
    await context.stores.queueStates.write({ paused: false, live: 0 });
  });

  it('accepts a submission with defaults, writes its resource and reserves its credits', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const { status, body, headers } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect(status).to.equal(202);
    expect(body).to.include({ status: 'queued', status_url: `/v1/ci/scans/${body.scan_id}`, pages_requested: 5, pages_reserved: 5 });
    expect(headers.get('location')).to.equal(body.status_url);
    expect(headers.get('retry-after')).to.equal('5');
    expect(headers.get('idempotent-replayed')).to.equal(null);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 15, held: 5, spent: 0 });

    const row = await context.stores.scans.find(body.scan_id, id);
    expect(row).to.deep.include({ submission: 'accepted', phase: 'queued', pagesRequested: 5, pagesReserved: 5, origin: 'api' });
    const resource = await context.resource(body.scan_id);
    expect(resource.metadata.labels).to.include({ 'curbcut.dev/organisation': id, 'curbcut.dev/scan-id': body.scan_id });
    expect(resource.spec).to.include({ url: 'https://example.com/', maxPages: 5, wcagLevel: 'AA', wcagVersion: '2.1', locale: 'en' });
  });

  it('keeps the metadata of a submission, in the result and on the resource', async () => {
    const { key } = await context.organisation({ credits: 20 });
    const metadata = { branch: 'feature/a=b', commit: '4f371ac9', 'dotted.key': 'ü 😀' };
    const { body } = await context.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, metadata } });
    const { body: result } = await context.request('GET', `/v1/ci/scans/${body.scan_id}`, { key });
    expect(result.metadata).to.deep.equal(metadata);
    expect((await context.resource(body.scan_id)).metadata.annotations).to.include({
      'metadata.curbcut.dev/branch': metadata.branch,
      'metadata.curbcut.dev/commit': metadata.commit,
      'metadata.curbcut.dev/dotted.key': metadata['dotted.key'],
    });
  });

  it('accepts every option', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const { body } = await context.request('POST', '/v1/ci/scans', {
      key,
      body: {
        url: 'http://example.com:8080/start?q=1#/route',
        min_score: 92.5,
        max_violations: 0,
        fail_on_severity: 'moderate',
        min_coverage: 80,
        max_pages: 7,
        fail_on_truncation: false,
        wcag_level: 'AAA',
        wcag_version: '2.2',
        locale: 'pl',
        consent: 'reject',
        prepare: [{ goto: '/start' }, { fill: { selector: '#year', value: '1980' } }, { wait_for: 'main' }],
      },
    });
    const row = await context.stores.scans.find(body.scan_id, id);
    expect(row?.options).to.deep.include({
      url: 'http://example.com:8080/start?q=1#/route',
      maxPages: 7,
      wcagLevel: 'AAA',
      wcagVersion: '2.2',
      locale: 'pl',
      thresholds: { minScore: 92.5, maxViolations: 0, failOnSeverity: 'moderate', minCoverage: 80 },
    });
    const prepare = [{ goto: '/start' }, { fill: { selector: '#year', value: '1980' } }, { waitFor: 'main' }];
    expect(row?.options.crawl).to.deep.include({ consent: 'reject', prepare });
    expect((await context.resource(body.scan_id)).spec.crawl).to.deep.include({ consent: 'reject', prepare });
  });

  it('stores the baseline with the scan and its resource, and shows the comparison', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const baseline = { metadata: { branch: 'main' }, optional: true, count: 'elements' };
    const { status, body } = await context.request('POST', '/v1/ci/scans', {
      key,
      body: { ...SUBMISSION, max_new_violations: 0, baseline },
    });
    expect(status, JSON.stringify(body)).to.equal(202);
    expect((await context.stores.scans.find(body.scan_id, id))?.baseline).to.deep.equal(baseline);
    expect((await context.resource(body.scan_id)).spec).to.deep.include({ baseline, thresholds: { maxNewViolations: 0 } });
    const poll = async () => (await context.request('GET', `/v1/ci/scans/${body.scan_id}`, { key })).body.baseline;
    const difference_url = `/dashboard/scans/${body.scan_id}/difference`;
    const difference = { new: 2, onNewPages: 1, fixed: 3, unchanged: 4, notTested: 5 };
    const outcome = {
      score: 80,
      violations: { total: 7, critical: 0, serious: 7, moderate: 0, minor: 0 },
      pages: { scanned: 1, failed: 0, total: 1 },
    };
    await context.stores.scans.mirror(body.scan_id, {
      phase: 'done',
      finishedAt: new Date(),
      outcome: { ...outcome, baseline: { scanId: body.scan_id, optional: true, difference } },
    });
    expect(await poll()).to.deep.equal({
      scan_id: body.scan_id,
      problem: null,
      new: 2,
      new_known: 0,
      on_new_pages: 1,
      fixed: 3,
      unchanged: 4,
      not_tested: 5,
      difference_url,
    });
    // A done scan of the organisation may be named; one of another organisation is unknown.
    const named = (of: string) =>
      context.request('POST', '/v1/ci/scans', { key: of, body: { ...SUBMISSION, baseline: { scan: body.scan_id } } });
    expect((await named(key)).status).to.equal(202);
    expect((await named((await context.organisation({ credits: 20 })).key)).body.detail[0]).to.include({ type: 'baseline.not_found' });
  });

  it('checks a page of a scan with its options, and without its thresholds', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const url = 'https://example.com/';
    const crawl = {
      consent: 'reject',
      prepare: [{ click: 'a' }, { goto: '/start' }],
      hosts: ['*.example.com'],
      urls: ['/a', '/b'],
    } as const;
    const options = withDefaults({
      url,
      maxPages: 9,
      wcagLevel: 'AAA',
      locale: 'pl',
      thresholds: { minScore: 90 },
      crawl: structuredClone(crawl) as never,
    });
    const done = { phase: 'done', options } as const;
    const scan = await context.scan(id, { ...done, auth: { secret: 'shop' }, signedIn: true });
    const cause = '0123456789abcdef';
    const post = (page: string, of: string, more: object = {}) =>
      context.request('POST', '/v1/ci/scans', { key, body: { url: page, check_of: { scan: of, cause }, ...more } });
    const { status, body } = await post(`${url}shop`, scan.id);
    expect(status, JSON.stringify(body)).to.equal(202);
    expect(body).to.include({ pages_requested: 1 });
    const row = (await context.stores.scans.find(body.scan_id, id))!;
    expect(row.baseline).to.deep.equal({ scan: scan.id, check: { cause } });
    expect(row.auth).to.deep.equal({ secret: 'shop' });
    const prepare = [{ goto: url }, { click: 'a' }, { goto: `${url}start` }];
    expect(row.options).to.deep.equal({
      ...options,
      url: `${url}shop`,
      maxPages: 1,
      thresholds: {},
      crawl: { ...options.crawl, urls: [], prepare },
    });
    expect((await context.resource(body.scan_id)).spec.baseline).to.deep.include(row.baseline);
    const checked = { answer: 'still_there', before: 12, left: 3, new: 0 } as const;
    const outcome = {
      score: 80,
      violations: { total: 3, critical: 0, serious: 3, moderate: 0, minor: 0 },
      pages: { scanned: 1, failed: 0, total: 1 },
    };
    await context.stores.scans.mirror(row.id, {
      phase: 'done',
      finishedAt: new Date(),
      outcome: { ...outcome, baseline: { scanId: scan.id, optional: false, check: { cause }, checked } },
    });
    const { body: result } = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect(result.baseline.check).to.deep.equal({ cause, reason: null, ...checked });

    const again = await post(`${url}cart`, row.id);
    expect((await context.stores.scans.find(again.body.scan_id, id))?.baseline, 'a check of a check').to.deep.equal(row.baseline);
    expect(
      (await context.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, baseline: { scan: row.id } } })).body.detail[0],
    ).to.include({ type: 'baseline.not_found' });
    const [mounted, live] = [await context.scan(id, { ...done, signedIn: true }), await context.scan(id)];
    for (const [what, refusal, loc, type] of [
      ['options', await post(url, scan.id, { max_pages: 2 }), ['body', 'max_pages'], 'check.options'],
      ['another site', await post('https://example.org/', scan.id), ['body', 'url'], 'check.refused'],
      ['keys for another origin', await post(url.replace('https:', 'http:'), scan.id), ['body', 'url'], 'check.refused'],
      ['a Secret of a manifest', await post(url, mounted.id), ['body', 'check_of', 'scan'], 'check.refused'],
      ['a scan in progress', await post(url, live.id), ['body', 'check_of', 'scan'], 'check.not_found'],
    ] as const)
      expect(refusal.body.detail?.[0], what).to.deep.include({ loc, type });
  });

  it('rejects steps where the installation does not run them, and accepts the rest', async () => {
    const strict = await context.replica({ allowPrepareSteps: false });
    const { id, key } = await context.organisation({ credits: 20 });
    const submit = (prepare: unknown) => strict.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, prepare } });
    const { status, body } = await submit([{ click: 'a' }]);
    expect(status).to.equal(422);
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'prepare'], type: 'prepare.disabled' });
    expect(await context.stores.credits.balance(id)).to.include({ balance: 20 });
    expect((await submit([])).status).to.equal(202);
  });

  it('treats a null threshold as absent', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    const nothing = { min_score: null, max_violations: null, max_new_violations: null, fail_on_severity: null, min_coverage: null };
    const { body } = await context.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, ...nothing } });
    expect((await context.stores.scans.find(body.scan_id, id))?.options.thresholds).to.deep.equal({});
  });

  it('answers 402 if there are not enough credits, charges nothing and keeps no row', async () => {
    const { id, key } = await context.organisation({ credits: 4 });
    const { status, body } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect(status).to.equal(402);
    expect(body).to.include({ detail: 'insufficient_credits', balance: 4, pages_requested: 5 });
    expect(await context.stores.credits.balance(id)).to.include({ balance: 4, held: 0 });
    expect(await context.stores.scans.pending(new Date(Date.now() + 1000), 10)).to.deep.equal([]);
  });

  it('reserves the available credits with fail_on_truncation false, and answers 402 without credits', async () => {
    const { id, key } = await context.organisation({ credits: 3 });
    const body = { ...SUBMISSION, fail_on_truncation: false };
    const first = await context.request('POST', '/v1/ci/scans', { key, body });
    expect(first.status).to.equal(202);
    expect(first.body).to.include({ pages_requested: 5, pages_reserved: 3 });
    expect(first.body.message).to.include('3 of 5 pages');
    expect((await context.stores.scans.find(first.body.scan_id))?.pagesReserved).to.equal(3);
    const second = await context.request('POST', '/v1/ci/scans', { key, body });
    expect(second.status).to.equal(402);
    expect(second.body.balance).to.equal(0);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 0, held: 3 });
  });

  it('answers 415 to a body that is not JSON, and 413 to one that is too large', async () => {
    const { key } = await context.organisation();
    const text = await context.request('POST', '/v1/ci/scans', { key, raw: 'url=x', headers: { 'Content-Type': 'text/plain' } });
    expect([text.status, text.body.detail]).to.deep.equal([415, 'unsupported_media_type']);
    const raw = JSON.stringify({ ...SUBMISSION, filler: 'x'.repeat(64 * 1024) });
    const { status, body } = await context.request('POST', '/v1/ci/scans', { key, raw });
    expect([status, body.detail]).to.deep.equal([413, 'payload_too_large']);
    const charset = { 'Content-Type': 'application/json; charset=utf-8' };
    expect((await context.request('POST', '/v1/ci/scans', { key, raw: '{}', headers: charset })).status).to.equal(422);
  });

  it('answers 503 while the queue is paused, and while too many scans are live', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    await context.stores.queueStates.write({ paused: true, live: 0 });
    const paused = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect([paused.status, paused.body.detail, paused.headers.get('retry-after')]).to.deep.equal([503, 'queue_paused', '30']);
    await context.stores.queueStates.write({ paused: false, live: 2000 });
    const full = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    expect([full.status, full.body.detail, full.headers.get('retry-after')]).to.deep.equal([503, 'queue_full', '30']);
    expect(full.body.limit).to.equal('installation');
    await context.stores.queueStates.write({ paused: false, live: 1999 });
    expect((await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).status).to.equal(202);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 0, held: 5 });
  });

  it('answers 429 above the share of one organisation in the live scans, and still accepts others', async () => {
    const [busy, other] = [await context.organisation({ credits: 50 }), await context.organisation({ credits: 50 })];
    const fair = await context.replica({ maxLiveScansPerOrganisation: 2 });
    const submit = (key: string) =>
      fair.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': randomUUID() } });
    const answers = await Promise.all([1, 2, 3, 4].map(() => submit(busy.key)));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 202, 429, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect([refused.body.detail, refused.headers.get('retry-after')]).to.deep.equal(['live_scans_exceeded', '30']);
    expect(refused.body.message).to.include("this organisation's scans");
    expect((await submit(other.key)).status).to.equal(202);
  });

  it('writes one log line with request ID and scan ID, and no secrets', async () => {
    const { id, key, keyId } = await context.organisation({ credits: 5 });
    context.log.length = 0;
    const requestId = `test-${randomUUID()}`;
    const refused = await context.request('POST', '/v1/ci/scans?api_key=oops', { key, body: SUBMISSION });
    expect(refused.status).to.equal(422);
    const { body } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'X-Request-Id': requestId } });
    const lines = context.log.filter(({ fields }) => fields.request === requestId);
    expect(lines).to.have.lengthOf(1);
    expect(lines[0]!.fields).to.deep.include({
      method: 'POST',
      route: '/v1/ci/scans',
      status: 202,
      organisation: id,
      key: keyId,
      scan: body.scan_id,
    });
    expect(JSON.stringify(context.log)).to.not.include(key).and.not.include('oops');
  });
});
