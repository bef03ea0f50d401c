/** The difference of two scans in a real browser, from stored exports. */
import { expect } from 'chai';
import { CAUSES_MAX } from '../../report/workers/comparisons.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import { sampleInput, sampleNode, sampleViolation } from '../report/samples.ts';
import { bytesOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { HOSTILE, OUTCOME, storeView } from './scan-views.ts';
import { useWeb } from './web.ts';

const URL = 'https://example.com/';
const image = (name: string) => sampleNode(`<img src="/${name}.png">`, `.${name} > img`);
const images = (...names: string[]) =>
  sampleViolation('image-alt', 'critical', 'Images must have alternative text', names.map(image), ['1.1.1']);
const contrast = sampleViolation('color-contrast', 'serious', 'Elements must meet minimum color contrast', [
  sampleNode('<p class="faint">faint</p>', 'main > p.faint'),
]);
const future = sampleViolation('future-rule', 'minor', `A rule of the future ${HOSTILE}`, [
  sampleNode(`<b title='${HOSTILE}'></b>`, `b[title='${HOSTILE}']`),
]);

describe('the difference of two scans', () => {
  const web = useWeb();

  /** Stores a scan that is done, with an export of the given violations. */
  async function done(organisation: string, violations: ReportViolation[], createdAt = new Date()): Promise<ScanRow> {
    const row = await web.scan(organisation, {
      phase: 'done',
      outcome: OUTCOME,
      passed: null,
      options: withDefaults({ url: URL }),
      createdAt,
      finishedAt: createdAt,
    });
    const reports = await storeView(web, row.id);
    const link = await web.stores.reports.uploadLink(reportKeys(row.id).export, 'application/json', 60);
    const body = bytesOf(reportOf(sampleInput({}, 'en', URL), pagesOf(URL, 0, violations)));
    await fetch(link, { method: 'PUT', body, headers: { 'content-type': 'application/json' } });
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
    return row;
  }

  const EARLIER = new Date(Date.now() - 86_400_000);

  for (const javaScriptEnabled of [true, false])
    it(`lists new and fixed root causes ${javaScriptEnabled ? 'on the page of the scan' : 'on a page of its own without JavaScript'}`, async () => {
      const page = await openAs(web, 'viewer', '/dashboard', { javaScriptEnabled });
      const before = await done(page.organisation, [images('logo'), contrast], EARLIER);
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

  it('says how many root causes are not listed', async () => {
    const page = await openAs(web, 'member', '/dashboard');
    const total = CAUSES_MAX + 3;
    const rule = (at: number) =>
      sampleViolation(`rule-${at}`, 'minor', `Rule ${at}`, [sampleNode(`<i class="c"></i>`, `i:nth-child(${at})`)]);
    await done(page.organisation, [], EARLIER);
    const after = await done(
      page.organisation,
      Array.from({ length: total }, (_, at) => rule(at)),
    );
    await page.goto(`/dashboard/scans/${after.id}/difference`);
    await page.getByText(/^Show 95 root causes more/).click();
    expect(await page.locator('.changes > li').count()).to.equal(CAUSES_MAX);
    expect(await page.locator('#difference').innerText()).to.include(`The first ${CAUSES_MAX} of ${total} root causes are shown.`);
    await expectAccessible(page, 'dashboard-difference-many');
  });

  it('says that there is no earlier scan', async () => {
    const page = await openAs(web, 'member', '/dashboard');
    const { id } = await done(page.organisation, []);
    await page.goto(`/dashboard/scans/${id}/difference`);
    expect(await page.locator('#difference').innerText()).to.include('There is no earlier scan of this address');
    await expectAccessible(page, 'dashboard-difference-none');
  });
});
