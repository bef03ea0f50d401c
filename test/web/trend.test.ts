/** The trend on the page of a scan, in a real browser. */
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { OUTCOME } from './scan-views.ts';
import { useWeb } from './web.ts';

/** New and fixed violations since the baseline; null without one. */
const CHANGES = [null, [12, 0], [3, 9], [0, 4], [1, 0], null, [0, 7]] as const;

describe('the trend of a scan', () => {
  const web = useWeb();

  const scanAt = (organisation: string, day: number, options: object = {}, change: readonly [number, number] | null = null) => {
    const difference = change && { new: change[0], fixed: change[1], unchanged: 40, onNewPages: 0, notTested: 0 };
    const baseline = difference && { scanId: 'c7f3a1de-0000-4000-8000-000000000000', optional: false, difference };
    return web.scan(organisation, {
      phase: 'done',
      outcome: { ...OUTCOME, score: Math.round(940 + 3 * day) / 10, ...(baseline && { baseline }) },
      options: withDefaults({ url: 'https://example.com/', ...options }),
      createdAt: new Date(Date.UTC(2026, 2, 1 + day, 9)),
      finishedAt: new Date(Date.UTC(2026, 2, 1 + day, 9, 1)),
    });
  };

  it('has the comparable scans only, an axis that shows change, and what was new and fixed', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const { organisation } = page;
    const scans = [];
    for (const [day, change] of CHANGES.entries()) scans.push(await scanAt(organisation, day, {}, change));
    await scanAt(organisation, 20, { maxPages: 50 });
    await scanAt(organisation, 21, { wcagLevel: 'AAA' });
    await page.goto(`/dashboard/scans/${scans.at(-1)!.id}`);
    await page.locator('#trend-card > details > summary, details:has(#trend) > summary').first().click();
    const rows = await page.locator('#trend tbody tr').all();
    const cells = await Promise.all(rows.map((row) => row.locator('td').allTextContents()));
    expect(cells).to.deep.equal(
      CHANGES.map((change, day) => [`${(940 + 3 * day) / 10}`, '12', ...(change?.map(String) ?? ['–', '–'])]).toReversed(),
    );
    const labels = await page.locator('.chart-text').allTextContents();
    expect(labels).to.include.members(['2026-03-01', '2026-03-07', '92.5', '95', '97.5', '0', '15']).and.not.include('0.0');
    expect(await page.locator('#trend-card').innerText()).to.include('The axis begins at 92.5, not at 0');
    expect(await page.getByRole('img', { name: /^Line chart of the violations of 7 scans, from 12 on .* to 12 on / }).count()).to.equal(1);
    await expectAccessible(page, 'scan-trend');
  });

  it('can be read at 320 px', async () => {
    const page = await openAs(web, 'viewer', '/dashboard');
    const [, last] = [await scanAt(page.organisation, 0), await scanAt(page.organisation, 1, {}, [3, 1])];
    await page.goto(`/dashboard/scans/${last.id}`);
    await page.locator('#trend-card > details > summary, details:has(#trend) > summary').first().click();
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const heights = await page
        .locator('.chart-text')
        .evaluateAll((all) =>
          all.map((one) => (one as unknown as { getBoundingClientRect(): { height: number } }).getBoundingClientRect().height),
        );
      expect(Math.min(...heights), `at ${width} px`).to.be.greaterThan(11);
      expect(Math.max(...heights), `at ${width} px`).to.be.lessThan(20);
    }
  });
});
