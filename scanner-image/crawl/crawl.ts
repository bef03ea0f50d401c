/** Crawls a site: several workers load pages, and the results are processed sequentially, in the frontier's order. */
import type { FindingsBudget } from '../../report/results/cap-nodes.ts';
import type { ReportPage } from '../../report/schema/schema.ts';
import { anyOf, untilAborted } from '../../platform/time-limits.ts';
import type { Visit } from '../page/visit/visit.ts';
import type { Candidate, Outcome } from './frontier.ts';
import { createIntake, type IntakeDeps } from './intake.ts';

export interface CrawlDeps extends IntakeDeps {
  workers: number;
  /** Limits the findings of all pages. */
  budget: FindingsBudget;
  /** Loads a page in the tab of a worker. Calls `onWaiting` when the page waits for its site, and when it goes on. */
  visit(worker: number, candidate: Candidate, onWaiting: (waits: boolean) => void): Promise<Visit>;
  /** Called with every processed visit, in the order of turns. */
  onOutcome(candidate: Candidate, visit: Visit, outcome: Outcome): void;
  /** Called after every processed page. */
  onProgress(): void;
  /** Called before the first page is processed. An error that it throws ends the crawl. */
  onFirst(visit: Visit): Promise<void>;
  /** Called after the links of the first page were queued, so that other sources can add pages after them. */
  afterFirst(): Promise<void>;
  /** Whether no more pages may be started. */
  timeIsUp(): boolean;
  signal?: AbortSignal;
  /** Ends the crawl with the pages that were processed until then. */
  stop?: AbortSignal;
}

export interface Crawled {
  /** Every processed page, in order. */
  pages: ReportPage[];
  /** Whether `stop` ended the crawl before its end. */
  stopped: boolean;
}

/**
 * The number of pages that do not count as in work while they wait for their site, or settle: another worker takes the next
 * page meanwhile, so that one slow page holds up no other. More would be more load for a site that is slow already.
 */
export const SPARE_WORKERS = 1;

/** @throws the errors of `visit` and `onFirst`, and the signal's reason */
export async function crawl(deps: CrawlDeps): Promise<Crawled> {
  const { signal, stop } = deps;
  const pages: ReportPage[] = [];
  try {
    await crawlInto(pages, { ...deps, signal: anyOf(signal, stop) });
    return { pages, stopped: false };
  } catch (error) {
    if (signal?.aborted || !stop?.aborted) throw error;
    return { pages, stopped: true };
  }
}

/** Crawls until the end, or until the signal aborts. */
async function crawlInto(pages: ReportPage[], deps: CrawlDeps): Promise<void> {
  const { frontier, signal } = deps;
  const process = createIntake({
    ...deps,
    onPage(found) {
      const page = found.tested ? deps.budget.take(found) : found;
      pages.push(page);
      deps.onPage(page);
    },
  });
  const visits = createVisits(deps);
  for (let turn = 0; ;) {
    signal?.throwIfAborted();
    visits.start();
    if (visits.inWork() === 0) return;
    await untilAborted(visits.change(), signal);
    for (let next = visits.take(turn); next !== undefined; next = visits.take(turn)) {
      const { candidate, visit } = next;
      if (turn === 0) await untilAborted(deps.onFirst(visit), signal);
      const outcome = process(candidate, visit);
      frontier.settle(candidate, outcome);
      deps.onOutcome(candidate, visit, outcome);
      if (turn === 0) await untilAborted(deps.afterFirst(), signal);
      turn += 1;
      deps.onProgress();
    }
  }
}

/** The visits in work, and those that ended before the visit of an earlier turn. */
function createVisits({ frontier, workers, visit, timeIsUp }: CrawlDeps) {
  const ended = new Map<number, { candidate: Candidate; visit: Visit }>();
  const busy = new Map<number, Promise<number>>();
  /** Workers whose pages wait for their site. */
  const waiting = new Set<number>();
  let wake = Promise.withResolvers<null>();

  function onWaiting(worker: number, waits: boolean): void {
    if (waits) waiting.add(worker);
    else waiting.delete(worker);
    wake.resolve(null);
    wake = Promise.withResolvers();
  }

  return {
    /** Starts a visit with each idle worker. */
    start(): void {
      for (let worker = 0; worker < workers + SPARE_WORKERS; worker++) {
        if (busy.size - Math.min(waiting.size, SPARE_WORKERS) >= workers || timeIsUp()) return;
        if (busy.has(worker)) continue;
        const candidate = frontier.take();
        if (candidate === null) return;
        const visiting = visit(worker, candidate, (waits) => onWaiting(worker, waits)).then((result) => {
          ended.set(candidate.turn, { candidate, visit: result });
          waiting.delete(worker);
          return worker;
        });
        busy.set(worker, visiting);
        // The first page determines the site, so it is loaded alone.
        if (candidate.turn === 0) return;
      }
    },
    inWork: () => busy.size,
    /** Waits until a visit ends, or a page begins or ends to wait for its site. */
    async change(): Promise<void> {
      const worker = await Promise.race([...busy.values(), wake.promise]);
      if (worker !== null) busy.delete(worker);
    },
    /** Removes the visit of a turn, if it has ended. */
    take(turn: number): { candidate: Candidate; visit: Visit } | undefined {
      const visited = ended.get(turn);
      ended.delete(turn);
      return visited;
    },
  };
}
