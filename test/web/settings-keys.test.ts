/** Settings → API keys in a real browser. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { issueKey } from '../support/issue-key.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb, type VisitorOptions } from './web.ts';

const PATH = '/dashboard/settings/api-keys';
const SECRET = /svc_live_[0-9A-Za-z]{38}/;

describe('pages of API keys in a browser', () => {
  const web = useWeb();

  /** Signs in as the owner of a new organisation, and opens a page. */
  async function open(path: string, options: VisitorOptions = {}): Promise<{ page: Page; organisation: string }> {
    const { id: organisation } = await web.organisation();
    return { page: await openAs(web, 'owner', path, { ...options, organisation }), organisation };
  }

  it('are accessible with keys of every status, and without any', async () => {
    const { page, organisation } = await open(PATH);
    const { keys } = web.stores;
    const { key } = await issueKey(keys, organisation, { name: 'Old pipeline', scopes: ['scans:read', 'scans:write'] });
    await keys.revoke(organisation, key.id);
    await issueKey(keys, organisation, { name: 'Trial', expiresAt: new Date(Date.now() - 1000) });
    await page.reload();
    await expectAccessible(page, 'api-keys');
    await page.goto(`${PATH}?status=expired&cursor=${Buffer.from(JSON.stringify([0, 'x'])).toString('base64url')}`);
    await expectAccessible(page, 'api-keys-empty');
  });

  it('are accessible in the form, with errors, with the new key, and after a reload', async () => {
    const { page } = await open(`${PATH}/new`);
    await expectAccessible(page, 'api-keys-new');
    for (const scope of await page.getByRole('checkbox').all()) await scope.uncheck();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').evaluate((alert) => alert === alert.ownerDocument.activeElement)).to.equal(true);
    await expectAccessible(page, 'api-keys-new-errors');
    await page.getByRole('textbox', { name: 'Name' }).fill('CI of the shop');
    await page.getByRole('checkbox', { name: 'scans:read' }).check();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your new API key' }).waitFor();
    await expectAccessible(page, 'api-keys-created');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'The key was created before' }).waitFor();
    await expectAccessible(page, 'api-keys-created-before');
  });

  it('create, copy and revoke a key with the keyboard, and show the key no second time', async () => {
    const opened = await open(PATH, { permissions: ['clipboard-read', 'clipboard-write'] });
    const { organisation } = opened;
    let { page } = opened;
    const press = async (name: string, role: 'link' | 'button' = 'button') => {
      await page.getByRole(role, { name }).focus();
      await page.keyboard.press('Enter');
    };
    await press('Create an API key', 'link');
    await page.waitForURL(`**${PATH}/new`);
    await page.getByRole('textbox', { name: 'Name' }).focus();
    await page.keyboard.type('Keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor();
    const [secret] = SECRET.exec(await page.content())!;
    expect(page.url()).to.not.match(SECRET);
    await press('Copy API key');
    await page.getByText('Copied').first().waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).to.equal(secret);
    await press('I have saved the key', 'link');
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    // The browser keeps no copy of the page, and asks before it sends the form again.
    expect(await page.goBack().catch((error: Error) => error.message)).to.match(/ERR_CACHE_MISS/);
    page = await page.context().newPage();
    await page.goto(PATH);
    expect(await page.content()).to.not.match(SECRET);
    await press('Revoke Keyboard', 'link');
    await page.getByRole('heading', { level: 1, name: 'Revoke this API key?' }).waitFor();
    await expectAccessible(page, 'api-keys-revoke');
    await press('Revoke key');
    await page.getByRole('status').filter({ hasText: 'The key was revoked.' }).waitFor();
    const live = await web.stores.keys.list(organisation, { status: 'live', limit: 10 });
    expect(live.map(({ name }) => name)).to.deep.equal(['test']);
  });

  it('work without scripts', async () => {
    const { page, organisation } = await open(`${PATH}/new`, { javaScriptEnabled: false });
    await page.getByRole('textbox', { name: 'Name' }).fill('No scripts');
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('#new-key').textContent()).to.match(SECRET);
    await page.goto(PATH);
    await page.getByRole('link', { name: 'Revoke No scripts' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key was revoked.').waitFor();
    expect(await web.stores.keys.list(organisation, { status: 'revoked', limit: 10 })).to.have.lengthOf(1);
  });
});
