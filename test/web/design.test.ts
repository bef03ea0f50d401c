import { expect } from 'chai';
import { expectAccessible } from './accessible.ts';
import { useWeb } from './web.ts';

describe('the design system', () => {
  const web = useWeb();

  it('is accessible in every component and state', async () => {
    const page = await web.open('/design');
    await expectAccessible(page, 'design');
  });

  it('is accessible while a dialog is open, and the dialog takes and returns the focus', async () => {
    const page = await web.open('/design');
    await page.getByRole('button', { name: 'Revoke key CI' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke the key CI?' });
    await dialog.waitFor();
    await expectAccessible(page, 'design-dialog');
    await page.keyboard.press('Escape');
    expect(
      await page.getByRole('button', { name: 'Revoke key CI' }).evaluate((button) => button === button.ownerDocument.activeElement),
    ).to.equal(true);
  });
});
