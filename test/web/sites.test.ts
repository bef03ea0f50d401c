/** The pages of sites in a real browser. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Role } from '../../core/accounts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { expectAccessible, expectAccessibleNow } from './accessible.ts';
import { openAs, type PersonPage } from './open-as.ts';
import { OUTCOME } from './scan-views.ts';
import { takeScreenshot } from './screenshots.ts';
import { useWeb, type VisitorOptions } from './web.ts';

const LONG_HOST = `${'a-very-long-name-of-a-preview.'.repeat(5)}shop.example:8443`;
const DAY = 86_400_000;

describe('the pages of sites', () => {
  const web = useWeb({ mail: true });

  const open = (role: Role = 'member', options?: VisitorOptions) => openAs(web, role, '/dashboard', options);

  const done = (organisation: string, url: string, change: Partial<ScanRow> = {}): Promise<ScanRow> =>
    web.scan(organisation, {
      phase: 'done',
      outcome: OUTCOME,
      pages: OUTCOME.pages,
      passed: false,
      options: withDefaults({ url, thresholds: { minScore: 90 } }),
      finishedAt: new Date(),
      ...change,
    });

  const compared: Outcome = {
    ...OUTCOME,
    baseline: { scanId: randomUUID(), difference: { new: 2, fixed: 5, unchanged: 10, onNewPages: 0, notTested: 0 } } as Outcome['baseline'],
  };

  /** Sites in every state. */
  async function storeSites({ organisation }: PersonPage): Promise<{ shop: ScanRow; failed: ScanRow }> {
    const url = 'https://shop.example/';
    for (const [days, score] of [85, 79.5, 88].entries())
      await done(organisation, url, { createdAt: new Date(Date.now() - (9 - days) * DAY), outcome: { ...OUTCOME, score } });
    const shop = await done(organisation, url, {
      outcome: compared,
      origin: 'manifest',
      resource: { namespace: 'team-a', name: 'shop-1' },
    });
    await done(organisation, url, {
      options: withDefaults({ url, maxPages: 50, crawl: { exclude: ['/shop/**'] } }),
      createdAt: new Date(Date.now() - DAY),
    });
    await done(organisation, 'https://good.example/', {
      passed: true,
      outcome: { ...OUTCOME, score: 100 },
      createdAt: new Date(Date.now() - 2 * DAY),
    });
    await done(organisation, `https://${LONG_HOST}/`, { passed: null, createdAt: new Date(Date.now() - 3 * DAY) });
    const failing = { options: withDefaults({ url: 'https://down.example/' }) };
    await done(organisation, '', { ...failing, createdAt: new Date(Date.now() - 5 * DAY) });
    const failed = await web.scan(organisation, {
      ...failing,
      phase: 'failed',
      message: 'No page could be tested: the host did not answer.',
      createdAt: new Date(Date.now() - 4 * DAY),
      finishedAt: new Date(),
    });
    const schedules = [
      scheduleRow({ organisation, url, name: 'nightly', optionsKey: shop.optionsKey, nextAt: new Date(Date.now() + DAY) }),
      scheduleRow({ organisation, url, name: 'weekly', optionsKey: shop.optionsKey, suspended: true, nextAt: null }),
    ];
    for (const row of schedules) await web.stores.schedules.put(row, 'x');
    return { shop, failed };
  }

  it('say what a new organisation does first, to each role', async () => {
    const page = await open('owner');
    expect(await page.getByRole('heading', { name: 'First steps' }).isVisible()).to.equal(true);
    expect(await page.getByRole('link', { name: 'Scan a site' }).count()).to.equal(1);
    expect(await page.locator('#first-command').innerText()).to.include('curbcut scan');
    const viewer = await open('viewer');
    expect(await viewer.getByRole('link', { name: /Scan a site|New scan/ }).count()).to.equal(0);
  });

  it('show a first scan in progress, and its site when it has ended, without a reload', async () => {
    const page = await open();
    const { id } = await web.scan(page.organisation, { phase: 'scanning' });
    await page.reload();
    expect(await page.locator(`#live-${id}`).innerText())
      .to.include('example.com/')
      .and.include('Testing pages');
    const { row } = (await web.stores.scans.mirror(id, { phase: 'done', outcome: OUTCOME, passed: true, finishedAt: new Date() }))!;
    await web.stores.sites.record([row]);
    await page.locator('#site-rows > tr').waitFor();
    expect(await page.locator('#in-progress').count()).to.equal(0);
    expect(await page.locator('#site-rows > tr').innerText()).to.include('Passed');
  });

  it('list a row for each host, the newest first, with its result, changes, next run and other configurations', async () => {
    const page = await open();
    await storeSites(page);
    await page.reload();
    const rows = await page.locator('#site-rows > tr').allInnerTexts();
    expect(rows.map((row) => row.split('\n')[0])).to.deep.equal(['shop.example', 'good.example', LONG_HOST, 'down.example']);
    expect(rows[0]).to.include('Up to 5 pages, WCAG 2.1 AA').and.include('Did not pass').and.include('71.5').and.include('2 new, 5 fixed');
    await page.locator('#site-rows > tr').first().getByText('1 other configuration').click();
    expect(await page.locator('#site-rows > tr').first().locator('details').innerText()).to.include(
      'Up to 50 pages, WCAG 2.1 AA, own rules',
    );
    expect(await page.getByRole('img', { name: /^Score of the last 4 scans: from 85 to 71.5, lowest 71.5, highest 88$/ }).count()).to.equal(
      1,
    );
    expect(rows[2]).to.match(/\d+ (critical|serious)|No violations/);
    expect(rows[3]).to.include('Failed').and.include('71.5').and.include('Result of');
    await expectAccessible(page, 'sites');
  });

  it('continue, and filter by host and verdict, without scripts', async () => {
    const page = await open('viewer', { javaScriptEnabled: false });
    await storeSites(page);
    for (let at = 0; at < 25; at += 1) await done(page.organisation, `https://s${at}.example/`, { createdAt: new Date(Date.now() + at) });
    await page.reload();
    await page.getByRole('link', { name: 'More sites' }).click();
    expect(await page.locator('#site-rows > tr').count()).to.equal(4);
    await page.getByRole('link', { name: 'First sites' }).click();
    await page.getByLabel('Site contains').fill('GOOD');
    await page.getByLabel('Verdict').selectOption('passed');
    await page.getByRole('button', { name: 'Filter' }).click();
    const shown = await page.locator('#site-rows > tr th').allInnerTexts();
    expect(shown.map((text) => text.split('\n')[0])).to.deep.equal(['good.example']);
    await page.getByRole('link', { name: 'Clear filters' }).first().click();
    expect(await page.locator('#site-rows > tr').count()).to.equal(25);
  });

  it('show how a site is, how it changed, its schedules, who scanned it, and its other scans', async () => {
    const page = await open();
    const { shop } = await storeSites(page);
    await page.reload();
    await page.getByRole('link', { name: 'shop.example' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'shop.example' }).waitFor();
    const text = await page.locator('main').innerText();
    expect(text)
      .to.include('Only scans with these options are compared here.')
      .and.include('new since the baseline')
      .and.include('fixed since the baseline')
      .and.include('Started by Manifest (team-a/shop-1)')
      .and.include('Up to 50 pages, WCAG 2.1 AA, own rules for pages');
    expect(await page.locator('#schedules tbody tr').count()).to.equal(2);
    expect(await page.locator('#scan-rows > tr').count()).to.equal(4);
    expect(await page.locator('#trend tbody tr').count()).to.be.at.least(4);
    await expectAccessible(page, 'site');
    await page.getByRole('link', { name: 'See causes and pages' }).click();
    await page.waitForURL(`**/dashboard/scans/${shop.id}`);
    await page.goBack();
    await page.getByRole('link', { name: 'Known issues of shop.example' }).click();
    expect(await page.getByLabel('Site').inputValue()).to.equal('shop.example');
    await page.goBack();
    await page.getByRole('link', { name: 'All scans of shop.example' }).click();
    expect(await page.locator('#scan-rows > tr').count()).to.equal(5);
  });

  it('show times in the time zone of the reader, and near ones relative to now except in sentences', async () => {
    const url = 'https://shop.example/';
    for (const [javaScriptEnabled, text] of [
      [true, 'yesterday, 10:30 PM'],
      [false, 'Mar 2, 2026, 3:30 AM UTC'],
    ] as const) {
      const page = await open('viewer', { javaScriptEnabled, timezoneId: 'America/New_York' });
      await done(page.organisation, url, { createdAt: new Date('2026-03-02T03:30:00Z') });
      await page.clock.setFixedTime(new Date('2026-03-02T15:00:00Z'));
      await page.reload();
      const time = page.locator('#site-rows time');
      expect((await time.innerText()).replaceAll('\u202F', ' ')).to.equal(text);
      if (javaScriptEnabled) expect(await time.getAttribute('title')).to.match(/^Sunday, March 1, 2026 at 10:30:00\sPM EST$/);
      expect(await page.getByText('Times are in the zone of your browser: America/New_York').isVisible()).to.equal(javaScriptEnabled);
      await page.getByRole('link', { name: 'shop.example' }).click();
      await page.getByText(javaScriptEnabled ? /Scan of Mar 1, 10:30\sPM\./ : 'Scan of Mar 2, 2026, 3:30').waitFor();
    }
  });

  it('say why the last scan has no result, and what the last result was', async () => {
    const page = await open('viewer');
    const { failed } = await storeSites(page);
    await page.goto(`/dashboard/sites/down.example/${failed.optionsKey}`);
    const text = await page.locator('main').innerText();
    expect(text).to.include('The last scan failed').and.include('the host did not answer').and.include('Last result').and.include('71.5');
    expect(text).to.include('was not compared with a baseline').and.include('No schedule scans this site');
    await expectAccessible(page, 'site-without-result');
  });

  it('delete a scan after a question, and a site after its host was entered', async () => {
    const page = await open('owner');
    const { shop } = await storeSites(page);
    await page.goto(`/dashboard/scans/${shop.id}`);
    await page.getByRole('button', { name: 'Delete scan' }).first().click();
    await page.getByRole('dialog').waitFor();
    await takeScreenshot(page, 'scan-delete', false);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete scan' }).click();
    await page.getByText('The scan was deleted.').waitFor();
    await page.goto('/dashboard/sites/shop.example');
    await page.getByRole('link', { name: 'Delete this site' }).click();
    await expectAccessible(page, 'site-delete');
    await page.getByRole('button', { name: 'Delete the site' }).click();
    await page.getByRole('link', { name: 'Enter shop.example to confirm.' }).waitFor();
    await page.getByLabel('The host of the site, to confirm').fill('shop.example');
    await page.getByRole('button', { name: 'Delete the site' }).click();
    await page.getByText('The site was deleted.').waitFor();
    expect(await page.getByRole('link', { name: 'shop.example', exact: true }).count()).to.equal(0);
    expect(await page.getByRole('link', { name: 'good.example' }).count()).to.be.above(0);
  });

  it('are watched with a button, which keeps the time zone of the browser', async () => {
    const page = await open('member', { timezoneId: 'America/New_York' });
    const { person } = page;
    await web.db.collection<{ _id: string }>('users').updateOne({ _id: person.email }, { $set: { verifiedAt: new Date() } });
    await storeSites(page);
    await page.goto('/dashboard/sites/shop.example');
    await page.getByRole('button', { name: 'Watch this site' }).click();
    await page.getByRole('button', { name: 'Stop watching' }).waitFor();
    expect((await web.stores.users.find(person.email))?.timeZone).to.equal('America/New_York');
    await page.getByRole('link', { name: 'All your mails' }).click();
    expect(await page.getByLabel('shop.example').isChecked()).to.equal(true);
    await expectAccessible(page, 'account-mails');
  });

  it('are accessible in forced colours', async () => {
    const page = await open('member', { forcedColors: 'active' });
    await storeSites(page);
    for (const path of ['/dashboard', '/dashboard/sites/shop.example']) {
      await page.goto(path);
      await expectAccessibleNow(page);
    }
  });
});
