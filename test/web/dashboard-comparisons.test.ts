/** A scan compared with the scan before it and with its baseline, in a real browser, from stored exports. */
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { readBaseline } from '../../report/diff/baseline.ts';
import { outcomeOf } from '../../report/results/results.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { CAUSES_MAX } from '../../report/workers/comparisons.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { sampleInput, sampleNode, sampleViolation } from '../report/samples.ts';
import { bytesOf, digestOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { expectAccessible } from './accessible.ts';
import { openAs, unfold } from './open-as.ts';
import { HOSTILE, storeReportView } from './scan-views.ts';
import { useWeb } from './web.ts';

const URL = 'https://example.com/';
const image = (name: string) => sampleNode(`<img class="${name}" src="/${name}.png">`, `.${name} > img`);
const images = (...names: string[]) =>
  sampleViolation('image-alt', 'critical', 'Images must have alternative text', names.map(image), ['1.1.1']);
const contrast = sampleViolation('color-contrast', 'serious', 'Elements must meet minimum color contrast', [
  sampleNode('<p class="faint">faint</p>', 'main > p.faint'),
]);
const frame = sampleViolation('frame-title', 'serious', 'Frames must have an accessible name', [sampleNode('<iframe></iframe>', 'iframe')]);
const future = sampleViolation('future-rule', 'minor', `A rule of the future ${HOSTILE}`, [
  sampleNode(`<b title='${HOSTILE}'></b>`, `b[title='${HOSTILE}']`),
]);

describe('the comparison of a scan', () => {
  const web = useWeb();

  /** Stores a scan that is done, with its view and its export. The earlier it is, the more days. */
  async function done(organisation: string, violations: ReportViolation[], daysAgo = 0, before?: ScanRow & { report: Report }) {
    const baseline = before && readBaseline({ scanId: before.id, optional: false }, { ok: true, bytes: bytesOf(before.report) });
    const thresholds = baseline === undefined ? {} : { maxNewViolations: 0 };
    const report = reportOf(sampleInput(thresholds, 'en', URL), pagesOf(URL, 0, violations), baseline);
    const createdAt = new Date(Date.now() - daysAgo * 86_400_000);
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

  for (const javaScriptEnabled of [true, false])
    it(`lists new and fixed root causes ${javaScriptEnabled ? 'on the page of the scan' : 'on a page of its own without JavaScript'}`, async () => {
      const page = await openAs(web, 'viewer', '/dashboard', { javaScriptEnabled });
      const before = await done(page.organisation, [images('logo'), contrast], 1);
      const after = await done(page.organisation, [images('logo', 'teaser'), future]);
      await page.goto(`/dashboard/scans/${after.id}`);
      await page.getByRole('heading', { name: 'Difference to the last scan' }).click();
      if (!javaScriptEnabled) await page.getByRole('link', { name: 'Compare with the last scan of this address' }).click();
      const section = page.locator('#difference');
      await section.getByRole('heading', { name: 'New violations by root cause' }).waitFor();
      expect(await section.getByRole('link', { name: /^the scan of/ }).getAttribute('href')).to.equal(`/dashboard/scans/${before.id}`);
      expect(await section.locator('.figure-value').allInnerTexts()).to.deep.equal(['2', '1', '1']);
      const [added, fixed] = await section.locator('.changes').all();
      expect(await added!.locator('h4').allInnerTexts()).to.deep.equal([
        'Images must have alternative text',
        `A rule of the future ${HOSTILE}`,
      ]);
      expect(await fixed!.locator('h4').allInnerTexts()).to.deep.equal(['Elements must meet minimum color contrast ratio thresholds']);
      expect(await added!.innerText())
        .to.include('1 element on 1 page')
        .and.include('.teaser > img')
        .and.include('Critical');
      expect(await page.locator('main img, main script').count(), 'the text of the page is not HTML').to.equal(0);
      if (javaScriptEnabled) await expectAccessible(page, 'dashboard-difference');
    });

  it('says how many root causes are not listed, or that there is no earlier scan', async () => {
    const page = await openAs(web, 'member', '/dashboard');
    const total = CAUSES_MAX + 3;
    const rule = (at: number) =>
      sampleViolation(`rule-${at}`, 'minor', `Rule ${at}`, [sampleNode(`<i class="c"></i>`, `i:nth-child(${at})`)]);
    const first = await done(page.organisation, [], 1);
    await page.goto(`/dashboard/scans/${first.id}/difference`);
    expect(await page.locator('#difference').innerText()).to.include('There is no earlier scan of this address');
    const rules = Array.from({ length: total }, (_, at) => rule(at));
    const after = await done(page.organisation, rules);
    await page.goto(`/dashboard/scans/${after.id}/difference`);
    await page.getByText(/^Show 95 root causes more/).click();
    expect(await page.locator('.changes > li').count()).to.equal(CAUSES_MAX);
    expect(await page.locator('#difference').innerText()).to.include(`The first ${CAUSES_MAX} of ${total} root causes are shown.`);
  });

  it('with a baseline shows what is new and fixed first, and marks new root causes', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const main = await done(page.organisation, [images('logo'), frame], 1);
    const branch = await done(page.organisation, [images('logo'), contrast], 0, main);
    await page.goto(`/dashboard/scans/${branch.id}`);
    await unfold(page);
    const headings = await page.locator('main h2').allInnerTexts();
    expect(headings.slice(0, 2)).to.deep.equal(['Since the baseline', 'Result']);
    const section = page.locator('section', { has: page.locator('#baseline-title') });
    expect(await section.locator('.figure-value').allInnerTexts()).to.deep.equal(['1', '1', '1']);
    const link = section.getByRole('link', { name: 'the scan that is the baseline' });
    expect(await link.getAttribute('href')).to.equal(`/dashboard/scans/${main.id}`);
    expect(await page.locator('#thresholds').innerText()).to.match(/New violations\s+at most 0\s+1\s+Missed/);
    const causes = await page.locator('#causes .cause').all();
    expect(await causes[0]!.innerText())
      .to.include('contrast')
      .and.include('New');
    expect(await causes[1]!.innerText()).to.not.include('New');
    expect(await page.locator('#trend').textContent()).to.match(/New\s*Fixed/);
    const difference = page.locator('#difference');
    await difference.getByRole('heading', { name: 'New violations by root cause' }).waitFor();
    expect(await difference.getByRole('link', { name: /^the scan of/ }).getAttribute('href')).to.equal(`/dashboard/scans/${main.id}`);
    await expectAccessible(page, 'dashboard-baseline');
  });

  it('says why a scan was not compared with its baseline', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const { id, report } = await done(page.organisation, [images('logo')]);
    const outcome = { ...outcomeOf(report), baseline: { optional: false, problem: 'not_found' } };
    const change = { outcome, 'options.thresholds': { maxNewViolations: 0 } };
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: id }, { $set: change });
    await page.goto(`/dashboard/scans/${id}`);
    await unfold(page);
    const section = page.locator('section', { has: page.locator('#baseline-title') });
    expect(await section.innerText()).to.include('There is no done scan to compare with.');
    expect(await page.locator('#thresholds').innerText()).to.match(/not compared\s+Missed/);
  });
});
