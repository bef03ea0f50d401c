/** The comparison of two stored exports, with a real object store and real threads. */
import { expect } from 'chai';
import { diffReduced } from '../../report/diff/diff.ts';
import { reduceExport } from '../../report/diff/reduce.ts';
import { summariseDiff } from '../../report/diff/summary.ts';
import { startObjects } from '../../local/objects/objects.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { createReportComparer, type StoredComparison } from '../../report/workers/compare.ts';
import { LARGE_EXPORT_BYTES, exportMemoryMib } from '../../report/schema/export-size.ts';
import { createSemaphore, ONE_AT_A_TIME } from '../../platform/concurrency/semaphore.ts';
import { createReports, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from '../report/samples.ts';
import { nightly } from '../support/nightly.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';

const SITE = 'https://www.example.org/';
const secrets = { accessKeyId: 'curbcut', secretAccessKey: 'a secret of the tests' };
const MIB = 1024 * 1024;
/** Large exports, at night as large as the limit allows. */
const LARGE_MIB = nightly(1, 63);

const link = (name: string) => sampleNode(`<a class="${name}" href="/${name}"></a>`, `.${name}`);
const pageOf = (path: string, ...names: string[]): ReportPage =>
  samplePage(
    `${SITE}${path}`,
    path,
    names.length === 0 ? [] : [sampleViolation('link-name', 'serious', 'Links must have text', names.map(link))],
  );
const scanOf = (...pages: ReportPage[]): Report => reportOf(sampleInput(), pages);

/** An export of about this size, whose elements are all different. */
function largeScan(bytes: number, name: string): Report {
  const html = (at: number) => `<a class="${name}${'-x'.repeat(900)}" title="${at}"></a>`;
  const perPage = 250;
  const size = bytesOf(scanOf(samplePage(SITE, '', [sampleViolation('link-name', 'serious', '', [sampleNode(html(0), 'a')])]))).byteLength;
  const count = Math.floor((bytes - size) / (Buffer.byteLength(JSON.stringify(sampleNode(html(0), 'a:nth-child(000000)'))) + 2));
  const pages = Array.from({ length: Math.ceil(count / perPage) }, (_, page) =>
    samplePage(`${SITE}${page}`, '', [
      sampleViolation(
        'link-name',
        'serious',
        'Links must have text',
        Array.from({ length: Math.min(perPage, count - page * perPage) }, (_, at) =>
          sampleNode(html(page * perPage + at), `a:nth-child(${at})`),
        ),
      ),
    ]),
  );
  return scanOf(...pages);
}

describe('compareStored', () => {
  let objects: Awaited<ReturnType<typeof startObjects>>;
  let reports: Reports;
  let ids = 0;
  const { signal } = new AbortController();
  const bounds = { exportMaxBytes: 64 * MIB, memoryMib: exportMemoryMib(64) };

  before(async () => {
    objects = await startObjects({ bucket: 'reports', ...secrets });
    reports = createReports({ endpoint: objects.endpoint, region: 'us-east-1', bucket: 'reports', ...secrets });
  });
  after(async () => {
    reports.close();
    await objects.close();
  });

  async function store(content: unknown): Promise<string> {
    const scanId = `scan-${(ids += 1)}`;
    const bytes = content instanceof Uint8Array ? content : bytesOf(content);
    const put = await fetch(await reports.uploadLink(reportKeys(scanId).export, 'application/json', 60), {
      method: 'PUT',
      body: bytes as Uint8Array<ArrayBuffer>,
      headers: { 'content-type': 'application/json' },
    });
    expect(put.status).to.equal(200);
    return scanId;
  }
  const comparerWith = (over: Partial<Parameters<typeof createReportComparer>[0]> = {}) =>
    createReportComparer({ reports, bounds, largeExports: createSemaphore(ONE_AT_A_TIME), logger: silentLogger, ...over });
  async function compare(before: unknown, after: unknown, comparer = comparerWith()): Promise<StoredComparison> {
    return comparer.compareStored(await store(before), await store(after), signal);
  }

  /** As the thread does it. */
  const summarise = (before: Report, after: Report) =>
    summariseDiff(diffReduced(reduceExport(bytesOf(before))!, reduceExport(bytesOf(after))!));

  it('counts new, fixed, unchanged and not tested violations, and names new ones', async () => {
    const before = scanOf(pageOf('', 'a', 'b'), pageOf('lost', 'c'));
    const after = scanOf(pageOf('', 'b', 'd'), sampleUntested(`${SITE}lost`, 'timeout', null), pageOf('added', 'b', 'e'));
    const compared = await compare(before, after);
    if (!compared.ok) throw new Error(compared.reason);
    const { examples, ...numbers } = compared;
    const added = { new: 3, onNewPages: 2, newKnown: 0, judged: 2, newCauses: 2 };
    expect(numbers).to.deep.equal({ ok: true, ...added, fixed: 1, unchanged: 1, notTested: 1, caveats: [] });
    expect(examples[0]).to.deep.equal({ rule: 'link-name', page: SITE, selector: '.d' });
    expect(examples.slice(1).map(({ page, selector }) => `${page} ${selector}`)).to.have.members([`${SITE}added .b`, `${SITE}added .e`]);
  });

  it('counts the known issues of the second scan as new, does not judge them, and names them last', () => {
    const known = { reason: 'later', owner: 'web team', expires_at: '2027-03-02T00:00:00Z', elements: 1, ending: false };
    const after = scanOf(pageOf('', 'a', 'b', 'c', 'd'));
    const { fingerprint } = after.groups.find(({ example }) => example.selector === '.b')!;
    const issues = [
      { id: 'cause', fingerprint, ...known },
      { id: 'place', rule: 'link-name', selector: '.c', ...known },
    ];
    const numbers = { score_without_known: 90, violations_new_or_open: after.counts, matched: 2, unmatched: 0, ending: 0, left_out: 0 };
    const compared = summarise(scanOf(pageOf('', 'a')), { ...after, known_issues: { ...numbers, issues } });
    expect(compared).to.deep.include({ new: 3, newKnown: 2, judged: 1 });
    expect(compared.examples[0]!.selector).to.equal('.d');
  });

  it('bounds the examples', () => {
    const names = Array.from({ length: 20 }, (_, at) => `${'abcdefghijklmnopqrst'[at]}${'x'.repeat(500)}`);
    const compared = summarise(scanOf(pageOf('')), scanOf(pageOf('', ...names)));
    expect(compared.examples).to.have.length(5);
    for (const { selector } of compared.examples) expect(selector).to.have.length(200);
  });

  it('refuses missing exports, exports that are too large, and those of another kind', async () => {
    const scanId = await store(scanOf(pageOf('')));
    const comparer = comparerWith();
    expect(await comparer.compareStored(scanId, 'never', signal)).to.deep.equal({ ok: false, reason: 'not_found' });
    const no = { ok: false, reason: 'not_comparable' };
    for (const content of [Buffer.from('no JSON'), Buffer.from('[{"pages":[{"tested":true}]}]')])
      expect(await compare(content, scanOf(pageOf('')))).to.deep.equal(no);
    const small = comparerWith({ bounds: { ...bounds, exportMaxBytes: 100 } });
    expect(await small.compareStored(scanId, scanId, signal)).to.deep.equal(no);
  });

  it('refuses an export that would exhaust the memory of the thread', async () => {
    const bomb = Buffer.from(`[${'[],'.repeat(8_000_000)}[]]`);
    expect(await compare(bomb, scanOf(pageOf('')))).to.deep.equal({ ok: false, reason: 'not_comparable' });
  });

  it('says so as well if the object store fails between the two exports, and compares again', async () => {
    let reads = 0;
    const comparer = comparerWith({
      reports: {
        size: reports.size,
        read: (...args) => ((reads += 1) === 2 ? Promise.reject(new Error('connect ECONNREFUSED')) : reports.read(...args)),
      },
    });
    const scanId = await store(scanOf(pageOf('', 'a')));
    expect(await comparer.compareStored(scanId, scanId, signal)).to.deep.equal({ ok: false, reason: 'unavailable' });
    expect(await comparer.compareStored(scanId, scanId, signal)).to.deep.include({ ok: true, unchanged: 1 });
  });

  it('ends if the signal aborts, also while it waits', async () => {
    const stop = new AbortController();
    const largeExports = createSemaphore(ONE_AT_A_TIME);
    largeExports.tryAcquire('');
    const comparer = comparerWith({ largeExports, reports: { size: async () => LARGE_EXPORT_BYTES + 1, read: reports.read } });
    const waiting = comparer.compareStored('a', 'b', stop.signal).catch((error: Error) => error.message);
    const behind = comparer.compareStored('a', 'b', stop.signal).catch((error: Error) => error.message);
    stop.abort(new Error('lease lost'));
    expect(await Promise.all([waiting, behind])).to.deep.equal(['lease lost', 'lease lost']);
  });

  it(`compares exports of ${LARGE_MIB} MiB, one at a time and within its memory`, async () => {
    const [before, after] = [largeScan(LARGE_MIB * MIB, 'a'), largeScan(LARGE_MIB * MIB, 'b')].map(bytesOf);
    for (const bytes of [before!, after!]) expect(bytes.byteLength).to.be.within(0.95 * LARGE_MIB * MIB, 1.02 * LARGE_MIB * MIB);
    const reading: string[] = [];
    const comparer = comparerWith({
      reports: {
        size: reports.size,
        async read(key, ...rest) {
          reading.push(`read ${key}`);
          return reports.read(key, ...rest);
        },
      },
    });
    const compared = await compare(before, after, comparer);
    if (!compared.ok) throw new Error(compared.reason);
    expect(compared.unchanged).to.be.greaterThan(LARGE_MIB * 320);
    expect([compared.new, compared.fixed, compared.notTested]).to.deep.equal([0, 0, 0]);
    expect(reading).to.have.length(2);
    // At night it takes half a minute, and much longer while other suites use the cores.
  }).timeout(600_000);
});
