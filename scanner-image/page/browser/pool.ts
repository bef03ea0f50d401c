/** Visits the pages of a scan with its workers, each in its own tab, and repeats visits that failed for a reason of another page. */
import type { Browser } from 'playwright-core';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { mergeOutcomes, noOutcomes, planAgain } from '../../crawl/wait-history.ts';
import type { StepsRequest, StepsResult } from '../session/steps.ts';
import type { Visit, VisitRequest } from '../visit/visit.ts';
import { createWorkerTabs, type PoolDeps, type WorkerTabs } from './worker-tabs.ts';

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
  // The crash of a tab is reported shortly before the disconnection of its browser.
  const browserLost = !visit.loaded && visit.reason === 'crashed' && (await isLost(browser));
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
      // The page of another tab may have crashed the browser, the page waited for files that do not arrive, it hangs when it is
      // scrolled, or the tab failed: visit this page again in the rest of its time.
      const left = request.budgetMs - (performance.now() - started);
      if (left < MIN_RETRY_MS) return first.visit;
      const { outcomes = noOutcomes() } = first.visit;
      const { visit } = await attempt(tabs, worker, { ...request, budgetMs: left, plan: planAgain(request.plan, outcomes) });
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
