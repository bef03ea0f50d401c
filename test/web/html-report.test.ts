/** The report as one HTML file, opened from a file in a browser without network: accessible, filtered by keyboard, and printed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { htmlReport } from '../../report/html/report.ts';
import { expectAccessible, expectAccessibleNow } from './accessible.ts';
import { sharedBrowser } from './browser.ts';
import { PICTURE_SIZE, takePicture } from './element-pictures.ts';
import { reportWith } from './large-report.ts';
import { recordProblems } from './problems.ts';

describe('the report in one HTML file, in a browser without network', () => {
  let folder: string;
  let picture: Uint8Array;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-html-'));
    picture = await takePicture();
  });
  after(() => rm(folder, { recursive: true }));

  /** Opens a report. All addresses that the page asks for are added to `requests`. */
  async function open(locale: 'en' | 'de', { hash = '', scripts = true } = {}): Promise<{ page: Page; requests: string[] }> {
    const report = reportWith(5, 24, 'https://example.com/', { minScore: 95 });
    report.scan.options.locale = locale;
    const place = { offset: 0, bytes: picture.byteLength, ...PICTURE_SIZE };
    report.pictures = report.groups.map(({ fingerprint, page_urls: [url] }) => ({ fingerprint, ...place, page_url: url! }));
    report.page_pictures = report.pages.map(({ url }) => ({ ...place, page_url: url }));
    Object.assign(report.groups[0]!, { known_elements: 1 });
    const file = join(folder, `report-${locale}.html`);
    await writeFile(file, htmlReport(report, picture));
    const visitor = await (await sharedBrowser()).newContext({ offline: true, javaScriptEnabled: scripts });
    await recordProblems(visitor, []);
    const page = await visitor.newPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(pathToFileURL(file).href + hash);
    return { page, requests };
  }

  const visible = (page: Page): Promise<number> => page.locator('#causes .cause:visible').count();

  it('is accessible in German, light, dark, narrow and on paper, and asks for nothing but itself', async () => {
    const { page, requests } = await open('de');
    await expectAccessible(page, 'html-report');
    await page.evaluate(`for (const part of document.querySelectorAll('details')) part.open = true`);
    await expectAccessible(page, 'html-report-open');
    await page.emulateMedia({ media: 'print' });
    await expectAccessibleNow(page);
    const outside = requests.filter((url) => !url.startsWith('data:') && !url.startsWith(pathToFileURL(folder).href));
    expect(outside).to.deep.equal([]);
    const widths = await page.evaluate<number[]>(
      `Promise.all([...document.images].map((image) => { image.loading = 'eager'; return image.decode().then(() => image.naturalWidth); }))`,
    );
    expect(new Set(widths)).to.deep.equal(new Set([PICTURE_SIZE.width]));
    await page.context().close();
  });

  it('is filtered with the keyboard, and says how many root causes are left', async () => {
    const { page } = await open('en');
    const all = await visible(page);
    await page.getByLabel('Severity').focus();
    await page.keyboard.press('s');
    const shown = page.locator('#causes-shown');
    await shown.getByText(`12 of ${all} root causes are shown.`).waitFor();
    expect(await visible(page)).to.equal(12);
    await page.getByLabel('Rule').selectOption('link-name');
    await shown.getByText(`6 of ${all}`).waitFor();
    await page.getByLabel('Page', { exact: true }).selectOption('3');
    const onPage = await visible(page);
    expect(onPage).to.be.within(1, 5);
    for (const item of await page.locator('#causes .cause:visible').all())
      expect(` ${await item.getAttribute('data-page')} `).to.include(' 3 ');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Show all' }).press('Enter');
    await shown.getByText(`${all} of ${all}`).waitFor();
    await page.getByLabel('New and known').selectOption('known');
    await shown.getByText(`1 of ${all}`).waitFor();
    await page.context().close();
  });

  it('leads from a page to its map, and from there to a root cause, which opens', async () => {
    const { page } = await open('en', { hash: '#page-2' });
    expect(await page.getByRole('group', { name: 'Map of this page' }).count()).to.equal(1);
    const cause = page.locator('#page-2').getByRole('link', { name: /^About this cause/ });
    const id = (await cause.last().getAttribute('href'))!;
    await cause.last().press('Enter');
    await page.locator(`${id} > details[open]`).waitFor();
    await page.getByLabel('Severity').selectOption('moderate');
    const hidden = page.locator('#causes .cause:not([data-severity="moderate"])').last();
    const left = `#${await hidden.getAttribute('id')}`;
    await page.evaluate(`scrollTo(0, 0); location.hash = '${left}'`);
    await page.locator(`${left} > details[open]`).waitFor();
    const top = await page.evaluate<number>(`document.querySelector('${left}').getBoundingClientRect().top / innerHeight`);
    expect(top, 'one that the filters had left out').to.be.within(-0.1, 1);
    await page.context().close();
  });

  it('shows every root cause without scripts', async () => {
    const { page } = await open('en', { scripts: false });
    expect(await visible(page)).to.equal(24);
    expect(await page.locator('#filters').isVisible()).to.equal(false);
    await page.context().close();
  });
});
