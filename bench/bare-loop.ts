/**
 * The lower bound for a scanner with axe-core: a process that reuses a few tabs, and only loads each page and runs axe-core.
 * No crawl, no proxy, no waiting for content, no evidence, no reports. Prints the failing elements by page and rule as JSON.
 *
 *   node bench/bare-loop.ts TABS URL...
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Page } from 'playwright-core';
import { ADVICE_RULES } from '../report/rules/rules.ts';
import { axeOptions } from '../scanner-image/page/scripts/source.ts';

/** The name under which axe-core reports the results of one page. */
export type BareFindings = Record<string, Record<string, number>>;

const [tabs, ...urls] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
// The same work as the scanner's.
const options = axeOptions({ wcagLevel: 'AA', wcagVersion: '2.1', advice: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH, chromiumSandbox: false });
const findings: BareFindings = {};
const waiting = urls.values();

async function work(page: Page): Promise<void> {
  for (const url of waiting) {
    await page.goto(url, { waitUntil: 'load' });
    const found = await page.evaluate(async (given) => {
      const { axe } = globalThis as unknown as {
        axe: { run(options: object): Promise<{ violations: { id: string; nodes: object[] }[] }> };
      };
      const { violations } = await axe.run(given);
      return Object.fromEntries(violations.map(({ id, nodes }) => [id, nodes.length]));
    }, options);
    findings[url] = Object.fromEntries(Object.entries(found).filter(([rule]) => !ADVICE_RULES.has(rule)));
  }
}

const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1280, height: 720 } });
await context.addInitScript(axe);
await Promise.all(Array.from({ length: Number(tabs) }, async () => work(await context.newPage())));
await browser.close();
process.stdout.write(JSON.stringify(findings));
