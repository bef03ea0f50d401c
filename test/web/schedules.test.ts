/** Schedules in a real browser: from the page of a site to a schedule that runs, with the keyboard and without scripts. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { NAMESPACE } from '../api/stack.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { expectAccessible } from './accessible.ts';
import { openAs, type PersonPage } from './open-as.ts';
import { useWeb } from './web.ts';

const LIST = '/dashboard/schedules';

describe('pages of schedules in a browser', () => {
  const web = useWeb();

  const press = (page: Page, role: 'link' | 'button', name: string) => page.getByRole(role, { name, exact: true }).press('Enter');
  const nameOf = (page: Page): string => new URL(page.url()).pathname.split('/')[4]!;

  /** Creates a schedule, as a member without scripts. */
  async function create(): Promise<PersonPage> {
    const page = await openAs(web, 'member', `${LIST}/new`, { javaScriptEnabled: false });
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/shop');
    await press(page, 'button', 'Create schedule');
    await page.getByText('The schedule was created.').waitFor();
    return page;
  }

  /** Stores what the operator would. */
  async function mirror(page: PersonPage): Promise<void> {
    const { organisation } = page;
    const url = 'https://example.com/shop';
    const row = {
      organisation,
      namespace: NAMESPACE,
      name: nameOf(page),
      url,
      schedule: '0 8 * * 1',
      source: { by: 'dashboard' } as const,
    };
    await web.stores.schedules.put(scheduleRow(row), 'x');
    await web.stores.schedules.observed('curbcut', new Date());
    await page.reload();
  }

  it('show the fields that a frequency uses, and the next runs', async () => {
    const page = await openAs(web, 'member', `${LIST}/new`);
    const shown = async () => {
      const fields = {
        weekday: 'Day of the week',
        day: 'Day of the month',
        time: 'Time',
        minute: 'Minute of the hour',
        cron: 'Cron expression',
      };
      const visible = await Promise.all(
        Object.entries(fields).map(async ([id]) => ((await page.locator(`#${id}`).isVisible()) ? [id] : [])),
      );
      return visible.flat();
    };
    expect(await shown()).to.deep.equal(['weekday', 'time']);
    for (const [frequency, fields] of Object.entries({ hour: ['minute'], month: ['day', 'time'], cron: ['cron'], weekdays: ['time'] })) {
      await page.getByLabel('How often').selectOption(frequency);
      expect(await shown(), frequency).to.deep.equal(fields);
    }
    await page.getByLabel('Time', { exact: true }).fill('18:30');
    await page.getByLabel('Time zone').selectOption('Europe/Berlin');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/shop');
    await press(page, 'button', 'Show the next runs');
    const preview = page.getByRole('status').filter({ hasText: 'The next runs' });
    expect(await preview.getByText(/, 18:30$/).count()).to.equal(5);
    expect(await page.getByRole('textbox', { name: 'Address' }).inputValue()).to.equal('https://example.com/shop');
    await page.getByLabel('How often').selectOption('cron');
    await page.getByLabel('Cron expression').fill('0 8 * *');
    await press(page, 'button', 'Create schedule');
    await page.getByRole('alert').getByRole('link').first().waitFor();
    await expectAccessible(page, 'schedule-new');
  });

  it('create, run, suspend, change and delete a schedule with the keyboard, without scripts', async () => {
    const page = await create();
    expect(await page.getByRole('heading', { level: 1, name: 'Schedule of example.com/shop' }).count()).to.equal(1);
    const ended = { schedule: nameOf(page), origin: 'manifest', phase: 'done', finishedAt: new Date() } as const;
    await web.scan(page.organisation, ended);
    await mirror(page);
    await expectAccessible(page, 'schedule');
    await press(page, 'button', 'Run now');
    expect(await page.getByText('A run was requested.').count()).to.equal(1);
    await press(page, 'button', 'Suspend');
    expect(await page.getByText('The schedule is suspended').count()).to.equal(1);
    await press(page, 'button', 'Resume');
    await press(page, 'link', 'Change');
    await expectAccessible(page, 'schedule-change');
    await page.getByLabel('Time', { exact: true }).fill('09:15');
    await press(page, 'button', 'Save changes');
    expect(await page.getByText('Every Monday at 09:15').count()).to.equal(1);
    await press(page, 'link', 'Delete');
    await expectAccessible(page, 'schedule-delete');
    await press(page, 'button', 'Delete the schedule');
    expect(await page.getByText('The schedule was deleted.').count()).to.equal(1);
  });

  it('show a new schedule as soon as the operator has seen it', async () => {
    const page = await openAs(web, 'member', `${LIST}/new`);
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/shop');
    await press(page, 'button', 'Create schedule');
    await page.getByText('Waiting for the operator').waitFor();
    const row = scheduleRow({ organisation: page.organisation, namespace: NAMESPACE, name: nameOf(page), url: 'https://example.com/shop' });
    await web.stores.schedules.put(row, 'x');
    await page.getByText('Waiting for the operator').waitFor({ state: 'detached' });
    expect(await page.getByText('Active', { exact: true }).count()).to.equal(1);
  });

  it('list schedules in every state, without scripts', async () => {
    const page = await openAs(web, 'owner', LIST, { javaScriptEnabled: false });
    const { organisation } = page;
    expect(await page.getByText('There is no schedule').count()).to.equal(1);
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
    expect(await page.getByText('Minute 61').count()).to.equal(1);
    expect(await page.getByRole('link', { name: /Scan of/ }).count()).to.equal(2);
    await expectAccessible(page, 'schedules');
  });
});
