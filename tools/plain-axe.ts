/** A plain run of axe-core on a page at rest: the yardstick for the scanner's findings. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.js'), 'utf8');

export interface PlainOptions {
  /** Rules with one of these tags are run. */
  tags: readonly string[];
  /** The time in milliseconds after which the page is at rest. */
  restMs: number;
  /** The limit for loading, in milliseconds. */
  limitMs: number;
}

interface PlainRules {
  violations: { id: string; nodes: { target: (string | string[])[] }[] }[];
  incomplete: PlainRules['violations'];
}

export interface PlainFindings {
  /** `rule selector` lines, sorted. The parts of a path through frames are joined by ` | `, those through shadow roots by ` > `. */
  violations: string[];
  needsReview: string[];
}

/** Loads a page in a new tab, scrolls through it, waits until it is at rest, and runs axe-core in the page's own world. */
export async function plainAxe(browser: Browser, url: string, options: PlainOptions): Promise<PlainFindings> {
  const page = await browser.newPage({ reducedMotion: 'reduce', viewport: { width: 1280, height: 720 }, serviceWorkers: 'block' });
  try {
    // A page may have parts that never arrive.
    await page.goto(url, { waitUntil: 'domcontentloaded', timeout: options.limitMs });
    await page.waitForLoadState('load', { timeout: options.limitMs }).catch(() => undefined);
    // The pointer of a headless browser begins at 0, 0.
    await page.mouse.move(-1, 300);
    await scrollThrough(page);
    await sleep(options.restMs);
    for (const frame of page.frames())
      // A frame of an object that fails to load disappears.
      await frame.evaluate(`${AXE}; axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })`).catch(() => undefined);
    await page.evaluate('for (const animation of document.getAnimations()) try { animation.finish() } catch { animation.cancel() }');
    const results = await page.evaluate<PlainRules>(
      `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(options.tags)} } })`,
    );
    return { violations: linesOf(results.violations), needsReview: linesOf(results.incomplete) };
  } finally {
    await page.close();
  }
}

/** Scrolls to the end of the page as it is when scrolling begins, and back. */
async function scrollThrough(page: Page): Promise<void> {
  const { height, screen } = await page.evaluate<{ height: number; screen: number }>(
    '({ height: document.documentElement?.scrollHeight ?? 0, screen: innerHeight })',
  );
  for (let top = screen; top < height; top += screen) {
    await page.evaluate(`scrollTo({ top: ${top}, behavior: 'instant' })`);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  }
  await page.evaluate("scrollTo({ top: 0, behavior: 'instant' })");
}

const linesOf = (rules: PlainRules['violations']): string[] =>
  rules
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} ${target.map((step) => [step].flat().join(' > ')).join(' | ')}`))
    .sort();
