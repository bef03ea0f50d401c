/** API keys, credits and webhooks in a real browser. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb } from './web.ts';

const KEYS = '/dashboard/settings/api-keys';
const KEY = /svc_live_[0-9A-Za-z]{38}/;
const WEBHOOK_SECRET = /whsec_[0-9A-Za-z+/=]{44}/;

describe('pages of keys, credits and webhooks', () => {
  const web = useWeb();
  const press = (page: Page, name: string) => page.getByRole('button', { name }).first().click();
  const says = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  it('create, copy and revoke a key with the keyboard, and show the key no second time', async () => {
    const permissions = ['clipboard-read', 'clipboard-write'];
    const opened = await openAs(web, 'owner', KEYS, { permissions });
    const { organisation } = opened;
    let page: Page = opened;
    const press = async (name: string, role: 'link' | 'button' = 'button') => {
      await page.getByRole(role, { name }).focus();
      await page.keyboard.press('Enter');
    };
    await press('Create an API key', 'link');
    await page.waitForURL(`**${KEYS}/new`);
    await press('Create key');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').evaluate((alert) => alert === alert.ownerDocument.activeElement)).to.equal(true);
    await expectAccessible(page, 'api-keys-new');
    await page.getByRole('textbox', { name: 'Name' }).focus();
    await page.keyboard.type('Keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor();
    const [secret] = KEY.exec(await page.content())!;
    expect(page.url()).to.not.match(KEY);
    await expectAccessible(page, 'api-keys-created');
    await press('Copy API key');
    await page.getByText('Copied').first().waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).to.equal(secret);
    await press('I have saved the key', 'link');
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    // The browser keeps no copy of the page, and asks before it sends the form again.
    expect(await page.goBack().catch((error: Error) => error.message)).to.match(/ERR_CACHE_MISS/);
    page = await page.context().newPage();
    await page.goto(KEYS);
    expect(await page.content()).to.not.match(KEY);
    await expectAccessible(page, 'api-keys');
    await press('Revoke Keyboard', 'link');
    await page.getByRole('heading', { level: 1, name: 'Revoke this API key?' }).waitFor();
    await expectAccessible(page, 'api-keys-revoke');
    await press('Revoke key');
    await page.getByRole('status').filter({ hasText: 'The key was revoked.' }).waitFor();
    const live = await web.stores.keys.list(organisation, { status: 'live', limit: 10 });
    expect(live.map(({ name }) => name)).to.deep.equal(['test']);
  });

  it('create and revoke a key without scripts', async () => {
    const page = await openAs(web, 'owner', `${KEYS}/new`, { javaScriptEnabled: false });
    const { organisation } = page;
    await page.getByRole('textbox', { name: 'Name' }).fill('No scripts');
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('#new-key').textContent()).to.match(KEY);
    await page.goto(KEYS);
    await page.getByRole('link', { name: 'Revoke No scripts' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key was revoked.').waitFor();
    expect(await web.stores.keys.list(organisation, { status: 'revoked', limit: 10 })).to.have.lengthOf(1);
  });

  it('list the movements in parts, and let them be downloaded', async () => {
    const page = await openAs(web, 'owner', '/dashboard/credits');
    const { organisation } = page;
    const { credits } = web.stores;
    await credits.grant(organisation, 'contract-2026', 1000);
    for (let count = 0; count < 25; count += 1) {
      const { id } = await web.scan(organisation);
      const deadline = new Date(Date.now() + 60_000);
      await credits.reserve({ organisation, scanId: id, pages: 5, partial: false, deadline });
      if (count > 0) await credits.settle(organisation, id, 3);
    }
    await page.reload();
    await expectAccessible(page, 'credits');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download as CSV' }).press('Enter');
    const file = await readFile(await (await download).path(), 'utf8');
    expect(file.trimEnd().split('\r\n')).to.have.lengthOf(1 + 2 + 25 + 2 * 24);
    await page.getByRole('link', { name: 'Next' }).press('Enter');
    await page.getByText('contract-2026').waitFor();
    await page.getByRole('link', { name: 'Previous' }).waitFor();
  });

  /** Records attempts of every kind: one that failed, and one that was interrupted. */
  async function attempt(): Promise<void> {
    const filter = { priority: 'webhook' } as const;
    const claim = (await web.stores.outbox.claim(filter, 60_000))!;
    const failed = { durationMs: 38, statusCode: 503, error: 'The endpoint answered 503.', response: '<b>busy</b>' };
    await web.stores.outbox.retry(claim, new Date(), failed);
    await web.stores.outbox.claim(filter, 60_000);
  }

  it('show webhooks, the log of one, and who declares it', async () => {
    const page = await openAs(web, 'member', WEBHOOKS_PATH);
    const { organisation } = page;
    const { webhook } = await addWebhook(web.stores, { organisation });
    await attempt();
    const stopped = await addWebhook(web.stores, { organisation, name: 'Stopped' });
    await web.stores.webhooks.stop(stopped.webhook.id, 'failing');
    await web.stores.webhooks.failed(webhook.id, new Date());
    await page.reload();
    await expectAccessible(page, 'webhooks');
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.locator('main summary').first().click();
    await expectAccessible(page, 'webhook');
    expect(await page.locator('.delivery li').allInnerTexts()).to.have.lengthOf(2);
    expect(await page.locator('.delivery li').first().innerText()).to.include('503 after 38 ms. The endpoint answered 503. <b>busy</b>');
    const declared = { name: 'declared', url: 'https://example.com/', events: ['scan.failed'], format: 'json', creditsBelow: 5 } as const;
    await web.stores.webhooks.declare(organisation, [{ ...declared, secret: `whsec_${'A'.repeat(43)}=` }]);
    await page.goto(WEBHOOKS_PATH);
    await page.getByRole('link', { name: 'declared' }).click();
    await page.getByText('The manifest of the organisation declares this webhook').waitFor();
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).to.deep.equal(['Send a test']);
  });

  it('create a webhook, and show its secret once', async () => {
    const page = await openAs(web, 'member', `${WEBHOOKS_PATH}/new`);
    const { organisation } = page;
    await page.getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1/');
    await page.getByRole('textbox', { name: 'Name' }).fill('Chat');
    await page.getByRole('textbox', { name: 'Credits' }).fill('7');
    await press(page, 'Create webhook');
    expect(await page.locator('#url-error').innerText()).to.match(/only publicly reachable hosts can be used/);
    await expectAccessible(page, 'webhooks-new');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/hook');
    await page.getByRole('radio', { name: 'Slack' }).check();
    await press(page, 'Create webhook');
    await page.getByRole('heading', { level: 1, name: 'Your new webhook' }).waitFor();
    await expectAccessible(page, 'webhooks-created');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'The webhook was created before' }).waitFor();
    const [webhook, ...others] = await web.stores.webhooks.list(organisation);
    expect(others).to.deep.equal([]);
    expect(webhook).to.deep.include({ name: 'Chat', format: 'slack', creditsBelow: 7, events: ['scan.completed', 'scan.failed'] });
  });

  it('work without scripts for a webhook: test, send again, disable, enable, replace the secret, delete', async () => {
    const page = await openAs(web, 'member', WEBHOOKS_PATH, { javaScriptEnabled: false });
    const { organisation } = page;
    const { webhook } = await addWebhook(web.stores, { organisation });
    const deliveries = () => web.stores.deliveries.list(organisation, webhook.id, { limit: 10 });
    await page.goto(`${WEBHOOKS_PATH}/${webhook.id}`);
    await press(page, 'Send a test');
    await says(page, 'A test is on its way.');
    expect((await deliveries()).map(({ type }) => type)).to.deep.equal(['webhook.test', 'webhook.test']);
    await page.locator('main summary').first().click();
    await press(page, 'Send again');
    await says(page, 'The delivery is sent again.');
    const [again] = await deliveries();
    expect(again!.id).to.match(/^msg_[0-9a-f]{32}-/);
    await press(page, 'Disable');
    await says(page, 'The webhook is disabled.');
    expect(new Set((await deliveries()).map(({ state }) => state))).to.deep.equal(new Set(['canceled']));
    expect(await page.getByRole('button', { name: 'Send a test' }).count()).to.equal(0);
    await press(page, 'Enable');
    await says(page, 'The webhook is enabled.');
    await press(page, 'Replace the secret');
    expect(await page.locator('#webhook-secret').textContent()).to.match(WEBHOOK_SECRET);
    await page.goto(`${WEBHOOKS_PATH}/${webhook.id}`);
    await press(page, 'Delete');
    await says(page, 'The webhook was deleted.');
    expect(await web.stores.webhooks.list(organisation)).to.deep.equal([]);
  });

  it('say that the installation sends no webhooks, and offer no new one', async () => {
    const off = await web.replica({ webhooks: false });
    const page = await openAs(web, 'member', WEBHOOKS_PATH);
    await page.goto(off.url + WEBHOOKS_PATH);
    expect(await page.locator('main').innerText()).to.include('This installation sends no webhooks');
    expect(await page.getByRole('link', { name: 'Create a webhook' }).count()).to.equal(0);
  });

  it('of webhooks are not there for viewers', async () => {
    const page = await openAs(web, 'viewer', WEBHOOKS_PATH);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('You may not do this');
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).to.equal(0);
  });
});
