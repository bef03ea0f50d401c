/** What happens after a finding: who hears of it, where the work goes, whether the fix helped, and what people decided. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import type { Locale } from '../../core/scan/locales.ts';
import { ruleText } from '../../report/rule-texts/rule-texts.ts';
import { wordsIn } from '../../report/words/words.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { openStores } from '../../stores/stores.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { sharedBrowser } from '../web/browser.ts';
import { takeScreenshot } from '../web/screenshots.ts';
import { DESKTOP } from '../web/web.ts';
import { CURBCUT, eventually, type WholeProduct } from './product.ts';
import { sharedProduct } from './shared-product.ts';

const MEMBER = { email: 'mitglied@example.com', password: 'Die Rampe neben der Treppe' };
const DE = wordsIn('de', 'mail');
/** What the pages have at the top. */
const BANNER = { before: '', worse: '<img src="/banner.png" width="40" height="40">', fixed: '<img src="/banner.png" alt="Sale">' };

/** The dashboard speaks the language of the member, so its controls are found by what they do. */
describe('after the finding', function () {
  this.timeout(300_000);
  let product: WholeProduct;
  let site: Server;
  let host: string;
  let banner: keyof typeof BANNER = 'before';
  let member: BrowserContext;
  let page: Page;
  let schedule: string;
  /** The address of what is new in the scan that is worse. */
  let cause: URL;
  before(async () => {
    product = await sharedProduct();
    site = createServer(({ url }, response) => {
      const body = { '/': '<a href="/film">Film</a>', '/film': '<video controls width="200" src="/film.webm"></video>' }[url!];
      if (body === undefined) return void response.writeHead(404).end();
      const main = `<main><h1>Cinema</h1>${BANNER[banner]}${body}</main>`;
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<!doctype html><html lang="en"><head><title>Cinema ${url}</title></head><body>${main}</body></html>`);
    });
    await new Promise<void>((resolve) => site.listen(0, product.host, resolve));
    host = `${product.host}:${(site.address() as AddressInfo).port}`;
    const mongo = connectMongo({ url: product.environment['MONGODB_URL']!, logger: silentLogger });
    await openStores(mongo.db).users.add({ ...MEMBER, organisation: 'demo', role: 'owner', createdBy: 'test', verified: true });
    await mongo.close();
    const german = { locale: 'de-DE', timezoneId: 'Europe/Vienna' };
    member = await (await sharedBrowser()).newContext({ baseURL: product.url, viewport: DESKTOP, ...german });
    member.setDefaultTimeout(60_000);
    page = await member.newPage();
  });
  after(async () => {
    await member?.close();
    site?.close().closeAllConnections();
  });

  const picture = (name: string) => takeScreenshot(page, `after-finding-${name}`);
  async function fill(fields: Record<string, string>): Promise<void> {
    for (const [name, value] of Object.entries(fields)) await page.locator(`[name=${name}]`).fill(value);
  }
  /** Runs the schedule, and waits until its page shows the verdict of this run. */
  async function runNow(run: number, verdict: 'good' | 'bad'): Promise<void> {
    await page.goto(schedule);
    await page.locator('form[action$="/run"] button').click();
    const rows = page.locator('#schedule #scan-rows');
    await rows.locator(`tr:nth-last-child(${run}):first-child td:nth-child(5) .badge-${verdict}`).waitFor({ timeout: 120_000 });
  }

  it('begins with a schedule, whose site a member watches', async () => {
    await page.goto('/dashboard');
    await fill(MEMBER);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/dashboard$/);
    await page.goto('/dashboard/schedules/new');
    await page.locator('[name=fail_on_severity]').selectOption('critical');
    await page.locator('[name=frequency]').selectOption('cron');
    await page.locator('#more > summary').click();
    await fill({ url: `http://${host}/`, max_pages: '2', cron: '0 0 29 2 *', metadata: 'repository=https://github.com/acme/cinema' });
    await picture('1-schedule');
    await page.locator('main form .button-primary').click();
    await page.waitForURL(/\/dashboard\/schedules\/[^/]+\/[^/?]+\?done=/);
    schedule = new URL(page.url()).pathname;
    await runNow(1, 'good');
    await page.goto(`/dashboard/sites/${host}`);
    await page.locator('form[action$="/watch"] button').click();
    await page.locator('form[action$="/watch"] input[name=watch][value=no]').waitFor({ state: 'attached' });
    await picture('2-watched');
  });

  it('mails the member in German when a release makes it worse, with a link to the cause', async () => {
    banner = 'worse';
    await runNow(2, 'bad');
    await picture('3-worse');
    const inbox = `${product.inboxUrl}/api/mails?to=${encodeURIComponent(MEMBER.email)}`;
    const mails = async () => ((await (await fetch(inbox)).json()) as { data: { id: string; subject: string; text: string }[] }).data;
    const [mail] = await eventually(mails, ({ length }) => length > 0, 120_000);
    expect(mail!.subject).to.equal(DE.format(DE.texts.scanEnded.worse, { site: host }));
    const compared = DE.format(DE.texts.scanEnded.compared, { added: 2, fixed: 0, unchanged: 0 });
    expect(mail!.text).to.include(compared).and.include('(Europe/Vienna)');
    await page.goto(`${product.inboxUrl}/mails/${mail!.id}`);
    await picture('4-mail');
    const opened = member.waitForEvent('page');
    const name = ruleText('image-alt', 'de')!.help.replace(/\.$/, '');
    await page.frameLocator('iframe').getByRole('link', { name }).click();
    page = await opened;
    expect(await page.locator('#causes .cause').innerText()).to.include('“banner.png”');
    await picture('5-cause');
    cause = new URL(page.url());
  });

  it('makes an issue for the tracker of the site', async () => {
    await page.locator('#causes a[href$="/ticket"]').click();
    const issue = (await page.locator('a[href^="https://github.com/acme/cinema/issues/new?"]').getAttribute('href'))!;
    await picture('6-issue');
    const text = await page.locator('#ticket-text').innerText();
    expect(new URL(issue).searchParams.get('body')).to.equal(text).and.include(cause.href).and.include('/banner.png');
    await page.locator('main p > a[href*="cause="]').click();
  });

  it('says that the fix helped, after a check of one page', async () => {
    banner = 'fixed';
    await page.locator('button[form=check-form]').click();
    await page.locator('#check.notice-good').waitFor({ timeout: 120_000 });
    await picture('7-fixed');
    const checked = new URL(page.url()).pathname;
    await page.locator('#check a[href*="cause="]').click();
    await page.locator(`#causes a[href="${checked}"]`).waitFor();
    await picture('8-checked-cause');
  });

  it('keeps what the member decides about an element that it could not judge', async () => {
    await page.goto(cause.pathname);
    await page.locator('#causes a[href*="list=review"]').click();
    const undecided = page.locator('#causes .cause', { hasText: '<video' });
    await undecided.waitFor();
    await picture('9-review');
    await undecided.locator('a[href*="/known-issues/new"]').click();
    await page.locator('[name=kind][value=fine]').check();
    await fill({ reason: 'Der Film hat keinen Ton.', owner: 'Kino-Team' });
    await picture('10-decide');
    await page.locator('main form .button-primary').click();
    await page.waitForURL(/done=decided/);
    await picture('11-decided');
    await runNow(3, 'good');
    await page.locator('#scan-rows tr:first-child a').click();
    await page.locator('#causes').waitFor();
    await picture('12-respected');
    const { texts, format } = wordsIn((await page.locator('html').getAttribute('lang')) as Locale, 'report');
    expect(await page.locator('main').innerText()).to.include(format(texts.decisions, { faults: 0, fine: 1, score: 100 }));
    expect(await page.locator('#causes a[href*="list=review"]').count()).to.equal(0);
  });

  it('shows the same causes to a coding agent', async () => {
    const agent = new Client({ name: 'agent', version: '1' });
    const env = { ...(process.env as Record<string, string>), ...product.credentials() };
    await agent.connect(new StdioClientTransport({ command: process.execPath, args: [CURBCUT, 'mcp'], env }));
    try {
      const answer = await agent.callTool({ name: 'causes', arguments: { scan: cause.pathname.split('/').at(-1) } });
      const { causes } = answer.structuredContent as { causes: { fingerprint: string; fix_to_pass: boolean }[] };
      expect(causes.map((one) => [one.fingerprint, one.fix_to_pass])).to.deep.equal([[cause.searchParams.get('cause'), true]]);
    } finally {
      await agent.close();
    }
  });
});
