/** The comparison of two scans with the real stores, and what remains of it when reports are deleted. */
import { expect } from 'chai';
import { startObjects } from '../../local/objects/objects.ts';
import type { Report } from '../../report/schema/report.ts';
import { LARGE_EXPORT_BYTES } from '../../report/schema/export-size.ts';
import { openComparisons } from '../../report/workers/comparisons.ts';
import { createReports, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from '../report/samples.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { scanRow } from '../support/scan-rows.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openDatabase, type TestDatabase } from './database.ts';

const secrets = { accessKeyId: 'curbcut', secretAccessKey: 'a secret of the tests' };
const digest = { key: 'k', bytes: 1, sha256: 'a'.repeat(64) };

describe('comparisons with the real stores', () => {
  let database: TestDatabase;
  let stores: AllStores;
  let objects: Awaited<ReturnType<typeof startObjects>>;
  let reports: Reports;

  before(async () => {
    database = await openDatabase();
    stores = openStores(database.db);
    objects = await startObjects({ bucket: 'reports', ...secrets });
    reports = createReports({ endpoint: objects.endpoint, region: 'us-east-1', bucket: 'reports', ...secrets });
  });
  after(async () => {
    reports.close();
    await Promise.all([objects.close(), database.close()]);
  });

  const open = () => openComparisons({ reports, cache: stores.comparisonCache, now: () => new Date(), logger: silentLogger });

  async function done(content: Report | Uint8Array) {
    const row = await stores.scans.create(scanRow({ submission: 'accepted', phase: 'done', reports: { export: digest, pdf: digest } }));
    const put = await fetch(await reports.uploadLink(reportKeys(row.id).export, 'application/json', 60), {
      method: 'PUT',
      body: (content instanceof Uint8Array ? content : bytesOf(content)) as Uint8Array<ArrayBuffer>,
      headers: { 'content-type': 'application/json' },
    });
    expect(put.status).to.equal(200);
    return row;
  }
  const link = (name: string) => sampleNode(`<a class="${name}" href="/${name}"></a>`, `.${name}`);
  const scanOf = (...names: string[]): Report =>
    reportOf(sampleInput(), [
      samplePage('https://www.example.org/', 'Home', [
        sampleViolation('link-name', 'serious', 'Links must have discernible text', names.map(link), ['2.4.4']),
      ]),
    ]);

  it('list new and fixed root causes, and are kept until the reports are deleted', async () => {
    const [before, after] = [await done(scanOf('a', 'b')), await done(scanOf('b', 'c', 'c2'))];
    const compared = await open().between(before, after);
    if (!compared.ok) throw new Error(compared.reason);
    expect(compared).to.include({ new: 2, fixed: 1, unchanged: 1 });
    const { causes } = compared;
    expect([causes.newTotal, causes.fixedTotal]).to.deep.equal([causes.new.length, causes.fixed.length]);
    expect(causes.fixed).to.have.length(1);
    expect(causes.fixed[0]).to.deep.include({
      rule: 'link-name',
      impact: 'serious',
      wcag: ['2.4.4'],
      elements: 1,
      pages: 1,
      in_both: false,
      examples: [{ page: 'https://www.example.org/', selector: '.a', frame_path: [], shadow_path: [] }],
    });
    await reports.remove([reportKeys(before.id).export]);
    // Another replica, which has not compared them.
    expect(await open().known(before, after)).to.deep.equal(compared);
    await stores.comparisonCache.removeOf(before.id);
    expect(await open().known(before, after)).to.equal(null);
    expect(await open().between(before, after)).to.deep.equal({ ok: false, reason: 'not_found' });
  });

  it('refuse exports that need more memory than the API has', async () => {
    const large = await done(Buffer.alloc(LARGE_EXPORT_BYTES + 1, ' '));
    expect(await open().between(await done(scanOf('a')), large)).to.deep.equal({ ok: false, reason: 'not_comparable' });
  });

  it('are removed after a week', async () => {
    const ttl = (await database.db.collection('comparisons').indexes()).find(({ expireAfterSeconds }) => expireAfterSeconds === 0);
    expect(ttl?.key).to.deep.equal({ expiresAt: 1 });
    const now = new Date();
    await stores.comparisonCache.store('acme', 'one', 'two', { ok: false, reason: 'not_comparable' }, now);
    const stored = await database.db.collection('comparisons').findOne({ scans: 'one' });
    expect(stored!['expiresAt']).to.deep.equal(new Date(now.getTime() + 7 * 86_400_000));
  });
});
