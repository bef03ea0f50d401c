/** The dashboard's scans over HTTP: forms that are refused or sent twice, downloads, and streams of sessions that end. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { useContext, eventually } from './context.ts';
import { formatReport } from '../../report/formats/formats.ts';
import { CSV_TABLES, REPORT_FORMATS, reportKeys } from '../../report/schema/objects.ts';
import { smallReport } from '../report/samples.ts';
import { signedIn, type Person } from './people.ts';
import { down } from './replica.ts';

const NEW = '/dashboard/scans/new';
const SCAN = /^\/dashboard\/scans\/[0-9a-f-]{36}$/;

describe('the forms of scans in the dashboard', () => {
  const context = useContext();

  const member = async (): Promise<Person> =>
    signedIn(context, { role: 'member', organisation: (await context.organisation({ credits: 20 })).id });
  const fields = (change: Record<string, string> = {}) => ({
    url: 'https://example.com/',
    max_pages: '5',
    wcag_version: '2.2',
    wcag_level: 'AA',
    locale: 'en',
    pictures: 'on',
    advice: 'on',
    fail_on_truncation: 'on',
    consent: 'keep',
    prepare: '',
    metadata: '',
    idempotency_key: randomUUID(),
    ...change,
  });
  const scansOf = (organisation: string): Promise<number> => context.db.collection('scans').countDocuments({ organisation });

  it('start one scan if they are sent twice, also at the same time, and lead to it', async () => {
    const { client, organisation } = await member();
    const form = fields();
    const answers = [...(await Promise.all([client.submit(NEW, form), client.submit(NEW, form)])), await client.submit(NEW, form)];
    expect(answers.map(({ status }) => status)).to.deep.equal([303, 303, 303]);
    const [first, ...others] = answers.map(({ headers }) => headers.get('location')!);
    expect(first).to.match(SCAN);
    expect(others).to.deep.equal([first, first]);
    expect(await scansOf(organisation)).to.equal(1);
  });

  it('take an address without a scheme, as the public form and the command line do', async () => {
    for (const [url, options] of [
      ['example.com/a', { url: 'https://example.com/a', httpFallback: true }],
      ['https://example.com/a', { url: 'https://example.com/a', httpFallback: false }],
    ] as const) {
      const { client, organisation } = await member();
      expect((await client.submit(NEW, fields({ url }))).status).to.equal(303);
      expect((await context.stores.scans.search(organisation, { limit: 1 })).rows[0]!.options).to.include(options);
    }
  });

  it('say at the field why a target is refused', async () => {
    const { client, organisation } = await member();
    const url = 'https://inside.example.com/';
    const { status, text } = await client.submit(NEW, fields({ url }));
    expect(status).to.equal(422);
    expect(text).to.include('id="url-error"').and.include(`value="${url}"`);
    expect(await scansOf(organisation)).to.equal(0);
  });

  it('take every option of the API', async () => {
    const { client, organisation } = await member();
    const given = fields({
      pictures: '',
      fail_on_truncation: '',
      max_pages: '30',
      min_score: '90.5',
      fail_on_severity: 'serious',
      include: ' /docs/**\r\n\r\n/blog/*',
      exclude: `/${'é'.repeat(511)}\n`.repeat(50),
      hosts: 'example.com:8080\r\n*.example.com\r\n',
      rewrite_host: 'live.example.com',
      wait_for: 'main',
      settle_ms: '250',
      consent: 'reject',
      prepare: '- click: button.adult\n- waitFor: main\n',
      metadata: 'branch=feature/a=b\r\n\r\n team=web \r\n',
    });
    expect((await client.submit(NEW, given)).status).to.equal(303);
    const row = await context.db.collection('scans').findOne({ organisation });
    expect(row?.pagesReserved).to.equal(20);
    expect(row?.metadata).to.deep.equal(['branch=feature/a=b', 'team=web']);
    expect(row?.options).to.deep.include({ pictures: false, advice: true, thresholds: { minScore: 90.5, failOnSeverity: 'serious' } });
    expect(row?.options.crawl).to.deep.include({
      include: ['/docs/**', '/blog/*'],
      exclude: Array.from({ length: 50 }, () => `/${'é'.repeat(511)}`),
      hosts: ['example.com:8080', '*.example.com'],
      rewriteHost: 'live.example.com',
      waitFor: 'main',
      settleMs: 250,
      consent: 'reject',
      prepare: [{ click: 'button.adult' }, { waitFor: 'main' }],
    });
  });

  it('say at the field what is wrong with steps, and keep them', async () => {
    const { client, organisation } = await member();
    for (const [prepare, message] of [
      ['- click: [', 'The steps are not valid YAML'],
      ['- click: a\n- goto: https://example.org/', 'Step 2: goto https://example.org/ leaves the site of the scan, example.com.'],
    ] as const) {
      const { status, text } = await client.submit(NEW, fields({ prepare }));
      expect(status, prepare).to.equal(422);
      expect(text, prepare).to.include('id="prepare-error"').and.include(message).and.include(prepare);
    }
    expect(await scansOf(organisation)).to.equal(0);
  });

  it('have no steps where the installation does not run them, and cannot scan again with them', async () => {
    const strict = await context.replica({ allowPrepareSteps: false });
    const { id } = await context.organisation({ credits: 20 });
    const { client, organisation } = await signedIn({ ...context, url: strict.url }, { role: 'member', organisation: id });
    expect((await client.get(NEW)).text)
      .to.include('name="consent"')
      .and.not.include('name="prepare"');
    const options = withDefaults({ url: 'https://example.com/', crawl: { prepare: [{ click: 'a' }] } });
    const row = await context.scan(organisation, { phase: 'done', finishedAt: new Date(), options });
    const again = await client.submit(`/dashboard/scans/${row.id}/again`, { idempotency_key: randomUUID() }, NEW);
    expect(again.status).to.equal(422);
    expect(again.text).to.include('This service does not run steps that prepare a scan');
  });

  it('keep what was typed and the key of the form if a dependency is down, and charge nothing', async () => {
    const { client, organisation } = await member();
    const form = fields({ min_score: '90' });
    context.faults.set('scanResources.submit', down);
    const { status, headers, text } = await client.submit(NEW, form);
    expect(status).to.equal(503);
    expect(Number(headers.get('retry-after'))).to.be.greaterThan(0);
    expect(text).to.include('value="90"').and.include(`value="${form.idempotency_key}"`).and.not.include('secret-host');
    context.faults.clear();
    expect((await client.submit(NEW, form)).status).to.equal(303);
    expect((await context.stores.credits.balance(organisation))!.balance).to.equal(15);
  });

  it('say with 429 when to try again', async () => {
    const limited = await context.replica({ limits: { submissions: { limit: 1, windowSeconds: 60 } } });
    const { id } = await context.organisation({ credits: 20 });
    const { client } = await signedIn({ ...context, url: limited.url }, { organisation: id });
    expect((await client.submit(NEW, fields())).status).to.equal(303);
    const refused = await client.submit(NEW, fields({ max_pages: '7' }));
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
    expect(refused.text).to.include('role="alert"').and.include('value="7"');
  });
});

describe('downloads of a session', () => {
  const context = useContext();

  for (const [path, which, type] of [
    ['report', 'pdf', 'application/pdf'],
    ['report/json', 'export', 'application/json'],
  ] as const)
    it(`lead to the bytes of the ${which}`, async () => {
      const { client, organisation } = await signedIn(context, { role: 'viewer' });
      const { id } = await context.scan(organisation, { phase: 'done', finishedAt: new Date() });
      await context.db.collection<{ _id: string }>('scans').updateOne({ _id: id }, { $set: { reports: await context.storeReports(id) } });
      const { status, headers } = await client.get(`/dashboard/scans/${id}/${path}`);
      expect([status, headers.get('cache-control')]).to.deep.equal([303, 'no-store']);
      const file = await fetch(headers.get('location')!);
      expect([file.status, await file.text()]).to.deep.equal([200, `the ${which}`]);
      expect(file.headers.get('content-type')).to.equal(type);
      expect(file.headers.get('content-disposition')).to.match(/^attachment; filename=/);
    });

  it('lead to each table of the results as CSV, and to the drafts', async () => {
    const { client, organisation } = await signedIn(context, { role: 'viewer' });
    const { id } = await context.scan(organisation, { phase: 'done', finishedAt: new Date() });
    const reports = await context.storeReports(id);
    const link = await context.stores.reports.uploadLink(reportKeys(id).export, 'application/json', 60);
    await fetch(link, { method: 'PUT', body: JSON.stringify(smallReport()), headers: { 'content-type': 'application/json' } });
    await context.db.collection<{ _id: string }>('scans').updateOne({ _id: id }, { $set: { reports } });
    const { text } = await client.get(`/dashboard/scans/${id}`);
    const tables = Object.entries(CSV_TABLES).map(([table, format]) => [`${table}.csv`, format] as const);
    for (const [name, format] of [...tables, ['openacr', 'openacr'], ['barriers', 'barriers']] as const) {
      const path = `/dashboard/scans/${id}/report/${name}`;
      expect(text).to.include(`href="${path}"`);
      const file = await fetch((await client.get(path)).headers.get('location')!);
      expect(file.headers.get('content-type')).to.equal(REPORT_FORMATS[format].contentType);
      expect(Buffer.from(await file.arrayBuffer()).toString()).to.equal(formatReport(format, smallReport()));
    }
  });
});

describe('the event stream of a session', () => {
  const context = useContext({ streams: { keepaliveMs: 60_000, pollMs: 60_000, pollWithoutBusMs: 60_000, checkMs: 50 } });

  it('ends when the person signs out, and a reconnect is refused', async () => {
    const person = await signedIn(context);
    const { id } = await context.scan(person.organisation);
    const path = `/dashboard/scans/${id}/events`;
    const cookie = [...person.client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const stream = await new Promise<IncomingMessage>((resolve, reject) =>
      httpRequest(context.url + path, { headers: { cookie, accept: 'text/event-stream' } }, resolve)
        .on('error', reject)
        .end(),
    );
    expect(stream.statusCode).to.equal(200);
    let text = '';
    let ended = false;
    stream.setEncoding('utf8').on('data', (part: string) => void (text += part));
    stream.on('close', () => void (ended = true)).on('error', () => undefined);
    await eventually('the current state', () => text.includes('"event"'));
    expect(ended).to.equal(false);
    await person.client.submit('/dashboard/sign-out', {}, '/dashboard');
    await eventually('the end of the stream', () => ended);
    expect((await person.client.get(path, { accept: 'text/event-stream' })).status).to.equal(303);
  });
});
