/** The page of a scan that was compared with a baseline, in a real browser. */
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { readBaseline } from '../../report/diff/baseline.ts';
import { outcomeOf } from '../../report/results/results.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { sampleInput, sampleNode, sampleViolation } from '../report/samples.ts';
import { bytesOf, digestOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { expectAccessible } from './accessible.ts';
import { storeReportView } from './scan-views.ts';
import { openAs, unfold } from './open-as.ts';
import { useWeb } from './web.ts';

const URL = 'https://example.com/';
const image = (name: string) => sampleNode(`<img class="${name}" src="/${name}.png">`, `.${name}`);
const images = sampleViolation('image-alt', 'critical', 'Images must have alternative text', [image('logo')]);
const faint = sampleViolation('color-contrast', 'serious', 'Elements must meet minimum color contrast', [
  sampleNode('<p class="faint">faint</p>', 'main > p.faint'),
]);
const frame = sampleViolation('frame-title', 'serious', 'Frames must have an accessible name', [sampleNode('<iframe></iframe>', 'iframe')]);

describe('the page of a scan with a baseline', () => {
  const web = useWeb();

  async function done(organisation: string, violations: ReportViolation[], before?: ScanRow & { report: Report }) {
    const baseline = before && readBaseline({ scanId: before.id, optional: false }, { ok: true, bytes: bytesOf(before.report) });
    const thresholds = baseline === undefined ? {} : { maxNewViolations: 0 };
    const report = reportOf(sampleInput(thresholds, 'en', URL), pagesOf(URL, 0, violations), baseline);
    const createdAt = new Date(Date.now() - (before === undefined ? 86_400_000 : 0));
    const { passed, message } = report.scan.verdict;
    const row = await web.scan(organisation, {
      phase: 'done',
      outcome: outcomeOf(report),
      passed,
      message,
      options: withDefaults({ url: URL, thresholds }),
      ...(before && { baseline: { metadata: { branch: 'main' } } }),
      createdAt,
      finishedAt: createdAt,
    });
    const keys = reportKeys(row.id);
    const bytes = bytesOf(report);
    await storeReportView(web, row.id, report);
    const link = await web.stores.reports.uploadLink(keys.export, 'application/json', 60);
    await fetch(link, { method: 'PUT', body: bytes, headers: { 'content-type': 'application/json' } });
    const reports = { export: { key: keys.export, ...digestOf(bytes) }, pdf: { key: keys.pdf, ...digestOf(bytes) } };
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
    return { ...row, report };
  }

  it('shows what is new and fixed first, marks new root causes, and compares with the baseline', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const main = await done(page.organisation, [images, frame]);
    const branch = await done(page.organisation, [images, faint], main);
    await page.goto(`/dashboard/scans/${branch.id}`);
    await unfold(page);
    const headings = await page.locator('main h2').allInnerTexts();
    expect(headings.slice(0, 2)).to.deep.equal(['Since the baseline', 'Result']);
    const section = page.locator('section', { has: page.locator('#baseline-title') });
    expect(await section.locator('.figure-value').allInnerTexts()).to.deep.equal(['1', '1', '1']);
    expect(await section.getByRole('link', { name: 'the scan that is the baseline' }).getAttribute('href')).to.equal(
      `/dashboard/scans/${main.id}`,
    );
    expect(await page.locator('#thresholds').innerText()).to.match(/Maximum new violations\s+0\s+1\s+Missed/);
    const causes = await page.locator('#causes .cause').all();
    const first = await causes[0]!.innerText();
    expect(first).to.include('contrast').and.include('New');
    expect(await causes[1]!.innerText()).to.not.include('New');
    expect(await page.locator('#trend').textContent()).to.match(/New\s*Fixed/);
    const difference = page.locator('#difference');
    await difference.getByRole('heading', { name: 'New violations by root cause' }).waitFor();
    expect(await difference.getByRole('link', { name: /^the scan of/ }).getAttribute('href')).to.equal(`/dashboard/scans/${main.id}`);
    await expectAccessible(page, 'dashboard-baseline');
  });

  it('says why a scan was not compared', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const { id, report } = await done(page.organisation, [images]);
    const outcome = { ...outcomeOf(report), baseline: { optional: false, problem: 'not_found' } };
    await web.db
      .collection<{ _id: string }>('scans')
      .updateOne({ _id: id }, { $set: { outcome, 'options.thresholds': { maxNewViolations: 0 } } });
    await page.goto(`/dashboard/scans/${id}`);
    await unfold(page);
    expect(await page.locator('section', { has: page.locator('#baseline-title') }).innerText()).to.include(
      'There is no done scan to compare with.',
    );
    expect(await page.locator('#thresholds').innerText()).to.match(/Not compared\s+Missed/);
    await expectAccessible(page, 'dashboard-baseline-none');
  });
});
