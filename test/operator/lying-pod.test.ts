import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pod-identity.ts';
import type { PodStored } from '../../core/protocol/pod-messages.ts';
import type { Report, TestedPage } from '../../core/report/schema.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { PDF, bytesOf, digestOf, reportOf } from '../support/scan-results.ts';
import { openContext, reasonOf, until, type Scan, type OperatorContext } from './context.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';

describe('operator: a pod that lies', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  before(async () => {
    context = await openContext();
    await context.grant(1000);
    context.start();
  });
  after(() => context.close());

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
    ['more than is taken', (stored) => (stored.export.bytes = 200_000_000), /more than the 1000000 that are accepted/],
    ['pages that are not in the export', (stored) => (stored.pages.scanned = 5), /page counts differ from the scanner's summary/],
  ];
  for (const [what, lie, why] of announcements)
    it(`is refused with ${what}`, async () => {
      const { scan, pod, report } = await begin();
      const stored = await scan.stores(pod, bytesOf(report));
      lie(stored);
      await scan.says(stored);
      await expectRefused(scan, why);
    });

  const first = (report: Report) => report.pages[0] as TestedPage;
  const contents: [string, (report: Report) => unknown, RegExp][] = [
    ['no JSON', () => 'nothing', /does not match its schema|not JSON/],
    ['a field that nobody knows', (report) => Object.assign(report, { more: 1 }), /does not match its schema/],
    ["another scan's id", (report) => (report.scan.id = 'another'), /about another scan/],
    ['another URL', (report) => (report.scan.url = 'https://example.com/'), /about another URL/],
    ['other options', (report) => (report.scan.options.wcag_level = 'A'), /with other options/],
    ['kinder thresholds', (report) => (report.scan.thresholds.max_violations = 99), /with other thresholds/],
    ['a kinder verdict', (report) => (report.scan.verdict = { passed: true, message: null }), /verdict does not follow/],
    ['kinder counts', (report) => (report.counts = { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }), /counts do not follow/],
    ['a better score', (report) => (report.score.value = 100), /score does not follow from the pages/],
    ['a better score of a page', (report) => (first(report).score = 100), /score of page .* does not follow/],
    ['rules that did not fail', (report) => (first(report).rules.critical.failed = 0), /score of page .* does not follow/],
    ['a better coverage', (report) => (report.score.pages_found = 1), /coverage does not follow/],
    ['fewer root causes', (report) => report.groups.pop(), /root causes do not follow/],
  ];
  for (const [what, lie, why] of contents)
    it(`is refused with ${what}`, async () => {
      const { scan, pod, report } = await begin();
      const lied = lie(report);
      await scan.says(await scan.stores(pod, typeof lied === 'string' && lied === 'nothing' ? Buffer.from('nothing') : bytesOf(report)));
      await expectRefused(scan, why);
    });

  it('is refused with more pages than it has credits for', async () => {
    const scan = await context.submit({ maxPages: 1 });
    const pod = await scan.pod();
    await scan.says(await scan.stores(pod, bytesOf(reportOf(await scan.input()))));
    const refused = await scan.settles();
    expect(refused.status?.message).to.match(/2 pages were tested, but credits are reserved for 1/);
  });

  it('is refused where it announces what it did not store', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    await scan.says({
      kind: 'stored',
      scanId: scan.id,
      ...identityOf(pod),
      pages: { scanned: 2, failed: 0, total: 2 },
      export: digestOf(bytes),
      pdf: digestOf(PDF),
    });
    await expectRefused(scan, /announced, but not stored/);
  });

  it('is refused with a PDF that is none', async () => {
    const { scan, pod, report } = await begin();
    await scan.says(await scan.stores(pod, bytesOf(report), Buffer.from('<script>')));
    await expectRefused(scan, /PDF is not a PDF/);
  });

  it('is refused, and the operator lives, with an export that would fill its memory', async () => {
    const { scan, pod } = await begin();
    const bomb = Buffer.from(`[${'[],'.repeat(330_000)}[]]`);
    await scan.says(await scan.stores(pod, bomb));
    await expectRefused(scan, /more values than its size allows/);
  });

  it('moves nothing by messages that are malformed, of another scan, implausible or backwards', async () => {
    const { scan, pod } = await begin();
    await scan.runs(pod);
    const said = { kind: 'progress', scanId: scan.id, ...identityOf(pod) } as const;
    await scan.says({ ...said, sequence: 5, phase: 'aggregating', pages: { scanned: 2, failed: 0, total: 3 } });
    await scan.reaches('aggregating', ({ status }) => status?.phase === 'aggregating');
    await scan.says('{"kind":');
    await scan.says({ ...said, scanId: 'another', sequence: 6, phase: 'generating', pages: { scanned: 5, failed: 0, total: 5 } });
    await scan.says({ ...said, sequence: 4, phase: 'generating', pages: { scanned: 3, failed: 0, total: 3 } });
    await scan.says({ ...said, sequence: 7, phase: 'generating', pages: { scanned: 500, failed: 0, total: 500 } });
    await scan.says({ ...said, sequence: 8, phase: 'crawling', pages: { scanned: 1, failed: 1, total: 2 } });
    const after = await scan.reaches('told of the last message', ({ status }) => status?.pages?.failed === 1);
    expect(after.status).to.deep.include({ phase: 'aggregating', pages: { requested: 5, reserved: 5, scanned: 2, failed: 1 } });
    const row = await until('the row shows it', async () => {
      const read = await scan.row();
      return read?.pages.failed === 1 ? read : null;
    });
    expect(row).to.deep.include({ phase: 'aggregating', pages: { scanned: 2, failed: 1, total: 3 } });
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
  });

  it('cannot replace the results of a later attempt that it invents', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    const invented = { ...(await scan.stores(pod, bytes)), attempt: 1, export: { bytes: 1, sha256: '0'.repeat(64) } };
    await scan.reaches('seen with its pod', ({ status }) => status?.attempts === 1);
    await scan.says(JSON.stringify(invented));
    await scan.evicted(pod);
    const second = await scan.pod(2);
    expect(identityOf(second)).to.deep.equal({ attempt: 1, shard: 0 });
    await scan.says(await scan.stores(second, bytes));
    expect((await scan.settles()).status).to.include({ phase: 'done', attempts: 2 });
  });

  it('cannot change its report after the scan is done', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    await scan.says(await scan.stores(pod, bytes));
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

  it('cannot speak for another scan, nor read anything', async () => {
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
    await mine.says({
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
