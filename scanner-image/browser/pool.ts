/** The scan's browser and its tabs: a worker keeps its tab, a broken tab is replaced, a crashed browser is started again. */
import type { Browser } from 'playwright-core';
import type { Logger } from '../../platform/logger.ts';
import { launchChromium, type Machine } from './chromium.ts';
import { openTab, type Tab, type TabDeps, type Visit, type VisitRequest } from './tab.ts';

export interface Pool {
  /** Visits a page in the tab of a worker. */
  visit(worker: number, request: VisitRequest): Promise<Visit>;
  /** The browser's version, once one was started. */
  version(): Promise<string>;
  /** Ends tabs and browser. Visits that are under way fail. */
  close(): Promise<void>;
}

/** Playwright keeps what it knows of every request until its context is closed, so a tab is not used for ever. */
const VISITS_PER_TAB = 300;
/** How long after a tab's crash the browser's own may show. */
const LOSS_MS = 300;

/** @param options.proxy the egress proxy's address */
export function createPool(options: { machine: Machine; proxy: string; log: Logger; tab: (version: string) => TabDeps }): Pool {
  const { machine, proxy, log } = options;
  let browser: Promise<Browser> | null = null;
  let closed = false;
  const tabs = new Map<number, { tab: Tab; visits: number; browser: Browser }>();

  function running(): Promise<Browser> {
    if (closed) throw new Error('the pool is closed');
    browser ??= launchChromium(machine, proxy, log).then((started) => {
      started.on('disconnected', () => {
        browser = null;
        if (!closed) log.warn({}, 'the browser ended; it is started again for the next page');
      });
      return started;
    });
    browser.catch(() => (browser = null));
    return browser;
  }

  async function tabOf(worker: number): Promise<Tab> {
    const known = tabs.get(worker);
    if (known !== undefined && known.browser.isConnected() && known.visits < VISITS_PER_TAB) {
      known.visits += 1;
      return known.tab;
    }
    await retire(worker);
    const started = await running();
    const tab = await openTab(started, options.tab(started.version()));
    tabs.set(worker, { tab, visits: 1, browser: started });
    return tab;
  }

  /** Gives a worker's tab up; a browser that does not let go of it is ended, for it would keep what hangs in it. */
  async function retire(worker: number): Promise<void> {
    const known = tabs.get(worker);
    tabs.delete(worker);
    if (known === undefined || !known.browser.isConnected()) return;
    try {
      await known.tab.close();
    } catch {
      log.warn({}, 'a tab could not be closed; the browser is started again');
      await known.browser.close().catch(() => undefined);
    }
  }

  async function attempt(worker: number, request: VisitRequest): Promise<{ visit: Visit; browserLost: boolean }> {
    const tab = await tabOf(worker);
    const used = tabs.get(worker)?.browser;
    const visit = await tab.visit(request);
    // A tab goes a moment before its browser is known to be gone.
    const browserLost = !visit.loaded && visit.reason === 'crashed' && used !== undefined && (await isLost(used));
    if (!visit.loaded && visit.broken) await retire(worker);
    return { visit, browserLost };
  }

  function isLost(used: Browser): Promise<boolean> {
    if (!used.isConnected()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), LOSS_MS);
      used.once('disconnected', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  return {
    async visit(worker, request) {
      const started = performance.now();
      const first = await attempt(worker, request);
      if (!first.browserLost || closed) return first.visit;
      // The whole browser went, perhaps by another tab's page: this page has what is left of its time once more.
      const left = request.budgetMs - (performance.now() - started);
      return left < 1000 ? first.visit : (await attempt(worker, { ...request, budgetMs: left })).visit;
    },
    version: async () => (await running()).version(),
    async close() {
      closed = true;
      const started = await browser?.catch(() => null);
      await started?.close().catch(() => undefined);
    },
  };
}
