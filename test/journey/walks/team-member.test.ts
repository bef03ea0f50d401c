/** A member of a team who uses the dashboard with a keyboard only, from signing in to what changed between two scans. */
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { DEMO_EMAIL } from '../../../local/demo-organisation.ts';
import { sharedBrowser } from '../../web/browser.ts';
import { takeScreenshot } from '../../web/screenshots.ts';
import { DESKTOP } from '../../web/web.ts';
import type { WholeProduct } from '../product.ts';
import { sharedProduct } from '../shared-product.ts';
import { keyboardOf, type Keyboard } from './keyboard.ts';
import { openShop, type Shop } from './shop.ts';

describe('a team member with a keyboard only', function () {
  this.timeout(300_000);
  let product: WholeProduct;
  let shop: Shop;
  let person: BrowserContext;
  let page: Page;
  let keyboard: Keyboard;
  /** The host of the site, as pages show it. */
  let host: string;
  before(async () => {
    product = await sharedProduct();
    shop = await openShop(product.host);
    host = new URL(shop.url).host;
    for (const release of [() => {}, () => shop.release()]) {
      release();
      const { code, stderr } = await product.curbcut('scan', shop.url, '--max-pages', '3', '--fail-on', 'critical');
      expect(code, stderr).to.equal(1);
    }
    person = await (await sharedBrowser()).newContext({ baseURL: product.url, viewport: DESKTOP, locale: 'en-US' });
    person.setDefaultTimeout(60_000);
    page = await person.newPage();
    keyboard = keyboardOf(page);
  });
  after(async () => {
    await person?.close();
    shop?.close();
  });

  const heading = (name: string | RegExp, level = 1) => page.getByRole('heading', { name, level }).waitFor();
  const picture = (name: string) => takeScreenshot(page, `walk-member-${name}`, false);
  const main = () => page.locator('main').innerText();

  it('signs in', async () => {
    await page.goto('/dashboard');
    await keyboard.type('E-mail address', DEMO_EMAIL);
    await keyboard.type('Password', product.password);
    await picture('1-sign-in');
    await page.keyboard.press('Enter');
    await heading('Sites');
    await picture('2-sites');
  });

  it('opens the site, which did not pass, and its last scan', async () => {
    expect(await page.locator('#site-rows').innerText()).to.include('Did not pass');
    await keyboard.open(host);
    await heading(host);
    await picture('3-site');
    await keyboard.open('See causes and pages');
    await heading(`Scan of ${host}`);
    expect(await main()).to.include('critical');
    await picture('4-scan');
  });

  it('opens a cause, and reads how to fix it', async () => {
    await keyboard.to(/^Serious Elements must meet minimum color contrast/);
    const cause = page.locator('#causes .cause', { hasText: 'color contrast' });
    await page.keyboard.press('Enter');
    expect(await cause.locator('> details').getAttribute('open')).to.equal('');
    await picture('5-cause');
    expect(await cause.innerText())
      .to.include('How to fix it')
      .and.match(/Contrast 1\.\d+:1, required 4\.5:1/);
  });

  it('filters by severity', async () => {
    await page.reload();
    await keyboard.type('Severity', 'Critical');
    await keyboard.open('Filter');
    await page.waitForURL(/severity=critical/);
    await picture('6-filter');
    for (const line of await page.locator('#causes .cause summary h3').allInnerTexts()) expect(line).to.match(/^Critical/);
  });

  it('accepts a cause as known', async () => {
    await keyboard.to(/^Critical Form elements must have labels/);
    await page.keyboard.press('Enter');
    await keyboard.open(/^Accept as known.*Form elements must have labels/);
    await heading('Accept a known issue');
    await keyboard.type(/^Reason/, 'The supplier fixes it.');
    await keyboard.type(/^Issue owner/, 'shop team');
    const end = new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10).split('-');
    await keyboard.type(/^End/, [end[1], end[2], end[0]].join(''));
    await picture('7-accept');
    await keyboard.open('Accept as known');
    await page.getByText('The violations are accepted.').waitFor();
    await picture('8-accepted');
    await keyboard.open('Back to the scan');
    await heading(`Scan of ${host}`);
  });

  it('sees the findings of one page, and of the next', async () => {
    await keyboard.open('Show the list of 3 pages');
    await page.waitForURL(/\/pages$/);
    await keyboard.open('Shop');
    await heading('Page 1 of 3: Shop');
    expect(await main()).to.include('Images must have alternative text');
    await picture('9-page');
    await keyboard.open('Next');
    await heading(/^Page 2 of 3: (Contact|Offers)$/);
    await picture('10-next-page');
    const way = page.getByRole('navigation', { name: 'You are here' }).getByRole('link', { name: 'Scans' });
    expect(await way.getAttribute('href')).to.equal('/dashboard/scans');
  });

  it('sees what is new and what is fixed', async () => {
    await keyboard.open(host);
    await heading(`Scan of ${host}`);
    await keyboard.open('Difference to the last scan');
    const difference = page.locator('#difference');
    await difference.getByRole('heading', { name: 'New violations by root cause' }).waitFor();
    await picture('11-difference');
    const text = await difference.innerText();
    for (const figure of [/3\s+new violations/, /3\s+fixed violations/]) expect(text).to.match(figure);
    await keyboard.open(`All results of ${host}`);
    await heading(host);
  });
});
