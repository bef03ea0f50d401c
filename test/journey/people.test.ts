/** The first steps of a newcomer, in a real browser: a public scan and its mail in each language, then the dashboard with a key. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { wordsIn } from '../../report/words/words.ts';
import { inLanguage } from '../../api/web/languages.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { SOME_LOCALES } from '../support/nightly.ts';
import { DEMO_EMAIL } from '../../local/demo-organisation.ts';
import { sharedBrowser } from '../web/browser.ts';
import { takeScreenshot } from '../web/screenshots.ts';
import { firstMailTo, mailsTo } from './inbox.ts';
import { startWholeProduct, type WholeProduct } from './product.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CURBCUT = join(ROOT, 'cli', 'main.ts');
/** A page of the demo site in each language, so that no two requests are for the same page. */
const PAGES: Readonly<Record<Locale, string>> = {
  en: '/en/',
  de: '/de/',
  fr: '/en/events/',
  nl: '/en/library-card/',
  pl: '/en/catalogue/',
};

describe('a newcomer', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let visitor: BrowserContext;
  let page: Page;
  let key: string;
  before(async () => {
    product = await startWholeProduct();
    visitor = await (await sharedBrowser()).newContext({ baseURL: product.url, acceptDownloads: true });
    visitor.setDefaultTimeout(60_000);
    page = await visitor.newPage();
  });
  after(async () => {
    await visitor?.close();
    await product?.close();
  });

  const picture = (name: string) => takeScreenshot(page, `journey-${name}`);
  /** Runs the command line with the key that was created in the dashboard. @returns the exit code and both outputs */
  const curbcut = (...args: string[]) =>
    promisify(execFile)(process.execPath, [CURBCUT, ...args], {
      env: { ...process.env, CURBCUT_URL: product.url, CURBCUT_API_KEY: key },
    }).then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({ code: error.code, output: error.stdout + error.stderr }),
    );

  for (const locale of SOME_LOCALES)
    it(`has a page tested, reads the mail and opens the result in ${locale}`, async () => {
      const { texts } = wordsIn(locale, 'publicPages');
      const address = `visitor-${locale}@example.com`;
      await page.goto(inLanguage(locale, '/'));
      expect(await page.locator('html').getAttribute('lang')).to.equal(locale);
      await page.getByLabel(texts.home.url).fill(product.demoUrl + PAGES[locale]);
      await page.getByLabel(texts.home.email).fill(address);
      await picture(`1-form-${locale}`);
      await page.getByRole('button', { name: texts.home.submit }).click();
      await page.waitForURL(/\/scan\/[\w-]{43}$/);
      await picture(`2-status-${locale}`);
      await page.getByRole('heading', { name: texts.result.fixTitle }).waitFor({ timeout: 90_000 });
      await picture(`3-result-${locale}`);

      const mail = await firstMailTo(product, address);
      const link = new RegExp(`${product.url}${inLanguage(locale, '/scan/')}[\\w-]{43}`).exec(mail.text)![0];
      expect(mail.html).to.contain(`lang="${locale}"`);
      await page.goto(product.inboxUrl!);
      await page.getByRole('link', { name: mail.subject }).first().click();
      await picture(`4-mail-${locale}`);
      await page.goto(link);
      await page.getByRole('heading', { name: texts.result.fixTitle }).waitFor();
      expect(await mailsTo(product, address)).to.have.length(1);
    });

  it('signs in with the printed password', async () => {
    await page.goto('/dashboard');
    await page.getByLabel('E-mail address').fill(DEMO_EMAIL);
    await page.getByLabel('Password', { exact: true }).fill(product.password);
    await picture('5-sign-in');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/dashboard$/);
    await page.getByRole('heading', { name: 'Sites', level: 1 }).waitFor();
    await picture('6-dashboard');
  });

  it('creates a key, which is shown once', async () => {
    await page.getByRole('link', { name: 'API keys' }).first().click();
    await page.getByRole('link', { name: 'Create an API key' }).first().click();
    await page.getByLabel('Name').fill('My pipeline');
    await page.getByRole('button', { name: 'Create key' }).click();
    key = (await page.locator('#new-key').textContent())!.trim();
    expect(key).to.match(/^svc_live_[0-9A-Za-z]{38}$/);
    await picture('7-key');
    await page.goto('/dashboard/settings/api-keys');
    expect(await page.content()).to.not.contain(key);
  });

  it('uses the key with the command line, and sees the scan arrive live', async () => {
    await page.goto('/dashboard/scans');
    const scan = curbcut('scan', `${product.demoUrl}/`, '--max-pages', '1');
    const row = page.locator('#scan-rows tr').first();
    // Without a reload: the list refreshes itself.
    await row.waitFor({ timeout: 30_000 });
    await picture('8-live');
    await row.getByText('Done', { exact: true }).waitFor({ timeout: 60_000 });
    const { code, output } = await scan;
    expect(code, output).to.equal(0);
    // The operator lists the site; the page refreshes itself.
    await page.goto('/dashboard');
    await page.locator('#site-rows tr').first().getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Latest scans' }).waitFor();
    await picture('9-site');
    await page.locator('#scan-rows tr').first().getByRole('link').first().click();
    await page.getByRole('link', { name: 'Download PDF' }).waitFor();
    await picture('9-scan');
  });

  it('downloads the PDF by session', async () => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download PDF' }).click();
    const file = await (await downloading).path();
    expect((await readFile(file)).subarray(0, 5).toString()).to.equal('%PDF-');
  });

  it('cancels another scan', async () => {
    const scan = curbcut('scan', `${product.demoUrl}/`, '--max-pages', '60');
    await page.goto('/dashboard/scans');
    await page.locator('#scans-account').getByText('1 scan in progress').waitFor({ timeout: 30_000 });
    await page.locator('#scan-rows tr').first().getByRole('link').first().click();
    await page.getByRole('button', { name: 'Cancel scan' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this scan?' });
    await dialog.getByRole('button', { name: 'Cancel scan' }).click();
    await page.getByText('The scan was canceled.').first().waitFor({ timeout: 30_000 });
    await picture('10-canceled');
    expect((await scan).output).to.match(/cancell?ed/i);
  });

  it('revokes the key, and the command line gets 401', async () => {
    await page.goto('/dashboard/settings/api-keys');
    await page.getByRole('link', { name: /^Revoke\b.*My pipeline/ }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.waitForURL(/\/dashboard\/settings\/api-keys/);
    await picture('11-revoked');
    const { code, output } = await curbcut('list');
    expect(code).to.equal(2);
    expect(output).to.match(/invalid_api_key|key/i);
    const answer = await fetch(`${product.url}/v1/ci/scans`, { headers: { 'X-API-Key': key } });
    expect(answer.status).to.equal(401);
  });
});
