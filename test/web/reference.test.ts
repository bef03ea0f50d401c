/** `/docs/api` in a browser. test/api/reference.test.ts compares its contents with the document. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { expectAccessible, expectAccessibleNow } from './accessible.ts';
import { API_REFERENCE_PATH } from '../../core/web-paths.ts';
import { useWeb } from './web.ts';

describe('the API reference', function () {
  this.timeout(180_000);
  const web = useWeb();

  const top = (page: Page, id: string): Promise<number> => page.evaluate(`document.getElementById('${id}').getBoundingClientRect().top`);

  it('is accessible, and asks no other host', async () => {
    const page = await (await web.visitor()).newPage();
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).origin));
    await page.goto(API_REFERENCE_PATH);
    await expectAccessible(page, 'reference');
    expect([...hosts]).to.deep.equal([web.url]);
  });

  it('is accessible in forced colours', async () => {
    await expectAccessibleNow(await web.open(API_REFERENCE_PATH, { forcedColors: 'active' }));
  });

  it('prints every example accessibly, and no contents', async () => {
    const page = await web.open(API_REFERENCE_PATH);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation', { name: 'Contents' }).isVisible()).to.equal(false);
    const hidden = await page.evaluate<number>(
      `[...document.querySelectorAll('details pre')].filter((one) => !one.checkVisibility({ contentVisibilityAuto: true })).length`,
    );
    expect(hidden).to.equal(0);
    await expectAccessibleNow(page);
  });

  it('can be read without JavaScript', async () => {
    const page = await web.open(API_REFERENCE_PATH, { javaScriptEnabled: false });
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Poll a scan' }).click();
    expect(page.url()).to.match(/#getScan$/);
    expect(await page.getByText('Returns 202 while the scan is in progress').isVisible()).to.equal(true);
    expect(await page.locator('#getScan-curl').innerText()).to.include('$CURBCUT_API_KEY');
    const closed = page.locator('#getScan-422-missed');
    expect(await closed.isVisible()).to.equal(false);
    await page.getByText('422 missed', { exact: true }).click();
    expect(await closed.isVisible()).to.equal(true);
    expect(await page.getByRole('button').count()).to.equal(0);
  });

  it('can be used with the keyboard: contents, links of fields, examples, copying', async () => {
    const visitor = await web.visitor({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await visitor.newPage();
    await page.goto(API_REFERENCE_PATH);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim()');
    for (const next of ['Documentation', 'Overview']) {
      await page.keyboard.press('Tab');
      expect(await focused()).to.equal(next);
    }
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Submit a scan' }).focus();
    await page.keyboard.press('Enter');
    expect(page.url()).to.match(/#submitScan$/);
    expect(await top(page, 'submitScan')).to.be.within(0, 100);
    // The focus continues at the operation.
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Submit a scan');
    await page.getByRole('button', { name: 'Copy Request: Submit a scan' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(await page.locator('#submitScan-curl').textContent());
    await page.getByText('422 missed', { exact: true }).focus();
    await page.keyboard.press('Enter');
    expect(await page.locator('#getScan-422-missed').isVisible()).to.equal(true);
  });
});
