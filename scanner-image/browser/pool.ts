/** The browser of a scan and its tabs. Each worker reuses its tab; broken tabs are replaced, and a crashed browser is restarted. */
import type { Browser } from 'playwright-core';
import type { Logger } from '../../platform/logger.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';
import { mergeOutcomes, noOutcomes, planAgain } from '../crawl/wait-history.ts';
import { launchChromium, type Machine } from './chromium.ts';
import type { StepsRequest, StepsResult } from './steps.ts';
import { openTab, type Tab, type TabDeps } from './tab.ts';
import type { Visit, VisitRequest } from './visit.ts';

/** What starting the browser and opening its tabs takes. */
export interface PoolDeps {
  machine: Machine;
  /** The address of the egress proxy. */
  proxy: string;
  log: Logger;
  /** The languages that sites are asked for, most wanted first. */
  languages: readonly string[];
  /** Returns the dependencies of a tab, for a browser of this version. */
  tab: (version: string) => TabDeps;
}

export interface Pool {
  /** Opens the tab of a worker ahead of its first visit, in the background. Its errors are those of the visit. */
  prepare(worker: number): void;
  /** Visits a page in the tab of a worker. */
  visit(worker: number, request: VisitRequest): Promise<Visit>;
  /** Runs steps in a tab of their own. @throws Error if the browser or the tab does not start */
  runSteps(request: StepsRequest): Promise<StepsResult>;
  /** Returns the version of the browser. Starts the browser if necessary. */
  version(): Promise<string>;
  /** Closes tabs and browser. Visits in progress fail. */
  close(): Promise<void>;
}

/** A tab is tidied after this many visits: two workers need 120 MB less than without, for 0.1 s of CPU each time. */
const VISITS_BETWEEN_TIDYING = 20;
/** How many visits earlier each tab is tidied than the one before it, so that not all of them are large at the same time. */
const TIDYING_OFFSET = 7;
/** The time in which a browser must have exited, in milliseconds. */
const CLOSE_MS = 5000;
/** The maximum delay between the events for the crash of a tab and the disconnection of its browser. */
const DISCONNECT_MS = 300;
/** The minimum time left for a second visit, in milliseconds. */
const MIN_RETRY_MS = 1000;

const isHung = (visit: Visit): boolean => !visit.loaded && visit.outcomes?.hangsOnScroll === true;

export function createPool(deps: PoolDeps): Pool {
  const { machine, proxy, log, languages } = deps;
  let browser: Promise<Browser> | null = null;
  let closed = false;
  const tabs = new Map<number, { tab: Tab; visits: number; browser: Browser }>();

  function running(): Promise<Browser> {
    if (closed) throw new Error('the pool is closed');
    browser ??= launchChromium(machine, proxy, log, languages).then((started) => {
      started.on('disconnected', () => {
        browser = null;
        if (!closed) log.warn({}, 'browser exited; the next page starts it again');
      });
      return started;
    });
    browser.catch(() => (browser = null));
    return browser;
  }

  /** Tabs that are being opened ahead, by worker. */
  const preparing = new Map<number, Promise<void>>();

  async function tabOf(worker: number): Promise<Tab> {
    await preparing.get(worker);
    const known = tabs.get(worker);
    if (known !== undefined && known.browser.isConnected()) {
      if (known.visits > 0 && (known.visits + worker * TIDYING_OFFSET) % VISITS_BETWEEN_TIDYING === 0) await known.tab.tidy();
      known.visits += 1;
      // It may have crashed since its last visit.
      if (!known.tab.lost()) return known.tab;
    }
    await retire(worker);
    // The browser may crash meanwhile, or the tab, because of another page.
    const opened = await open(worker, 1).catch((error: unknown) => {
      log.warn({ err: error }, 'opening a tab failed; trying again');
      return open(worker, 1);
    });
    return opened.tab;
  }

  async function open(worker: number, visits: number): Promise<{ tab: Tab }> {
    const started = await running();
    const tab = await openTab(started, deps.tab(started.version()));
    const opened = { tab, visits, browser: started };
    tabs.set(worker, opened);
    return opened;
  }

  /** Closes the tab of a worker. If that fails, closes the browser too, because the hung page would keep running. */
  async function retire(worker: number): Promise<void> {
    const known = tabs.get(worker);
    tabs.delete(worker);
    if (known !== undefined) await closeTab(known);
  }

  async function closeTab({ tab, browser: used }: { tab: Tab; browser: Browser }): Promise<void> {
    if (!used.isConnected()) return;
    try {
      await tab.close();
    } catch (error) {
      log.warn({ err: error }, 'closing a tab failed; restarting the browser');
      await used.close().catch(() => undefined);
    }
  }

  async function attempt(worker: number, request: VisitRequest): Promise<{ visit: Visit; browserLost: boolean }> {
    const tab = await tabOf(worker);
    const used = tabs.get(worker)?.browser;
    const visit = await tab.visit(request);
    // The crash of a tab is reported shortly before the disconnection of its browser.
    const browserLost = !visit.loaded && visit.reason === 'crashed' && used !== undefined && (await isLost(used));
    if (visit.broken) await retire(worker);
    return { visit, browserLost };
  }

  function isLost(used: Browser): Promise<boolean> {
    if (!used.isConnected()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (lost: boolean): void => {
        clearTimeout(timer);
        used.off('disconnected', onLost);
        resolve(lost);
      };
      const onLost = (): void => end(true);
      const timer = setTimeout(() => end(false), DISCONNECT_MS);
      used.on('disconnected', onLost);
    });
  }

  return {
    prepare(worker) {
      if (closed || tabs.has(worker) || preparing.has(worker)) return;
      const opening = open(worker, 0).then(
        () => undefined,
        (error: unknown) => log.debug({ err: error }, 'opening a tab ahead failed; the visit tries again'),
      );
      preparing.set(
        worker,
        opening.finally(() => preparing.delete(worker)),
      );
    },
    async visit(worker, request) {
      const started = performance.now();
      const first = await attempt(worker, request);
      const hung = isHung(first.visit);
      const lacksFiles = !first.visit.loaded && first.visit.lacksFiles === true;
      const unexpected = !first.visit.loaded && first.visit.reason === 'test_failed' && first.visit.broken;
      if (unexpected)
        log.warn({ page: request.url.href, why: first.visit.loaded || first.visit.message }, 'testing a page failed; trying again');
      if ((!first.browserLost && !lacksFiles && !hung && !unexpected) || closed) return first.visit;
      // The page of another tab may have crashed the browser, the page waited for files that do not arrive, it hangs when it is
      // scrolled, or the tab failed: visit this page again in the rest of its time.
      const left = request.budgetMs - (performance.now() - started);
      if (left < MIN_RETRY_MS) return first.visit;
      const { outcomes = noOutcomes() } = first.visit;
      const { visit } = await attempt(worker, { ...request, budgetMs: left, plan: planAgain(request.plan, outcomes) });
      const durationMs = first.visit.durationMs + visit.durationMs;
      // The message of the first visit names the whole time, or why the page hung.
      const isAsBefore = (lacksFiles || hung) && !visit.loaded && visit.reason === 'timeout' && !isHung(visit);
      return { ...(isAsBefore ? first.visit : visit), durationMs, outcomes: mergeOutcomes(outcomes, visit.outcomes ?? noOutcomes()) };
    },
    async runSteps(request) {
      if (closed) throw new Error('the pool is closed');
      const started = await running();
      const tab = await openTab(started, deps.tab(started.version()), 1);
      try {
        return await tab.runSteps(request);
      } finally {
        await closeTab({ tab, browser: started });
      }
    },
    version: async () => (await running()).version(),
    async close() {
      closed = true;
      const ending = browser?.then(
        (started) => started.close(),
        () => undefined,
      );
      // A browser that does not answer ends with the process at the latest.
      await withTimeLimit(ending ?? Promise.resolve(), CLOSE_MS, 'closing the browser').catch((error: unknown) =>
        log.warn({ err: error }, 'the browser was not closed'),
      );
    },
  };
}
