/** Lists in a window of 320 px, which is 1280 px at 400 % zoom: rows are cards, and filters are folded. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { CATALOGUES } from '../../api/web/texts.ts';
import { OUTCOME } from './scan-views.ts';
import { openAs } from './open-as.ts';
import { DESKTOP, useWeb } from './web.ts';

const NARROW = { width: 320, height: 640 };
/** What is shown in front of each cell. */
const LABELS = `[...document.querySelectorAll('#scan-rows td')].map((cell) => getComputedStyle(cell, '::before').content)`;

describe('a list on a narrow screen', () => {
  const web = useWeb();

  async function openList(): Promise<Page> {
    const page = await openAs(web, 'viewer', '/dashboard/scans');
    await web.scan(page.organisation, { phase: 'done', outcome: OUTCOME, passed: false, finishedAt: new Date() });
    await page.reload();
    return page;
  }

  it('shows each cell below the heading of its column, without scrolling sideways', async () => {
    const page = await openList();
    await page.setViewportSize(NARROW);
    const cells = page.locator('#scan-rows td');
    expect(await page.evaluate(LABELS)).to.deep.equal(
      ['State', 'Score', 'Violations', 'Verdict', 'Origin', 'Submitted'].map((heading) => `"${heading}" / ""`),
    );
    for (const box of await Promise.all((await cells.all()).map((cell) => cell.boundingBox())))
      expect(box!.x + box!.width).to.be.at.most(NARROW.width);
    await page.setViewportSize(DESKTOP);
    expect(new Set(await page.evaluate<string[]>(LABELS))).to.deep.equal(new Set(['none']));
  });

  it('is the same table to screen readers', async () => {
    const page = await openList();
    const wide = await rolesOf(page);
    expect(wide).to.deep.include({ table: 1, row: 2, columnheader: 7, rowheader: 1, cell: 6 });
    await page.setViewportSize(NARROW);
    expect(await rolesOf(page)).to.deep.equal(wide);
  });

  it('has a folded menu above it, and a row of links on a wide screen', async () => {
    const page = await openList();
    const schedules = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Schedules' });
    expect([await schedules.isVisible(), await page.getByText('Menu: Scans').isVisible()]).to.deep.equal([true, false]);
    await page.getByRole('link', { name: 'Scans', exact: true }).focus();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Schedules');
    await page.setViewportSize(NARROW);
    expect(await schedules.isVisible()).to.equal(false);
    expect((await page.locator('h1').boundingBox())!.y).to.be.below(NARROW.height / 2);
    await page.getByText('Menu: Scans').click();
    await schedules.click();
    await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
  });

  it('folds its filters until one is set, and never on a wide screen', async () => {
    const page = await openList();
    const search = page.getByLabel('Address contains');
    await search.fill('example');
    await page.setViewportSize(NARROW);
    expect(await search.isVisible()).to.equal(false);
    await page.getByText('Filters', { exact: true }).click();
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('Filters (1 set)').waitFor();
    expect(await search.inputValue()).to.equal('example');
    expect(await search.isVisible()).to.equal(true);
    await page.setViewportSize(DESKTOP);
    expect(await page.getByText('Filters (1 set)').isVisible()).to.equal(false);
  });
});

describe('the dashboard in German', () => {
  const web = useWeb();
  const PAGES = [
    ...['', '/scans', '/scans/new', '/schedules', '/schedules/new', '/known-issues', '/credits', '/account', '/account/mails'],
    ...['/organisations', '/account/second-factor', '/account/delete'],
    ...['members', 'security', 'tracker', 'recipients', 'audit-log', 'api-keys', 'api-keys/new', 'webhooks', 'webhooks/new'].map(
      (page) => `/settings/${page}`,
    ),
  ];
  /** Texts and names of a page. */
  const TEXTS = `[...document.querySelectorAll('body *:not(:lang(en), code, pre)')].flatMap((element) =>
    [...element.childNodes].map((node) => node.nodeType === 3 ? node.data : '').concat(element.getAttribute('aria-label') ?? ''))`;

  it('has no English text of its own, and needs no scrolling sideways at 320 px', async () => {
    const page = await openAs(web, 'owner', '/dashboard/account');
    const german = new Set(Object.values(CATALOGUES.de));
    const translated = new Set(Object.keys(CATALOGUES.de).filter((text) => !german.has(text)));
    await page.setExtraHTTPHeaders({ 'accept-language': 'de-AT,de;q=0.9' });
    await page.setViewportSize(NARROW);
    for (const path of PAGES) {
      expect((await page.goto(`/dashboard${path}`))?.status(), path).to.equal(200);
      expect(await page.evaluate('document.documentElement.lang'), path).to.equal('de');
      const english = (await page.evaluate<string[]>(TEXTS)).map((text) => text.trim()).filter((text) => translated.has(text));
      expect(english, path).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).to.equal(NARROW.width);
    }
  });
});

/** How often each role of a table is in the browser's accessibility tree. */
async function rolesOf(page: Page): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => String(role?.value));
  return Object.fromEntries(
    ['table', 'row', 'columnheader', 'rowheader', 'cell', 'caption'].map((name) => [name, roles.filter((role) => role === name).length]),
  );
}
