/**
 * Tests a page with the scanner's own axe-core: WCAG 2.2 AA and best practices. A commit has axe-core look at the wide light page
 * and measures the narrow one; the night does both for every size and scheme. report/html/tokens.test.ts has the colours of the dark one.
 */
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { axeOptions, axeSource } from '../../scanner-image/page/scripts/source.ts';
import type { AxeResults } from '../../scanner-image/page/axe/results.ts';
import { problemsOf } from './problems.ts';
import { SCREENSHOTS, takeScreenshot } from './screenshots.ts';
import { DESKTOP } from './web.ts';

/** A phone, and 1280 px at 400 % zoom. */
const NARROW = { width: 320, height: 640 };
const HTML_MAX = 100_000;
/** Higher pages are too large for a picture of the whole. */
const PICTURE_MAX_PX = 16_000;

const VIEWS = [
  { suffix: '', size: DESKTOP, colorScheme: 'light' },
  { suffix: '-dark', size: DESKTOP, colorScheme: 'dark' },
  { suffix: '-narrow', size: NARROW, colorScheme: 'light' },
  { suffix: '-narrow-dark', size: NARROW, colorScheme: 'dark' },
] as const;
const TESTED_VIEWS = SCREENSHOTS === null ? [VIEWS[0], VIEWS[3]] : VIEWS;

/** The elements that end beyond the window, for the message. */
const WIDEST = `[...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > innerWidth && one.closest('.table-frame') === null)
  .map((one) => one.tagName.toLowerCase() + '.' + one.className).slice(0, 8).join(', ')`;

/** The tables whose rows are wider than the window, which on narrow screens are cards. */
const SCROLLING_TABLES = `[...document.querySelectorAll('.table-frame')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.querySelector('table').id)`;

let source: Promise<string> | null = null;

/** Fails unless the page is accessible in each view. With a folder for screenshots, keeps `NAME.png`, `NAME-dark.png` and `NAME-narrow.png`. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  const found: string[] = [];
  await using axe = await openAxe(page);
  for (const { suffix, size, colorScheme } of TESTED_VIEWS) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    if (SCREENSHOTS !== null || size === DESKTOP) found.push(...(await axe.findings()).map((finding) => `${name}${suffix}: ${finding}`));
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    if (size === NARROW)
      for (const id of await page.evaluate<string[]>(SCROLLING_TABLES)) found.push(`${name}${suffix}: the table ${id} scrolls sideways`);
    if (wider > 0) found.push(`${name}${suffix}: scrolls sideways by ${wider} px: ${await page.evaluate<string>(WIDEST)}`);
    if (suffix === '-narrow-dark') continue;
    const fullPage = (await page.evaluate<number>('document.documentElement.scrollHeight')) <= PICTURE_MAX_PX;
    await takeScreenshot(page, name + suffix, fullPage);
  }
  await page.setViewportSize(DESKTOP);
  await page.emulateMedia({ colorScheme: 'light' });
  expect([...found, ...problemsOf(page)]).to.deep.equal([]);
}

/** Fails unless the page is accessible as it is shown now, such as on paper. */
export async function expectAccessibleNow(page: Page): Promise<void> {
  await using axe = await openAxe(page);
  expect([...(await axe.findings()), ...problemsOf(page)]).to.deep.equal([]);
}

interface Axe extends AsyncDisposable {
  /** What is wrong with the page as it is now. */
  findings(): Promise<string[]>;
}

/** Loads axe-core in a world of its own, as the scanner does: it can neither be seen nor be stopped by the page. */
async function openAxe(page: Page): Promise<Axe> {
  const options = axeOptions({ wcagLevel: 'AA', wcagVersion: '2.2', advice: true });
  options.runOnly.values.push('best-practice');
  source ??= axeSource('en');
  const session = await page.context().newCDPSession(page);
  const world = await isolatedWorld(session);
  await evaluate(session, world, await source);
  return {
    async findings() {
      const text = await evaluate(session, world, `curbcut.run(${JSON.stringify(options)}, ${HTML_MAX})`);
      const results = JSON.parse(text) as AxeResults;
      return results.violations.flatMap(({ id, help, nodes }) =>
        nodes.map(
          ({ target, html, failureSummary = '' }) =>
            `${id} (${help}) at ${target.join(' ')}: ${html.slice(0, 200)} ${failureSummary.replace(/\s+/g, ' ')}`,
        ),
      );
    },
    [Symbol.asyncDispose]: () => session.detach(),
  };
}

async function isolatedWorld(session: CDPSession): Promise<number> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'test' });
  return executionContextId;
}

async function evaluate(session: CDPSession, contextId: number, expression: string): Promise<string> {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value as string;
}
