/** `/docs/api` in a browser. test/web/docs.test.ts checks its accessibility, test/api/reference.test.ts its contents. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { expectAccessibleNow } from './accessible.ts';
import { API_REFERENCE_PATH } from '../../core/web-paths.ts';
import { NIGHTLY } from '../support/nightly.ts';
import { useWeb } from './web.ts';

describe('the API reference', function () {
  this.timeout(180_000);
  const web = useWeb();

  const top = (page: Page, id: string): Promise<number> => page.evaluate(`document.getElementById('${id}').getBoundingClientRect().top`);

  it('is printed without its contents, and accessible', async () => {
    const page = await web.open(API_REFERENCE_PATH);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation', { name: 'Contents' }).isVisible()).to.equal(false);
    // axe-core needs seconds for the long page; docs.test.ts has it look at the same elements on a screen.
    if (NIGHTLY) await expectAccessibleNow(page);
  });

  it('can be read without JavaScript', async () => {
    const page = await web.open(API_REFERENCE_PATH, { javaScriptEnabled: false });
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Poll a scan' }).click();
    expect(page.url()).to.match(/#poll-a-scan$/);
    expect(await page.getByText('Returns 202 while the scan is in progress').isVisible()).to.equal(true);
    expect(
      await page
        .getByRole('group', { name: /: Poll a scan$/ })
        .first()
        .innerText(),
    ).to.include('$CURBCUT_API_KEY');
    expect(await page.locator('main').getByRole('button').count()).to.equal(1);
  });

  it('can be used with the keyboard: contents, copying', async () => {
    const visitor = await web.visitor({ permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await visitor.newPage();
    await page.goto(API_REFERENCE_PATH);
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Submit a scan' }).focus();
    await page.keyboard.press('Enter');
    expect(page.url()).to.match(/#submit-a-scan$/);
    expect(await top(page, 'submit-a-scan')).to.be.within(0, 100);
    // The focus continues at the operation.
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent.trim()')).to.equal('Submit a scan');
    await page
      .getByRole('button', { name: /^Copy Example \d+: Submit a scan$/ })
      .first()
      .focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).to.match(/^curl "\$CURBCUT_URL\/v1\/ci\/scans"/);
  });
});
