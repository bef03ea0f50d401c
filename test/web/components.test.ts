import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { expectAccessible } from './accessible.ts';
import { components } from './components-page.ts';
import { useWeb } from './web.ts';

describe('the components of the pages', () => {
  const web = useWeb();

  /** Opens a page of the service with the components in its main part. */
  async function open(): Promise<Page> {
    const visitor = await web.visitor();
    await visitor.route('**/components', async (route) => {
      const response = await route.fetch({ url: `${web.url}/dashboard/sign-in` });
      const body = (await response.text()).replace(/(<main[^>]*>).*(?=<\/main>)/s, (_, start: string) => `${start}${components()}`);
      await route.fulfill({ response, body });
    });
    const page = await visitor.newPage();
    await page.goto('/components');
    return page;
  }

  it('are accessible in every state', async () => {
    const page = await open();
    await page.getByRole('heading', { name: 'Navigation and data' }).waitFor();
    await expectAccessible(page, 'components');
  });

  it('are accessible while a dialog is open, which takes and returns the focus', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Revoke key CI' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the key CI?' });
    await dialog.waitFor();
    await expectAccessible(page, 'components-dialog');
    await page.keyboard.press('Escape');
    expect(
      await page.getByRole('button', { name: 'Revoke key CI' }).evaluate((button) => button === button.ownerDocument.activeElement),
    ).to.equal(true);
  });
});
