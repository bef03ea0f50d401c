/** The dashboard's scans in a real browser. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Role } from '../../core/accounts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { eventually } from '../api/context.ts';
import { expectAccessible } from './accessible.ts';
import { storeView, OUTCOME } from './scan-views.ts';
import { openAs as open, unfold } from './open-as.ts';
import { useWeb } from './web.ts';

describe('the dashboard', () => {
  const web = useWeb();

  const openAs = (role: Role, path: string, options?: Parameters<typeof open>[3]) => open(web, role, path, options);

  const done = (organisation: string, change: Partial<ScanRow> = {}): Promise<ScanRow> =>
    web.scan(organisation, {
      phase: 'done',
      outcome: OUTCOME,
      pages: OUTCOME.pages,
      passed: false,
      message: 'The score is 71.5, below the minimum of 90.',
      options: withDefaults({ url: 'https://example.com/', thresholds: { minScore: 90, failOnSeverity: 'serious' } }),
      finishedAt: new Date(),
      ...change,
    });

  it('lists scans in every state', async () => {
    const page = await openAs('member', '/dashboard/scans');
    await done(page.organisation, { metadata: { branch: `feature/${'long-name-'.repeat(20)}`, commit: '4f371ac9' } });
    await done(page.organisation, {
      passed: true,
      message: null,
      origin: 'manifest',
      outcome: { ...OUTCOME, violations: { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 }, score: 100 },
    });
    await web.scan(page.organisation, { phase: 'scanning', pages: { scanned: 2, failed: 1, total: 5 } });
    await web.scan(page.organisation, { phase: 'failed', message: 'No page could be tested.' });
    await web.scan(page.organisation, { phase: 'canceled' });
    await web.scan(page.organisation, { options: withDefaults({ url: `https://example.com/${'a-long-path/'.repeat(40)}` }) });
    await page.reload();
    expect(await page.locator('#scan-rows > tr').count()).to.equal(6);
    await expectAccessible(page, 'dashboard-scans');
  });

  it('shows a scan that arrives, and its progress, without a reload, and keeps the focus', async () => {
    const page = await openAs('owner', '/dashboard/scans');
    const first = await web.scan(page.organisation);
    await page.locator(`#scan-${first.id}`).waitFor();
    await page.locator(`#scan-link-${first.id}`).focus();
    const second = await web.scan(page.organisation, { createdAt: new Date(Date.now() + 5) });
    await web.stores.scans.mirror(first.id, { phase: 'scanning', pages: { scanned: 1, failed: 0, total: 4 } });
    await page.locator(`#scan-${second.id}`).waitFor();
    expect(await page.locator(`#scan-${first.id}`).innerText()).to.include('1 of 4 pages');
    expect(await page.evaluate('document.activeElement.id')).to.equal(`scan-link-${first.id}`);
  });

  it('filters by address and metadata, and shows branch and commit, without scripts', async () => {
    const page = await openAs('viewer', '/dashboard/scans', { javaScriptEnabled: false });
    const row = await done(page.organisation, { metadata: { branch: 'fix/a=b', commit: '4f371ac9e97b254279b485b0890c3de1060a20da' } });
    await done(page.organisation, { metadata: { branch: 'main' } });
    await page.getByLabel('Address contains').fill('EXAMPLE.com');
    await page.getByLabel('Metadata').fill('branch=fix/a=b');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(await page.locator('#scan-rows > tr').evaluateAll((rows) => rows.map(({ id }) => id))).to.deep.equal([`scan-${row.id}`]);
    expect(await page.locator(`#scan-${row.id}`).innerText()).to.include('fix/a=b 4f371ac9');
    await page.locator(`#scan-link-${row.id}`).click();
    await page.locator('.breadcrumb').getByRole('link', { name: 'Scans' }).click();
    expect(await page.getByLabel('Address contains').inputValue()).to.equal('EXAMPLE.com');
    await page.getByLabel('Metadata').fill('main');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(await page.getByText('No scan matches').isVisible()).to.equal(true);
    await page.getByRole('link', { name: 'Clear filters' }).first().click();
    expect(await page.locator('#scan-rows > tr').count()).to.equal(2);
  });

  it('shows the result of a scan with its findings', async () => {
    const page = await openAs('member', '/dashboard/scans');
    await done(page.organisation, { createdAt: new Date(Date.now() - 86_400_000), outcome: { ...OUTCOME, score: 60 } });
    const metadata = { commit: '4f371ac9', build_url: 'https://ci.example/1', note: '<b>bold</b>', site: 'javascript:alert(1)' };
    const known = { score: 80, violations: { ...OUTCOME.violations, total: 11, critical: 2 }, matched: 1, unmatched: 0, ending: 0 };
    const row = await done(page.organisation, { metadata, outcome: { ...OUTCOME, known } });
    const consent = { action: 'reject', outcome: 'answered', product: 'One<b>trust', url: 'https://example.com/' } as const;
    const reports = await storeView(web, row.id, { consent }, ({ groups }) => {
      const mark = { id: '1', reason: '<img src=x>', owner: 'shop team', expires_at: '2030-01-31T12:00:00.000Z', elements: 1 };
      Object.assign(groups[0]!, { known_elements: 1, known: [mark] });
    });
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
    await page.goto(`/dashboard/scans/${row.id}`);
    await unfold(page);
    const text = await page.locator('main').innerText();
    expect(text)
      .to.include('Images must have alternative text')
      .and.include('Needs review (1)')
      .and.include('The consent dialog of One<b>trust on https://example.com/ was rejected')
      .and.include('Without known issues: score 80, violations: 11. Thresholds are judged by these numbers.')
      .and.include('Known issue (elements: 1) until January 31, 2030 at 12:00 PM UTC: <img src=x> Owner: shop team')
      .and.include('Missed')
      .and.include('<b>bold</b>');
    expect(await page.locator('a[href="https://ci.example/1"]').count()).to.equal(1);
    expect(await page.locator('a[href^="javascript:"]').count()).to.equal(0);
    expect(await page.locator('script:not([src]), img').count(), 'the text of the page is not HTML').to.equal(0);
    await page.getByText('the JSON export of one of them is not stored any more').waitFor();
    await expectAccessible(page, 'dashboard-scan-done');
    await page.getByRole('link', { name: 'Advice (1)' }).click();
    await page.getByText('Best practices that WCAG does not require, for 4 elements.').waitFor();
    await page.getByRole('link', { name: 'Show the list of 3 pages' }).click();
    expect(await page.locator('main').innerText()).to.include('Blocked by bot protection');
  });

  it('shows a scan in progress, and its result when it ends', async () => {
    const page = await openAs('owner', '/dashboard/scans');
    const row = await web.scan(page.organisation, { phase: 'crawling' });
    await page.goto(`/dashboard/scans/${row.id}`);
    await web.stores.scans.mirror(row.id, { phase: 'scanning', pages: { scanned: 2, failed: 0, total: 5 } });
    await page.getByText('2 of 5 pages').waitFor();
    await expectAccessible(page, 'dashboard-scan-live');
    await page.locator('main a').first().focus();
    await web.stores.scans.mirror(row.id, { phase: 'done', outcome: OUTCOME, passed: null, finishedAt: new Date() });
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    expect(await page.title()).to.include('Done');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Scans');
  });

  it('shows scans in other states, which have no reports, without actions to viewers', async () => {
    const page = await openAs('viewer', '/dashboard/scans');
    for (const phase of ['queued', 'failed', 'canceled', 'done'] as const) {
      const { id } = await web.scan(page.organisation, {
        phase,
        message: phase === 'failed' ? 'No page could be tested: the host did not answer.' : null,
        outcome: phase === 'done' ? OUTCOME : null,
        finishedAt: phase === 'queued' ? null : new Date(),
      });
      expect((await page.goto(`/dashboard/scans/${id}`))!.status(), phase).to.equal(200);
      expect(await page.getByRole('button', { name: /Scan again|Cancel/ }).count()).to.equal(0);
    }
  });

  it('shows the partial report of a canceled scan', async () => {
    const page = await openAs('viewer', '/dashboard/scans');
    const id = randomUUID();
    const message = 'The scan was canceled. The report is partial: it has only the pages that were tested until then.';
    await done(page.organisation, { id, reports: await storeView(web, id, { partial: true }), phase: 'canceled', message });
    await page.goto(`/dashboard/scans/${id}`);
    await page.getByRole('heading', { name: 'Partial result' }).waitFor();
    expect(await page.locator('#outcome').innerText()).to.include('The report is partial');
    expect(await page.locator('#thresholds').count()).to.equal(0);
    expect(await page.getByRole('link', { name: 'Download PDF' }).count()).to.equal(1);
  });

  it('cancels a scan after a question, with the keyboard', async () => {
    const page = await openAs('member', '/dashboard/scans/new');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/dashboard\/scans\/[0-9a-f-]{36}$/);
    const id = page.url().split('/').pop()!;
    await page.getByRole('button', { name: 'Cancel scan' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Keep scanning');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect((await resourceOf(id)).spec.cancel).to.not.equal(true);
    await page.getByRole('button', { name: 'Cancel scan' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel scan' }).click();
    await page.getByText('The scan is being canceled.').waitFor();
    await eventually('the cancellation', async () => (await resourceOf(id)).spec.cancel === true);
    await page.goto(`/dashboard/scans/${id}`);
    await page.getByText('Canceling: the scan ends when the report of the tested pages is stored').waitFor();
    expect(await page.getByRole('button', { name: 'Cancel scan' }).count()).to.equal(0);
  });

  async function resourceOf(id: string): Promise<{ spec: { cancel?: boolean } }> {
    const { resource } = (await web.stores.scans.find(id))!;
    return web.kubernetes.request(
      'GET',
      `/apis/curbcut.dev/v1/namespaces/${resource.namespace}/accessibilityscans/${resource.name}`,
    ) as never;
  }

  it('keeps what was typed into the form of a new scan, and says what is wrong at the field', async () => {
    const page = await openAs('member', '/dashboard/scans/new');
    await page.getByRole('textbox', { name: 'Address' }).fill('ftp://example.com/');
    await page.getByRole('textbox', { name: 'Pages', exact: true }).fill('many');
    await page.setViewportSize({ width: 1280, height: 720 });
    const button = (await page.getByRole('button', { name: 'Start scan' }).boundingBox())!;
    expect(button.y + button.height, 'without scrolling').to.be.lessThan(720);
    await expectAccessible(page, 'dashboard-new-scan-empty');
    await page.getByText('More options').click();
    await page.getByLabel('Minimum score').fill('101');
    await page.getByRole('button', { name: 'Start scan' }).first().click();
    expect(await page.locator('#max_pages-error').innerText()).to.equal('Pages must be an integer.');
    expect(await page.locator('#min_score-error').innerText()).to.equal('Minimum score must be at most 100.');
    expect(await page.getByRole('textbox', { name: 'Pages', exact: true }).inputValue()).to.equal('many');
    expect(await page.evaluate('document.activeElement.className')).to.equal('error-summary');
    await expectAccessible(page, 'dashboard-new-scan');
  });

  it('scans again, and says why it cannot', async () => {
    const { id: organisation } = await web.organisation({ credits: 7 });
    const page = await openAs('member', '/dashboard/scans', { organisation });
    const row = await done(organisation);
    await page.goto(`/dashboard/scans/${row.id}`);
    expect(await page.locator('#again-cost').innerText())
      .to.include('5 credits')
      .and.include('7 are available');
    await page.getByRole('button', { name: 'Scan again' }).click();
    await page.getByRole('heading', { name: 'In progress' }).waitFor();
    const again = (await web.stores.scans.find(page.url().split('/').pop()!))!;
    expect(again.options).to.deep.equal(row.options);
    await page.goto(`/dashboard/scans/${row.id}`);
    await page.getByRole('button', { name: 'Scan again' }).click();
    expect(await page.getByRole('alert').innerText()).to.include('There are not enough credits for the requested pages');
  });
});
