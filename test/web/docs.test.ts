/** `/docs` in a browser. test/api/docs.test.ts follows every link of its pages. */
import { expect } from 'chai';
import { someOf } from '../support/nightly.ts';
import { expectAccessible } from './accessible.ts';
import { useWeb } from './web.ts';
import { DOC_NAMES } from '../../api/docs/render.ts';
import { docPath, DOCS_PATH, DOCS_SEARCH_PATH } from '../../core/web-paths.ts';

describe('the documentation', function () {
  this.timeout(180_000);
  const web = useWeb();

  it('has accessible contents and pages', async () => {
    const page = await web.open(DOCS_PATH);
    await expectAccessible(page, 'docs');
    for (const name of someOf(DOC_NAMES, 4)) {
      await page.goto(docPath(name));
      await expectAccessible(page, `docs-${name}`);
    }
  });

  it('can be searched and read without JavaScript', async () => {
    const page = await web.open(DOCS_PATH, { javaScriptEnabled: false });
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('webhook signature');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Webhooks: Verify a request' }).click();
    expect(page.url()).to.match(/\/docs\/webhooks#verify-a-request$/);
    expect(await page.getByRole('heading', { name: 'Verify a request' }).isVisible()).to.equal(true);
    await page.getByRole('navigation', { name: 'You are here' }).getByRole('link', { name: 'Documentation' }).click();
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.getByRole('searchbox', { name: 'Search in “API reference”' }).fill('secret /v1/webhooks');
    await page.keyboard.press('Enter');
    const results = page.locator('.docs-results a');
    await page.getByRole('link', { name: 'Search all of the documentation' }).waitFor();
    for (const href of await results.evaluateAll((links) => links.map((one) => one.getAttribute('href'))))
      expect(href).to.match(/^\/docs\/api#/);
    await page.getByRole('link', { name: 'API reference: Replace the secret of a webhook' }).click();
    await page.waitForURL(/\/docs\/api#replace-the-secret-of-a-webhook$/);
  });

  it('shows results of a search accessibly, and says if there are none', async () => {
    const page = await web.open(`${DOCS_SEARCH_PATH}?q=credits`);
    await expectAccessible(page, 'docs-search');
    expect(await page.getByText(/^\d+ results/).getAttribute('role')).to.equal('status');
    await page.goto(`${DOCS_SEARCH_PATH}?q=zebra`);
    await page.getByText('0 results.').waitFor();
  });

  it('folds the contents of a page on narrow screens', async () => {
    const page = await web.open(docPath('reference'));
    const link = page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'scan_not_found' });
    expect(await link.isVisible()).to.equal(true);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await link.isVisible()).to.equal(false);
    await page.getByText('Contents of this page').click();
    await link.click();
    expect(page.url()).to.match(/#scan_not_found$/);
  });
});
