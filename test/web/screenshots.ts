import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { nightly } from '../support/nightly.ts';

/** Where screenshots are kept, for people to look at. Without SCREENSHOTS_FOLDER, a commit takes none. */
export const SCREENSHOTS =
  process.env.SCREENSHOTS_FOLDER ?? nightly(null, join(import.meta.dirname, '..', '..', '.curbcut', 'screenshots'));

/** Takes a screenshot, if there is a folder for them. */
export async function takeScreenshot(page: Page, name: string, fullPage = true): Promise<void> {
  if (SCREENSHOTS === null) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}
