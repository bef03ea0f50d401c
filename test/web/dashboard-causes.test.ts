/** The root causes and the pages of a scan in a real browser: folded, filtered, in parts, and limited for any scan. */
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { withDefaults } from '../../core/scan/options.ts';
import { TRACKER_PATH } from '../../core/web-paths.ts';
import { outcomeOf } from '../../report/results/results.ts';
import { criterionState } from '../../report/results/rule-outcomes.ts';
import { ALL_CAUSES } from '../../api/dashboard/findings/select.ts';
import { expectAccessible } from './accessible.ts';
import { PICTURE_SIZE, storePicture, takePicture } from './element-pictures.ts';
import { reportWith } from './large-report.ts';
import { openAs } from './open-as.ts';
import { storeReportView } from './scan-views.ts';
import { useWeb } from './web.ts';

const URL = 'https://example.com/';
/** What a page of a scan may have, for any scan. */
const HTML_MAX_BYTES = 170 * 1024;
const HEIGHT_MAX_PX = 4_000;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 320, height: 640 },
];

describe('the root causes of a scan', () => {
  const web = useWeb();
  let picture: Uint8Array;
  before(async () => void (picture = await takePicture()));

  async function open(pages: number, causes: number, options: Parameters<typeof openAs>[3] = {}) {
    const page = await openAs(web, 'member', '/dashboard', options);
    const thresholds = { minScore: 1, failOnSeverity: 'critical' } as const;
    const report = reportWith(pages, causes, URL, thresholds);
    const { passed, message } = report.scan.verdict;
    const outcome = outcomeOf(report);
    const at = new Date();
    const row = await web.scan(page.organisation, { phase: 'done', outcome, passed, message, options: withDefaults({ url: URL, maxPages: pages, thresholds }), finishedAt: at, createdAt: at }); // prettier-ignore
    // A trend, because it takes room.
    await web.scan(page.organisation, {
      phase: 'done',
      outcome,
      options: row.options,
      finishedAt: at,
      createdAt: new Date(at.getTime() - 1),
    });
    const place = await storePicture(web, row.id, picture);
    report.pictures = report.groups
      .slice(0, 300)
      .map(({ fingerprint, page_urls: [url] }) => ({ fingerprint, ...place, ...PICTURE_SIZE, page_url: url! }));
    report.page_pictures = report.pages.slice(0, 20).map(({ url }) => ({ ...place, ...PICTURE_SIZE, page_url: url }));
    await storeReportView(web, row.id, report);
    const reports = await web.storeReports(row.id, ['pdf']);
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
    await page.goto(`/dashboard/scans/${row.id}`);
    return { page, id: row.id, report };
  }

  /** Without scripts a click leads to another page, which is read when it is loaded. */
  const follow = async (link: Locator): Promise<unknown> => Promise.all([link.page().waitForEvent('load'), link.click()]);
  const linesOf = (page: Page): Promise<string[]> => page.locator('#causes .cause summary h3').allInnerTexts();

  it('are limited at first sight, and none reads as another, for 500 pages with 3,000 causes', async () => {
    const { page, id } = await open(500, 3_000);
    for (const size of SIZES) {
      await page.setViewportSize(size);
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      expect(height, `at ${size.width} px`).to.be.at.most(HEIGHT_MAX_PX);
    }
    for (const path of ['', '/pages', '/pages?sort=violations', '/pages/1', '?severity=serious&part=3', '?size=25', '?group=page']) {
      const answer = await page.request.get(`/dashboard/scans/${id}${path}`);
      expect(answer.status()).to.equal(200);
      expect((await answer.body()).byteLength, path).to.be.at.most(HTML_MAX_BYTES);
    }
    const lines = await linesOf(page);
    expect(lines).to.have.length(ALL_CAUSES.size);
    expect(new Set(lines).size).to.equal(ALL_CAUSES.size);
    expect(await page.locator('#causes .cause > details[open]').count()).to.equal(1);
    expect(await page.locator('#fix-to-pass').innerText()).to.match(
      /^What to fix to pass\s+The scan passes when [\d,]+ root causes are fixed\./,
    );
    expect(await page.locator('#fix-to-pass li').count()).to.equal(10);
    await expectAccessible(page, 'dashboard-scan-causes');
  });

  it('can be filtered, opened and read to the end without scripts, and the address keeps it', async () => {
    const { page } = await open(40, 75, { javaScriptEnabled: false });
    await page.getByLabel('Severity').selectOption('serious');
    await page.getByLabel('Rule').selectOption('link-name');
    await page.getByLabel('Criterion').selectOption('2.4.4');
    await follow(page.getByRole('button', { name: 'Filter' }));
    expect(new globalThis.URL(page.url()).search)
      .to.include('severity=serious')
      .and.include('rule=link-name')
      .and.include('criterion=2.4.4');
    const first = await linesOf(page);
    for (const line of first) expect(line).to.include('Serious Links must have discernible text');
    const all = [...first];
    while ((await page.getByRole('link', { name: 'Next' }).count()) > 0) {
      await follow(page.getByRole('link', { name: 'Next' }));
      all.push(...(await linesOf(page)));
    }
    expect(all).to.have.length(19);
    expect(new Set(all).size).to.equal(19);
    await follow(page.getByRole('link', { name: 'Previous' }));
    await follow(page.getByRole('link', { name: 'Show 25 at a time' }));
    expect(await linesOf(page)).to.have.length(19);
    const fourth = page.locator('#causes .cause').nth(3);
    await fourth.locator('summary').first().click();
    expect(await fourth.innerText()).to.include('How to fix it');
    await follow(page.getByRole('link', { name: 'Show all' }));
    expect(await page.locator('#causes-shown').innerText()).to.include('of 75 root causes');
  });

  it('are marked on a map of their page, which leads to each of them without scripts', async () => {
    const { page, id, report } = await open(4, 75, { javaScriptEnabled: false });
    await page.goto(`/dashboard/scans/${id}/pages/2`);
    const marks = page.getByRole('group', { name: 'Map of this page' }).getByRole('link');
    const { violations } = report.pages[1] as { violations: { nodes: unknown[] }[] };
    const causes = violations.flatMap(({ nodes }) => nodes).length;
    expect(await marks.count()).to.equal(causes);
    expect(await page.locator('.map-box').count()).to.equal(causes);
    await marks.nth(2).focus();
    await page.keyboard.press('Enter');
    const target = page.locator('.cause:target');
    expect(await target.locator('.map-badge').innerText()).to.equal('3');
    expect(await target.innerText()).to.match(/\d px from the left, [\d,]+ px from the top, 150 × 30 px/);
    expect(await page.locator('.page-map').innerText()).not.to.include('not on the map');
    // Causes have one picture per scan. Those of other pages are not shown as if they were of this one.
    const shown = await page.locator('.cause:has(.element-picture)').count();
    const url = report.pages[1]!.url;
    const own = report.pictures.filter(({ page_url }) => page_url === url).length;
    expect(shown).to.equal(own).and.be.below(causes);
    await expectAccessible(page, 'dashboard-scan-page-map');
  });

  it('can be checked again without scripts: the answer comes first, leads back, and is shown at the cause', async () => {
    const { page, report } = await open(4, 75, { javaScriptEnabled: false });
    const { fingerprint } = report.groups[0]!;
    const line = page.locator(`#cause-${fingerprint}`);
    await follow(line.getByRole('button', { name: /^Check again/ }));
    const check = page.locator('#check');
    expect(await check.innerText()).to.match(/^This checks “.+” \(.+\) on https:\/\/example\.com\//);
    const id = new globalThis.URL(page.url()).pathname.split('/').pop()!;
    const checked = { answer: 'still_there', before: 12, left: 3, new: 1 } as const;
    const baseline = { optional: false, check: { cause: fingerprint }, checked };
    await web.stores.scans.mirror(id, { phase: 'done', finishedAt: new Date(), outcome: { ...outcomeOf(report), baseline } });
    await page.reload();
    expect(await check.innerText())
      .to.match(/^Still there: 3 of 12 violations\s/)
      .and.include('The page has 1 violation that the earlier scan');
    await expectAccessible(page, 'dashboard-check');
    await follow(check.getByRole('link', { name: 'the scan that found it' }));
    expect(await page.locator('#causes .cause').count()).to.equal(1);
    expect(await line.innerText()).to.match(/Still there: 3 of 12 violations on https:\/\/example\.com\//);
    await follow(line.getByRole('link', { name: 'Still there: 3 of 12 violations' }));
    expect(new globalThis.URL(page.url()).pathname).to.include(id);
  });

  it('become issues of a tracker: text that can be copied, and a link to the repository of the scan', async () => {
    const { page, id, report } = await open(4, 75);
    await web.db
      .collection<{ _id: string }>('scans')
      .updateOne({ _id: id }, { $set: { metadata: ['repository=https://github.com/acme/shop'] } });
    const { fingerprint } = report.groups[0]!;
    await follow(page.locator(`#cause-${fingerprint}`).getByRole('link', { name: /^Issue text/ }));
    const text = await page.locator('#ticket-text').innerText();
    expect(text)
      .to.include('## How to fix it')
      .and.include(`--cause ${fingerprint} --with ${id}`)
      .and.include(`/dashboard/scans/${id}?cause=${fingerprint}#causes`);
    const href = (await page.getByRole('link', { name: 'Create issue in github.com/acme/shop' }).getAttribute('href'))!;
    expect(new globalThis.URL(href).searchParams.get('body')).to.equal(text);
    await expectAccessible(page, 'dashboard-ticket');
    const jira = { kind: 'jira', url: 'https://acme.atlassian.net', project: '10000', issueType: '10001' } as const;
    await web.stores.organisations.setTracker(page.organisation, jira);
    await page.reload();
    expect(await page.getByRole('link', { name: 'Create issue in acme.atlassian.net' }).getAttribute('href')).to.include('?pid=10000&');
    expect(await page.getByRole('link', { name: 'Tracker of the organisation' }).count(), 'for owners').to.equal(0);
    await expectAccessible(await openAs(web, 'owner', TRACKER_PATH), 'tracker');
  });

  it('are summed up by success criterion, and nothing in it claims conformance', async () => {
    const { page, report } = await open(4, 75);
    await page.locator('#criteria > summary').click();
    await expectAccessible(page, 'dashboard-scan-causes');
    expect(await page.locator('#criteria').innerText()).to.include('does not claim conformance');
    await follow(page.getByRole('link', { name: `Show all ${report.criteria.length} criteria` }));
    const rows = await page.locator('#criteria-table tbody tr').allInnerTexts();
    expect(rows).to.have.length(report.criteria.length);
    for (const [at, { id, pages }] of report.criteria.entries())
      expect(rows[at])
        .to.match(new RegExp(`^${id.replaceAll('.', '\\.')} `))
        .and.include(pages.failed > 0 ? 'Failed' : criterionState({ pages }) === 'untested' ? 'Not tested by rules' : '');
    expect(report.criteria.some(({ pages }) => pages.failed > 0)).to.equal(true);
    await expectAccessible(page, 'dashboard-scan-criteria');
  });

  it('can be seen one page at a time, with the place of each element, and from page to page', async () => {
    const { page, id, report } = await open(40, 75);
    await page.getByRole('link', { name: 'Show the list of 40 pages' }).click();
    await expectAccessible(page, 'dashboard-scan-pages');
    await page.getByRole('link', { name: 'Most violations' }).click();
    const totals = report.pages
      .map((one) => (one.tested ? one.violations.reduce((sum, { nodes_total: elements }) => sum + elements, 0) : 0))
      .sort((a, b) => b - a);
    expect(new Set(totals).size, 'pages with different numbers').to.be.above(1);
    const listed = await page.locator('#page-table tbody tr td:last-child').allInnerTexts();
    expect(listed.map((cell) => cell.match(/\d+/g)!.reduce((sum, n) => sum + Number(n), 0))).to.deep.equal(totals);
    await page.goto(`/dashboard/scans/${id}/pages/1`);
    expect(await page.locator('h1').innerText()).to.equal('Page 1 of 40: Article 0 of the magazine');
    const tested = report.pages[0] as { violations: { nodes: { selector: string }[] }[] };
    const text = (await page.locator('main').textContent())!;
    for (const { selector } of tested.violations.flatMap(({ nodes }) => nodes)) expect(text).to.include(selector);
    await expectAccessible(page, 'dashboard-scan-page');
    await page.getByRole('link', { name: 'Filter the root causes of the scan by this page' }).click();
    expect(await page.locator('#causes-shown').innerText()).to.match(
      new RegExp(`of ${tested.violations.flatMap(({ nodes }) => nodes).length} root causes`),
    );
    await page.getByRole('link', { name: 'Show every page' }).click();
    expect(await page.locator('#causes-shown').innerText()).to.include('of 75 root causes');
    await page.goto(`/dashboard/scans/${id}/pages/1`);
    await page
      .getByRole('link', { name: /^About this cause/ })
      .first()
      .click();
    expect(await page.locator('#causes .cause').count()).to.equal(1);
    await page.goto(`/dashboard/scans/${id}/pages/2`);
    await page.getByRole('link', { name: 'Next' }).first().click();
    expect(await page.locator('h1').innerText()).to.include('Page 3 of 40');
    expect((await page.goto(`/dashboard/scans/${id}/pages/41`))!.status()).to.equal(404);
  });
});
