/** Settings → Webhooks in a real browser. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb, type VisitorOptions } from './web.ts';

const SECRET = /whsec_[0-9A-Za-z+/=]{44}/;

describe('pages of webhooks in a browser while the installation sends none', () => {
  const web = useWeb({ webhooks: false });

  it('say so, offer no new one, and refuse the form of another tab', async () => {
    const { id: organisation } = await web.organisation();
    await addWebhook(web.stores, { organisation });
    const page = await openAs(web, 'member', WEBHOOKS_PATH, { organisation });
    await expectAccessible(page, 'webhooks-off');
    expect(await page.locator('main').innerText()).to.include('This installation sends no webhooks');
    expect(await page.getByRole('link', { name: 'Create a webhook' }).count()).to.equal(0);
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('heading', { name: 'Chat' }).waitFor();
    expect(await page.locator('main').innerText()).to.include('This installation sends no webhooks');
    expect(await page.getByRole('button', { name: 'Send a test' }).count()).to.equal(0);
    await page.goto(new URL(`${WEBHOOKS_PATH}/new`, page.url()).href);
    await page.getByLabel('Name').fill('Other');
    await page.getByLabel('Address').fill('https://example.com/hook');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('alert').filter({ hasText: 'This installation sends no webhooks' }).waitFor();
  });
});

describe('pages of webhooks in a browser', () => {
  const web = useWeb();

  async function open(path: string, options: VisitorOptions = {}): Promise<{ page: Page; organisation: string }> {
    const { id: organisation } = await web.organisation();
    return { page: await openAs(web, 'member', path, { ...options, organisation }), organisation };
  }
  const press = (page: Page, name: string) => page.getByRole('button', { name }).first().click();
  const says = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  /** Records attempts of every kind: one that failed, and one that was interrupted. */
  async function attempt(): Promise<void> {
    const filter = { priority: 'webhook' } as const;
    const claim = (await web.stores.outbox.claim(filter, 60_000))!;
    const failed = { durationMs: 38, statusCode: 503, error: 'The endpoint answered 503.', response: '<b>busy</b>' };
    await web.stores.outbox.retry(claim, new Date(), failed);
    await web.stores.outbox.claim(filter, 60_000);
  }

  it('are accessible with and without webhooks, with a log, and when one is stopped', async () => {
    const { page, organisation } = await open(WEBHOOKS_PATH);
    await expectAccessible(page, 'webhooks-empty');
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
    await press(page, 'Delete');
    await page.getByRole('dialog').waitFor();
    await expectAccessible(page, 'webhook-delete');
    await page.goto(`${WEBHOOKS_PATH}/${stopped.webhook.id}`);
    await expectAccessible(page, 'webhook-stopped');
    await page.goto(`${WEBHOOKS_PATH}/${webhook.id}?cursor=${Buffer.from(JSON.stringify([0, 'x'])).toString('base64url')}`);
    await expectAccessible(page, 'webhook-empty');
    const declared = { name: 'declared', url: 'https://example.com/', events: ['scan.failed'], format: 'json', creditsBelow: 5 } as const;
    await web.stores.webhooks.declare(organisation, [{ ...declared, secret: `whsec_${'A'.repeat(43)}=` }]);
    await page.goto(WEBHOOKS_PATH);
    await page.getByRole('link', { name: 'declared' }).click();
    await page.getByText('The manifest of the organisation declares this webhook').waitFor();
    await expectAccessible(page, 'webhook-manifest');
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).to.deep.equal(['Send a test']);
  });

  it('are accessible in the form, with errors, with the secret, and after a reload', async () => {
    const { page, organisation } = await open(`${WEBHOOKS_PATH}/new`);
    await expectAccessible(page, 'webhooks-new');
    await page.getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1/');
    await page.getByRole('textbox', { name: 'Credits' }).fill('many');
    await press(page, 'Create webhook');
    await page.getByRole('alert').waitFor();
    await expectAccessible(page, 'webhooks-new-errors');
    await page.getByRole('textbox', { name: 'Name' }).fill('Chat');
    await page.getByRole('textbox', { name: 'Credits' }).fill('7');
    await press(page, 'Create webhook');
    expect(await page.locator('#url-error').innerText()).to.match(/only publicly reachable hosts can be used/);
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/hook');
    await page.getByRole('radio', { name: 'Slack' }).check();
    await press(page, 'Create webhook');
    await page.getByRole('heading', { level: 1, name: 'Your new webhook' }).waitFor();
    await expectAccessible(page, 'webhooks-created');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'The webhook was created before' }).waitFor();
    await expectAccessible(page, 'webhooks-created-before');
    const [webhook, ...others] = await web.stores.webhooks.list(organisation);
    expect(others).to.deep.equal([]);
    expect(webhook).to.deep.include({ name: 'Chat', format: 'slack', creditsBelow: 7, events: ['scan.completed', 'scan.failed'] });
  });

  it('work without scripts: test, send again, disable, enable, replace the secret, delete', async () => {
    const { page, organisation } = await open(WEBHOOKS_PATH, { javaScriptEnabled: false });
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
    expect(await page.locator('#webhook-secret').textContent()).to.match(SECRET);
    await page.goto(`${WEBHOOKS_PATH}/${webhook.id}`);
    await press(page, 'Delete');
    await says(page, 'The webhook was deleted.');
    expect(await web.stores.webhooks.list(organisation)).to.deep.equal([]);
  });

  it('are not there for viewers', async () => {
    const page = await openAs(web, 'viewer', WEBHOOKS_PATH);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('You may not do this');
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).to.equal(0);
  });
});
