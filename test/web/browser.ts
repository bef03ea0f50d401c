/** The browser that all tests of pages in a run share. The first test that needs it starts it. */
import { chromium, type Browser } from 'playwright-core';
import { findChromium } from '../../scanner-image/page/browser/chromium.ts';

let browser: Promise<Browser> | null = null;

/** Returns the browser of this run. */
export function sharedBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: findChromium({ chromiumPath: process.env.CHROMIUM_PATH, path: process.env.PATH ?? '' }),
    chromiumSandbox: process.getuid?.() !== 0,
    // A test in CI or in a container may have little shared memory.
    args: ['--disable-dev-shm-usage'],
  });
  return browser;
}

after('close the browser', async () => {
  if (browser !== null) await (await browser).close();
});
