/** What our own checks cost on a page: the CPU time of its test with and without them, in the same tab, in turn. */
import { chromium, type Browser, type CDPSession } from 'playwright-core';
import { checkSources, openWorld } from '../tools/without-checks.ts';

/** The runs of each page before those that are measured. */
const WARM_UP = 2;

export interface CheckCost {
  /** The milliseconds of CPU time of each page's test without our checks, the median of its rounds. */
  without: number[];
  /** What the checks add: the median of the differences of neighbouring runs. */
  added: number[];
}

const middle = (values: readonly number[]): number => [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)]!;

/** Measures pages one after the other. The first of two neighbouring runs is with and without our checks in turn. */
export async function measureOwnChecks(urls: readonly string[], rounds: number): Promise<CheckCost> {
  const sources = await checkSources();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell',
    chromiumSandbox: false,
  });
  const cost: CheckCost = { without: [], added: [] };
  try {
    for (const url of urls) {
      const runs = await measurePage(browser, url, sources, rounds);
      cost.without.push(middle(runs.map(({ without }) => without)));
      cost.added.push(middle(runs.map((run) => run.with - run.without)));
    }
  } finally {
    await browser.close();
  }
  return cost;
}

/** The CPU time of the page's thread, in milliseconds. Other programs of the machine do not count in it. */
async function threadMs(cdp: CDPSession): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return 1000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
}

async function measurePage(
  browser: Browser,
  url: string,
  sources: { with: string; without: string },
  rounds: number,
): Promise<{ with: number; without: number }[]> {
  const page = await browser.newPage({ reducedMotion: 'reduce', viewport: { width: 1280, height: 720 } });
  try {
    await page.goto(url, { waitUntil: 'load' });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const tests = { with: await openWorld(page, cdp, sources.with), without: await openWorld(page, cdp, sources.without) };
    const runs: { with: number; without: number }[] = [];
    for (let round = -WARM_UP; round < rounds; round++) {
      const run = { with: 0, without: 0 };
      for (const name of round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
        const before = await threadMs(cdp);
        await tests[name]();
        run[name] = (await threadMs(cdp)) - before;
      }
      if (round >= 0) runs.push(run);
    }
    return runs;
  } finally {
    await page.close();
  }
}
