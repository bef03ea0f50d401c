/** Credits and schedules in a real browser. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { scheduleRow } from '../support/schedule-rows.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb, type VisitorOptions } from './web.ts';

describe('pages of credits and schedules in a browser', () => {
  const web = useWeb();

  async function open(path: string, options: VisitorOptions = {}): Promise<{ page: Page; organisation: string }> {
    const { id: organisation } = await web.organisation();
    return { page: await openAs(web, 'owner', path, { ...options, organisation }), organisation };
  }

  it('are accessible before and after credits have moved, and the ledger can be downloaded', async () => {
    const { page, organisation } = await open('/dashboard/credits');
    await expectAccessible(page, 'credits-empty');
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
    expect(file.trimEnd().split('\r\n')).to.have.lengthOf(1 + 1 + 25 + 2 * 24);
    await page.getByRole('link', { name: 'Next' }).press('Enter');
    await page.getByText('contract-2026').waitFor();
    await page.getByRole('link', { name: 'Previous' }).waitFor();
  });

  it('show schedules in every state accessibly, also without scripts', async () => {
    const { page, organisation } = await open('/dashboard/schedules', { javaScriptEnabled: false });
    expect(await page.getByText('There is no schedule').count()).to.equal(1);
    const { schedules } = web.stores;
    const since = new Date('2026-11-01T03:00:00Z');
    const lastScan = { scanId: '0d6d0a52-6a0b-4a43-9d7e-0e6a1f4f2b11', phase: 'done', passed: true, endedAt: since } as const;
    const states = {
      passed: { lastScan },
      regressed: {
        lastScan: { ...lastScan, passed: false },
        lastPassedAt: new Date('2026-10-31T03:00:00Z'),
        regressed: { reason: 'NoLongerPasses', message: 'The scan shop-1 missed its thresholds, and shop-0 met them.', since },
      },
      failed: { lastScan: { ...lastScan, phase: 'failed', passed: null }, active: 2 },
      suspended: { suspended: true, nextAt: null },
      stalled: { nextAt: null, stalled: { reason: 'InvalidSchedule', message: 'The schedule is invalid: minute 61.', since } },
    } as const;
    for (const [name, state] of Object.entries(states))
      await schedules.put(scheduleRow({ organisation, namespace: 'team-a', name, url: `https://shop.example.com/${name}`, ...state }), 'x');
    await schedules.observed('curbcut', new Date(Date.now() - 600_000));
    await page.reload();
    expect(await page.getByText('What is shown may be out of date').count()).to.equal(1);
    expect(await page.getByText('minute 61').count()).to.equal(1);
    expect(await page.getByRole('link', { name: /Scan of/ }).count()).to.equal(3);
  });

  it('of schedules are accessible, empty and with schedules', async () => {
    const { page, organisation } = await open('/dashboard/schedules');
    await expectAccessible(page, 'schedules-empty');
    const since = new Date('2026-11-01T03:00:00Z');
    const message = 'The scan shop-1 missed its thresholds, and shop-0 met them.';
    const lastScan = { scanId: '0d6d0a52-6a0b-4a43-9d7e-0e6a1f4f2b11', phase: 'done', passed: false, endedAt: since } as const;
    const rows = [
      scheduleRow({
        organisation,
        name: 'nightly',
        lastScan,
        lastPassedAt: since,
        regressed: { reason: 'NoLongerPasses', message, since },
      }),
      scheduleRow({ organisation, name: 'weekly', suspended: true, nextAt: null, timeZone: 'Europe/Berlin' }),
      scheduleRow({ organisation, name: 'hourly', active: 1, lastScan: { ...lastScan, passed: true } }),
      scheduleRow({
        organisation,
        name: 'invalid',
        nextAt: null,
        stalled: { reason: 'InvalidSchedule', message: 'Minute 61 is invalid.', since },
      }),
    ];
    for (const row of rows) await web.stores.schedules.put(row, 'x');
    await page.reload();
    await expectAccessible(page, 'schedules-outdated');
    await web.stores.schedules.observed('curbcut', new Date());
    await page.reload();
    await expectAccessible(page, 'schedules');
  });
});
