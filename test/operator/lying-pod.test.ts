import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import type { PodStored } from '../../core/protocol/pod-messages.ts';
import type { TestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { PDF, bytesOf, digestOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { useContext, reasonOf, until, type Scan } from './context.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';

describe('operator: a pod that reports false results', function () {
  this.timeout(240_000);
  const context = useContext();
  before(async () => {
    await context.grant(1000);
    context.start();
  });

  async function begin(): Promise<{ scan: Scan; pod: Pod; report: Report }> {
    const scan = await context.submit({ thresholds: { maxViolations: 2 } });
    const pod = await scan.pod();
    return { scan, pod, report: reportOf(await scan.input()) };
  }

  async function expectRefused(scan: Scan, why: RegExp): Promise<void> {
    const spent = await context.spent();
    const refused = await scan.settles();
    expect(refused.status?.phase).to.equal('failed');
    expect(reasonOf(refused, 'Succeeded')).to.equal('ResultsRefused');
    expect(refused.status?.message).to.match(why);
    expect(refused.status?.passed).to.equal(false);
    expect(await scan.row()).to.deep.include({ phase: 'failed', outcome: null, reports: null });
    expect(await context.spent()).to.equal(spent);
  }

  const announcements: [string, (stored: PodStored) => void, RegExp][] = [
    ['a wrong digest of the export', (stored) => (stored.export.sha256 = '0'.repeat(64)), /digest of the export is not the announced one/],
    ['a wrong digest of the PDF', (stored) => (stored.pdf.sha256 = '0'.repeat(64)), /digest of the PDF is not the announced one/],
    ['a wrong size', (stored) => (stored.export.bytes += 1), /instead of the announced/],
    ['more bytes than are accepted', (stored) => (stored.export.bytes = 200_000_000), /more than the 1000000 that are accepted/],
    ['pages that are not in the export', (stored) => (stored.pages.scanned = 5), /page counts differ from the scanner's summary/],
  ];
  for (const [what, lie, why] of announcements)
    it(`is refused for ${what}`, async () => {
      const { scan, pod, report } = await begin();
      const stored = await scan.upload(pod, bytesOf(report));
      lie(stored);
      await scan.publish(stored);
      await expectRefused(scan, why);
    });

  const first = (report: Report) => report.pages[0] as TestedPage;
  const contents: [string, (report: Report) => unknown, RegExp][] = [
    ['text that is not JSON', () => 'nothing', /does not match its schema|not JSON/],
    ['an unknown field', (report) => Object.assign(report, { more: 1 }), /does not match its schema/],
    ["another scan's id", (report) => (report.scan.id = 'another'), /about another scan/],
    ['another URL', (report) => (report.scan.url = 'https://example.com/'), /about another URL/],
    ['other options', (report) => (report.scan.options.wcag_level = 'A'), /with other options/],
    ['more lenient thresholds', (report) => (report.scan.thresholds.max_violations = 99), /with other thresholds/],
    ['a more favourable verdict', (report) => (report.scan.verdict = { passed: true, message: null }), /verdict does not follow/],
    [
      'lower violation counts',
      (report) => (report.counts = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }),
      /counts do not follow/,
    ],
    ['a higher score', (report) => (report.score.value = 100), /score does not follow from the pages/],
    ['a higher page score', (report) => (first(report).score = 100), /score of page .* does not follow/],
    ['fewer failed rules', (report) => (first(report).rules.critical.failed = 0), /score of page .* does not follow/],
    ['fewer pages found', (report) => (report.score.pages_found = 1), /coverage does not follow/],
    ['fewer pages attempted', (report) => (report.score.pages_attempted = 1), /coverage does not follow/],
    ['fewer root causes', (report) => report.groups.pop(), /root causes do not follow/],
  ];
  for (const [what, lie, why] of contents)
    it(`is refused for ${what}`, async () => {
      const { scan, pod, report } = await begin();
      const lied = lie(report);
      await scan.publish(await scan.upload(pod, typeof lied === 'string' && lied === 'nothing' ? Buffer.from('nothing') : bytesOf(report)));
      await expectRefused(scan, why);
    });

  it('is refused for a verdict that ignores the coverage, and for failures that it hides in its counts', async () => {
    for (const [announced, why] of [
      [{ scanned: 2, failed: 3, total: 5 }, /verdict does not follow from score, violations and coverage/],
      [{ scanned: 2, failed: 0, total: 2 }, /page counts differ/],
    ] as const) {
      const scan = await context.submit({ thresholds: { minScore: 0 } });
      const pod = await scan.pod();
      const input = await scan.input();
      const report = reportOf(input, pagesOf(input.options.url, 3));
      // 2 of 5 pages are less than the default minimum.
      expect(report.scan.verdict.passed).to.equal(false);
      report.scan.verdict = { passed: true, message: null };
      await scan.publish(await scan.upload(pod, bytesOf(report), undefined, announced));
      await expectRefused(scan, why);
    }
  });

  it('is refused for more pages than credits are reserved for', async () => {
    const scan = await context.submit({ maxPages: 1 });
    const pod = await scan.pod();
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    const refused = await scan.settles();
    expect(refused.status?.message).to.match(/2 pages were tested, but credits are reserved for 1/);
  });

  it('is refused if it announces objects that it did not store', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    await scan.publish({
      kind: 'stored',
      scanId: scan.id,
      ...identityOf(pod),
      pages: { scanned: 2, failed: 0, total: 2 },
      export: digestOf(bytes),
      pdf: digestOf(PDF),
      version: CURBCUT_VERSION,
    });
    await expectRefused(scan, /announced, but not stored/);
  });

  it('is refused if the PDF is not a PDF', async () => {
    const { scan, pod, report } = await begin();
    await scan.publish(await scan.upload(pod, bytesOf(report), Buffer.from('<script>')));
    await expectRefused(scan, /PDF is not a PDF/);
  });

  it('is refused for an export that would exhaust memory, and the operator survives', async () => {
    const { scan, pod } = await begin();
    const bomb = Buffer.from(`[${'[],'.repeat(330_000)}[]]`);
    await scan.publish(await scan.upload(pod, bomb));
    await expectRefused(scan, /more values than its size allows/);
  });

  it('has no effect with messages that are malformed, about another scan, implausible or older', async () => {
    const { scan, pod } = await begin();
    await scan.startPod(pod);
    const said = { kind: 'progress', scanId: scan.id, ...identityOf(pod) } as const;
    await scan.publish({ ...said, sequence: 5, phase: 'aggregating', pages: { scanned: 2, failed: 0, total: 3 } });
    await scan.reaches('aggregating', ({ status }) => status?.phase === 'aggregating');
    await scan.publish('{"kind":');
    await scan.publish({ ...said, scanId: 'another', sequence: 6, phase: 'generating', pages: { scanned: 5, failed: 0, total: 5 } });
    await scan.publish({ ...said, sequence: 4, phase: 'generating', pages: { scanned: 3, failed: 0, total: 3 } });
    await scan.publish({ ...said, sequence: 7, phase: 'generating', pages: { scanned: 500, failed: 0, total: 500 } });
    await scan.publish({ ...said, sequence: 8, phase: 'crawling', pages: { scanned: 1, failed: 1, total: 2 } });
    const after = await scan.reaches('updated by the last message', ({ status }) => status?.pages?.failed === 1);
    expect(after.status).to.deep.include({ phase: 'aggregating', pages: { requested: 5, reserved: 5, scanned: 2, failed: 1 } });
    const row = await until('the row is updated', async () => {
      const read = await scan.row();
      return read?.pages.failed === 1 ? read : null;
    });
    expect(row).to.deep.include({ phase: 'aggregating', pages: { scanned: 2, failed: 1, total: 3 } });
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
  });

  it('cannot forge the results of a later attempt', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    const invented = { ...(await scan.upload(pod, bytes)), attempt: 1, export: { bytes: 1, sha256: '0'.repeat(64) } };
    await scan.reaches('launched and its pod observed', ({ status }) => status?.attempts === 1);
    await scan.publish(JSON.stringify(invented));
    await scan.evictPod(pod);
    const second = await scan.pod(2);
    expect(identityOf(second)).to.deep.equal({ attempt: 1, shard: 0 });
    await scan.publish(await scan.upload(second, bytes));
    expect((await scan.settles()).status).to.include({ phase: 'done', attempts: 2 });
  });

  it('cannot change its report after the scan is done', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    await scan.publish(await scan.upload(pod, bytes));
    await scan.settles();
    const { uploads } = await scan.input();
    await until('the uploads are removed', async () => (await context.reports.size(incomingKeys(scan.id, identityOf(pod)).pdf)) === null);
    for (const slot of uploads) {
      expect(new URL(slot.export).pathname).to.match(/^\/curbcut\/incoming\//);
      const put = await fetch(slot.export, { method: 'PUT', body: '{"score":100}', headers: { 'content-type': 'application/json' } });
      expect(put.status).to.equal(200);
    }
    const read = await context.reports.read((await scan.row())!.reports!.export.key, bytes.byteLength);
    expect(read.ok && Buffer.from(read.bytes).equals(bytes)).to.equal(true);
  });

  it('cannot publish for another scan or read any messages', async () => {
    const mine = await context.submit();
    const other = await context.submit();
    const [pod] = [await mine.pod(), await other.pod()];
    const { messages } = await mine.input();
    const { connect, jwtAuthenticator } = await import('@nats-io/transport-node');
    const hostile = await connect({
      servers: messages!.url,
      authenticator: jwtAuthenticator(messages!.jwt, Buffer.from(messages!.seed)),
      reconnect: false,
    });
    hostile.publish(
      `progress.${other.id}`,
      JSON.stringify({
        kind: 'failed',
        scanId: other.id,
        ...identityOf(pod!),
        reason: 'target_refused',
        message: 'x',
        pages: { scanned: 0, failed: 0, total: 0 },
      }),
    );
    await hostile.flush().catch(() => undefined);
    await hostile.close();
    await mine.publish({
      kind: 'progress',
      scanId: mine.id,
      ...identityOf(pod!),
      sequence: 1,
      phase: 'scanning',
      pages: { scanned: 0, failed: 0, total: 1 },
    });
    await mine.reaches('scanning', ({ status }) => status?.phase === 'scanning');
    expect((await other.read())?.status?.phase).to.equal('queued');
    for (const scan of [mine, other]) await scan.patch({ spec: { cancel: true } });
    for (const scan of [mine, other]) await scan.settles();
  });
});
