/** Visits the pages of a scan with its workers, each in its own tab, and repeats visits that failed for a reason of another page. */
import type { Browser } from 'playwright-core';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { mergeOutcomes, noOutcomes, planAgain } from '../../crawl/wait-history.ts';
import type { StepsRequest, StepsResult } from '../session/steps.ts';
import type { Visit, VisitRequest } from '../visit/visit.ts';
import type { Logger } from '../../../platform/logger.ts';
import { launchChromium, type Machine } from './chromium.ts';
import { openTab, type Tab, type TabDeps } from './tab.ts';

export interface Pool extends Pick<WorkerTabs, 'prepare' | 'version' | 'close'> {
  /** Visits a page in the tab of a worker. */
  visit(worker: number, request: VisitRequest): Promise<Visit>;
  /** Runs steps in a tab of their own. @throws Error if the browser or the tab does not start */
  runSteps(request: StepsRequest): Promise<StepsResult>;
}

/** The maximum delay between the events for the crash of a tab and the disconnection of its browser. */
const DISCONNECT_MS = 300;
/** The minimum time left for a second visit, in milliseconds. */
const MIN_RETRY_MS = 1000;

const isHung = (visit: Visit): boolean => !visit.loaded && visit.outcomes?.hangsOnScroll === true;

async function attempt(tabs: WorkerTabs, worker: number, request: VisitRequest): Promise<{ visit: Visit; browserLost: boolean }> {
  const { tab, browser } = await tabs.tabOf(worker);
  const visit = await tab.visit(request);
  // The crash of a tab is reported shortly before the disconnection of its browser. It may have happened after the first look.
  const browserLost = visit.broken && (visit.loaded || visit.reason === 'crashed') && (await isLost(browser));
  if (visit.broken) await tabs.retire(worker);
  return { visit, browserLost };
}

async function isLost(used: Browser): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  used.once('disconnected', resolve);
  if (used.isConnected()) await withTimeLimit(promise, DISCONNECT_MS, 'the end of the browser').catch(() => undefined);
  used.off('disconnected', resolve);
  return !used.isConnected();
}

export function createPool(deps: PoolDeps): Pool {
  const { log } = deps;
  const tabs = createWorkerTabs(deps);
  const { prepare, version, close } = tabs;
  return {
    prepare,
    async visit(worker, request) {
      const started = performance.now();
      const first = await attempt(tabs, worker, request);
      const hung = isHung(first.visit);
      const lacksFiles = !first.visit.loaded && first.visit.lacksFiles === true;
      const unexpected = !first.visit.loaded && first.visit.reason === 'test_failed' && first.visit.broken;
      if (unexpected)
        log.warn({ page: request.url.href, why: first.visit.loaded || first.visit.message }, 'testing a page failed; trying again');
      if ((!first.browserLost && !lacksFiles && !hung && !unexpected) || tabs.isClosed()) return first.visit;
      // The page of another tab may have crashed the browser, or the tab failed. The page waited for files that do not arrive, or
      // hangs when it is scrolled. Visit it again in the rest of its time.
      const spentMs = performance.now() - started;
      const left = { budgetMs: request.budgetMs - spentMs, largeBudgetMs: request.largeBudgetMs - spentMs };
      if (left.budgetMs < MIN_RETRY_MS) return first.visit;
      const { outcomes = noOutcomes() } = first.visit;
      const { visit } = await attempt(tabs, worker, { ...request, ...left, plan: planAgain(request.plan, outcomes) });
      const durationMs = first.visit.durationMs + visit.durationMs;
      // The message of the first visit names the whole time, or why the page hung.
      const isAsBefore = (lacksFiles || hung) && !visit.loaded && visit.reason === 'timeout' && !isHung(visit);
      return { ...(isAsBefore ? first.visit : visit), durationMs, outcomes: mergeOutcomes(outcomes, visit.outcomes ?? noOutcomes()) };
    },
    runSteps: (request) => tabs.withOwnTab((tab) => tab.runSteps(request)),
    version,
    close,
  };
}

/** What starting the browser and opening its tabs takes. */
interface PoolDeps {
  machine: Machine;
  /** The address of the egress proxy. */
  proxy: string;
  log: Logger;
  /** The languages that sites are asked for, most wanted first. */
  languages: readonly string[];
  /** Returns the dependencies of a tab, for a browser of this version. */
  tab: (version: string) => TabDeps;
}

interface OpenedTab {
  tab: Tab;
  browser: Browser;
}

interface WorkerTab extends OpenedTab {
  visits: number;
}

/** A tab is tidied after this many visits: two workers need 120 MB less than without, for 0.1 s of CPU each time. */
const VISITS_BETWEEN_TIDYING = 20;
/** How many visits earlier each tab is tidied than the one before it, so that not all of them are large at the same time. */
const TIDYING_OFFSET = 7;
/** The time in which a browser must have exited, in milliseconds. */
const CLOSE_MS = 5000;

/** The browser of a scan, which is started when it is needed, and again after it exited. */
function createBrowser({ machine, proxy, log, languages }: PoolDeps) {
  let browser: Promise<Browser> | null = null;
  let closed = false;
  return {
    /** @throws Error if it does not start, or is closed */
    running(): Promise<Browser> {
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
    },
    isClosed: () => closed,
    async close(): Promise<void> {
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

async function closeTab({ tab, browser }: OpenedTab, { log }: PoolDeps): Promise<void> {
  if (!browser.isConnected()) return;
  try {
    await tab.close();
  } catch (error) {
    log.warn({ err: error }, 'closing a tab failed; restarting the browser');
    await browser.close().catch(() => undefined);
  }
}

function createWorkerTabs(deps: PoolDeps) {
  const { log } = deps;
  const { running, isClosed, close } = createBrowser(deps);
  const tabs = new Map<number, WorkerTab>();
  /** Tabs that are being opened ahead, by worker. */
  const preparing = new Map<number, Promise<void>>();

  /** @param scale see `openTab` */
  async function open(scale?: number): Promise<OpenedTab> {
    const browser = await running();
    return { tab: await openTab(browser, deps.tab(browser.version()), scale), browser };
  }

  async function openFor(worker: number, visits: number): Promise<OpenedTab> {
    const opened = { ...(await open()), visits };
    tabs.set(worker, opened);
    return opened;
  }

  async function tabOf(worker: number): Promise<OpenedTab> {
    await preparing.get(worker);
    const known = tabs.get(worker);
    if (known !== undefined && known.browser.isConnected()) {
      if (known.visits > 0 && (known.visits + worker * TIDYING_OFFSET) % VISITS_BETWEEN_TIDYING === 0) await known.tab.tidy();
      known.visits += 1;
      // It may have crashed since its last visit.
      if (!known.tab.lost()) return known;
    }
    await retire(worker);
    // The browser may crash meanwhile, or the tab, because of another page.
    return openFor(worker, 1).catch((error: unknown) => {
      log.warn({ err: error }, 'opening a tab failed; trying again');
      return openFor(worker, 1);
    });
  }

  async function retire(worker: number): Promise<void> {
    const known = tabs.get(worker);
    tabs.delete(worker);
    if (known !== undefined) await closeTab(known, deps);
  }

  return {
    /** Opens the tab of a worker ahead of its first visit, in the background. Its errors are those of the visit. */
    prepare(worker: number): void {
      if (isClosed() || tabs.has(worker) || preparing.has(worker)) return;
      const opening = openFor(worker, 0)
        .then(
          () => undefined,
          (error: unknown) => log.debug({ err: error }, 'opening a tab ahead failed; the visit tries again'),
        )
        .finally(() => preparing.delete(worker));
      preparing.set(worker, opening);
    },
    /** Returns the tab of a worker for its next visit. */
    tabOf,
    /** Closes the tab of a worker. If that fails, closes the browser too, because the hung page would keep running. */
    retire,
    /** Runs a task in a tab of its own, in which steps can click. @throws Error if the browser or the tab does not start */
    async withOwnTab<T>(task: (tab: Tab) => Promise<T>): Promise<T> {
      const opened = await open(1);
      try {
        return await task(opened.tab);
      } finally {
        await closeTab(opened, deps);
      }
    },
    /** Returns the version of the browser. Starts the browser if necessary. */
    version: async (): Promise<string> => (await running()).version(),
    isClosed,
    /** Closes tabs and browser. Visits in progress fail. */
    close,
  };
}

type WorkerTabs = ReturnType<typeof createWorkerTabs>;
