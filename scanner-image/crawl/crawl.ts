/**
 * Crawls a site: several workers load pages, and what the pages teach is learnt in the frontier's order, whichever ends first. So the
 * result depends on the site and not on the speed of its answers.
 */
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import { SCANNER_DEFAULTS } from '../../core/protocol/scanner-program.ts';
import type { WantedStates } from '../../core/scan/states.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { Logger } from '../../platform/logger.ts';
import { anyOf, untilAborted } from '../../platform/time-limits.ts';
import { createFindingsBudget } from '../../report/results/cap-nodes.ts';
import { countViolations } from '../../report/results/score.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import type { Pool } from '../page/browser/pool.ts';
import type { PictureBudget } from '../page/visit/pictures.ts';
import type { Visit, VisitRequest } from '../page/visit/visit.ts';
import { ScanFailed, firstPageFailure } from '../pod/failure.ts';
import { addressOf } from './address.ts';
import { createFrontier, type Candidate, type Frontier } from './frontier.ts';
import { createCrawledPages, isMissing, type Listing } from './crawled-pages.ts';
import { OUT_OF_TIME, untestedPage, type WrongPage } from './page-checks.ts';
import { createPoliteVisits } from './politeness.ts';
import type { Site } from './site.ts';
import { createWaitHistory } from './wait-history.ts';
import { HelperLost, type TeamLead } from '../team/lead.ts';

/** How a scan is watched and ended. */
export interface ScanControl {
  log: Logger;
  /** Called after every change. The phase never moves backwards. */
  onProgress?: (phase: 'crawling' | 'scanning', pages: PageProgress) => void;
  /** Runs a step in a span of its name. */
  traced?: Traced;
  /** Aborts the scan immediately: its reason is thrown. */
  signal?: AbortSignal;
  /** Ends the scan with the pages that were tested until then; its reason is thrown if there are none. */
  stop?: AbortSignal;
}

export type Traced = <T>(step: string, work: () => Promise<T>) => Promise<T>;
export const UNTRACED: Traced = (_step, work) => work();

export interface Crawl {
  input: Pick<PodInput, 'pagesReserved' | 'workers' | 'pageBudgetMs' | 'exportMaxBytes'>;
  site: Site;
  pool: Pick<Pool, 'prepare' | 'visit'>;
  /** The pods that visit pages too. Absent: none. */
  team?: TeamLead;
  /** Null: the scan takes no pictures. */
  pictures: PictureBudget | null;
  states: WantedStates;
  /** The time after which no page is started, in milliseconds since the epoch. */
  softDeadline: number;
}

export interface Crawled extends Listing {
  /** Whether `stop` ended the crawl before all pages were tested. */
  stopped: boolean;
}

/** The share of the export that the findings of pages may use. The rest is for root causes and addresses. */
const FINDINGS_SHARE = 1 / 2;

/**
 * Tests the pages of a site.
 * @throws ScanFailed if no page can be tested
 */
export async function crawl(scan: Crawl, { log, onProgress, traced = UNTRACED, signal, stop }: ScanControl): Promise<Crawled> {
  const { input, site, pool, pictures } = scan;
  const maxPages = input.pagesReserved;
  // Dead links and duplicates are limited too, because a site may have any number of them.
  const frontier = createFrontier({ maxPages, maxFailed: maxPages + 20, maxLeftOut: maxPages * 3 + 100, inOrder: site.listed() !== null });
  const crawled = createCrawledPages(frontier, site, scan.states);
  const history = createWaitHistory();
  const budget = createFindingsBudget(input.exportMaxBytes * FINDINGS_SHARE, maxPages);
  const visitPolitely = createPoliteVisits({
    pool: { visit: (worker, request) => visitWith(worker, request) },
    crawlDelayMs: site.crawlDelayMs,
    softDeadline: () => performance.now() + scan.softDeadline - Date.now(),
    signal,
  });
  const timeIsUp = (): boolean => Date.now() >= scan.softDeadline;
  const pages: ReportPage[] = [];
  let phase: 'crawling' | 'scanning' = 'crawling';
  let stopped = false;

  /** Visits a page in this pod, or with a helper. */
  function visitWith(worker: number, request: VisitRequest): Promise<Visit> {
    const [helper, slot] = [Math.floor(worker / WORKERS_OF_A_POD), worker % WORKERS_OF_A_POD];
    if (helper === 0) return pool.visit(worker, request);
    const { url, test, plan, budgetMs, largeBudgetMs, testsStates, onWaiting } = request;
    const asked = { url, test, plan, budgetMs, largeBudgetMs, testsStates: testsStates?.() ?? false, pictures: pictures?.known() ?? null };
    return scan.team!.visit(helper, slot, { ...asked, onWaiting }, site.rules());
  }

  function load(worker: number, candidate: Candidate, onWaiting?: VisitRequest['onWaiting']): Promise<Visit> {
    const { url, depth, index } = candidate;
    const isFirst = index === 0;
    const request = {
      url,
      test: depth > 0 || site.startInScope,
      mayGoTo: (target: URL) => site.refusal(target, isFirst ? null : url),
      plan: history.planFor(candidate),
      testsStates: () => crawled.testsStates(url),
      knowsPart: (signature: string) => crawled.knowsPart(url, signature),
      budgetMs: input.pageBudgetMs ?? SCANNER_DEFAULTS.pageBudgetSeconds * 1000,
      largeBudgetMs: input.pageBudgetMs ?? SCANNER_DEFAULTS.largePageBudgetSeconds * 1000,
      onWaiting,
    };
    return traced('page', async () => {
      const wrong = isFirst ? null : await site.admit(url);
      return wrong === null ? visitPolitely(worker, isFirst, request) : notVisited(wrong);
    });
  }

  function learn(candidate: Candidate, visit: Visit): void {
    const { outcome, page } = crawled.take(candidate, visit);
    frontier.settle(candidate, outcome, page !== null && isMissing(page));
    // A single worker would not have visited a page that is skipped.
    if (outcome !== 'skipped' && visit.outcomes !== undefined) history.record(candidate, visit.outcomes);
    if (visit.loaded && outcome === 'tested') {
      const inStates = page?.tested && page.states?.some(({ result }) => result === 'tested') ? visit.states?.pictures : undefined;
      pictures?.learn(candidate.url.href, [...visit.pictures, ...(inStates ?? [])]);
    }
    if (page === null) return;
    pages.push(page.tested ? budget.take(page) : page);
    logPage(log, page);
  }

  function reportProgress(): void {
    if (frontier.complete()) phase = 'scanning';
    onProgress?.(phase, progressOf(frontier));
  }

  const halt = anyOf(signal, stop);
  frontier.add(addressOf(site.start), 0);
  onProgress?.(phase, progressOf(frontier));
  try {
    // The first page determines the site, so it is loaded alone. Meanwhile the other workers open their tabs.
    const first = frontier.take()!;
    for (let other = 1; other < Math.min(input.workers, maxPages); other++) pool.prepare(other);
    const visit = await untilAborted(load(0, first), halt);
    if (!visit.loaded) throw timeIsUp() ? outOfTime(progressOf(frontier)) : firstPageFailure(site.start, visit, site.signedIn);
    await untilAborted(site.moveTo(visit.finalUrl), halt);
    learn(first, visit);
    crawled.takeListed(site.listed() ?? []);
    crawled.takeSitemaps(await untilAborted(site.sitemapPages(), halt));
    reportProgress();

    const visits = createVisits(frontier, input.workers, load, scan.team);
    for (let index = 1; ;) {
      halt?.throwIfAborted();
      visits.start(timeIsUp());
      if (visits.inWork() === 0) break;
      await untilAborted(visits.change(), halt);
      for (let next = visits.take(index); next !== undefined; next = visits.take(index)) {
        learn(next.candidate, next.visit);
        reportProgress();
        index += 1;
      }
    }
  } catch (error) {
    if (signal?.aborted || !stop?.aborted) throw error;
    stopped = true;
  }

  const progress = progressOf(frontier);
  if (stopped && progress.scanned === 0) throw stop?.reason;
  if (progress.scanned === 0) throw timeIsUp() ? outOfTime(progress) : nothingTested(site.origin(), pages, progress);
  // The pages that a stopped scan left are only counted: nothing was wrong with them.
  if (!stopped && timeIsUp()) for (const url of frontier.drain()) pages.push(untestedPage(url.href, OUT_OF_TIME));
  return { ...crawled.list(pages), stopped };
}

/**
 * The numbers of pages that do not count as in work, because they wait for their site or rest between two looks. Other workers take
 * the next pages meanwhile. More waiting for a site would be more load for one that is slow already, and each takes a tab.
 */
export const SPARE_WORKERS = { site: 1, rest: 4 };

/** The numbers of a pod's workers begin with this times its index. */
const WORKERS_OF_A_POD = 100;

/** The visits in work, and those that ended before the visit of a smaller index. */
function createVisits(
  frontier: Frontier,
  workers: number,
  load: (worker: number, candidate: Candidate, onWaiting: VisitRequest['onWaiting']) => Promise<Visit>,
  team?: TeamLead,
) {
  const ended = new Map<number, { candidate: Candidate; visit: Visit }>();
  const busy = new Map<number, Promise<number>>();
  /** What the pages of workers wait for. */
  const waiting = new Map<number, 'site' | 'rest'>();
  /** The pages that helpers did not visit. This pod does: what fails with one helper would fail with the next. */
  const again: Candidate[] = [];
  let wake = Promise.withResolvers<null>();

  function wakeUp(): void {
    wake.resolve(null);
    wake = Promise.withResolvers();
  }
  if (team !== undefined) team.onChange = wakeUp;

  function onWaiting(worker: number, waits: 'site' | 'rest' | null): void {
    if (waits !== null) waiting.set(worker, waits);
    else if (!waiting.delete(worker)) return;
    wakeUp();
  }

  async function visit(worker: number, candidate: Candidate): Promise<number> {
    try {
      ended.set(candidate.index, { candidate, visit: await load(worker, candidate, (waits) => onWaiting(worker, waits)) });
    } catch (error) {
      if (!(error instanceof HelperLost)) throw error;
      again.push(candidate);
    }
    waiting.delete(worker);
    return worker;
  }

  /** Starts a visit with each idle worker of a pod. */
  function startIn(pod: number, most: number, isLast: boolean): void {
    const first = pod * WORKERS_OF_A_POD;
    const isOwn = (worker: number): boolean => Math.floor(worker / WORKERS_OF_A_POD) === pod;
    const spare = (why: 'site' | 'rest'): number =>
      Math.min([...waiting].filter(([worker, waits]) => waits === why && isOwn(worker)).length, SPARE_WORKERS[why]);
    for (let worker = first; worker < first + most + SPARE_WORKERS.site + SPARE_WORKERS.rest; worker++) {
      if ([...busy.keys()].filter(isOwn).length - spare('site') - spare('rest') >= most) return;
      if (busy.has(worker)) continue;
      const candidate = (pod === 0 ? again.shift() : undefined) ?? (isLast ? null : frontier.take());
      if (candidate === null) return;
      busy.set(worker, visit(worker, candidate));
    }
  }

  return {
    /** @param isLast only pages that were taken before */
    start(isLast: boolean): void {
      startIn(0, workers, isLast);
      for (const helper of team?.helpers() ?? []) startIn(helper.index, helper.workers, isLast);
    },
    inWork: () => busy.size,
    /** Waits until a visit ends, or a page begins or ends to wait for its site. */
    async change(): Promise<void> {
      const worker = await Promise.race([...busy.values(), wake.promise]);
      if (worker !== null) busy.delete(worker);
    },
    /** Removes the visit of an index, if it has ended. */
    take(index: number): { candidate: Candidate; visit: Visit } | undefined {
      const visited = ended.get(index);
      ended.delete(index);
      return visited;
    },
  };
}

const notVisited = (wrong: WrongPage): Visit => ({
  ...{ loaded: false, ...wrong, finalUrl: null, status: null },
  ...{ retryAfterMs: null, durationMs: 0, broken: false },
});

function progressOf(frontier: Frontier): PageProgress {
  const { tested, failed, total } = frontier.counts();
  return { scanned: tested, failed, total };
}

/** The command line reads these lines of the scanner that it runs (cli/commands/scanner-process.ts). */
function logPage(log: Logger, page: ReportPage): void {
  const common = { url: page.url, status: page.http_status, ms: page.duration_ms };
  if (page.tested) log.info({ ...common, score: page.score, violations: countViolations(page.violations).total }, 'page tested');
  else log.info({ ...common, reason: page.reason, detail: page.message }, 'page not tested');
}

function nothingTested(site: URL, pages: readonly ReportPage[], progress: PageProgress): ScanFailed {
  const untested = pages.filter((page) => !page.tested);
  // A page that was tried says more than one that is not part of the scan.
  const first = untested.find(({ reason }) => reason !== 'excluded');
  const why = first === undefined ? 'No page of the site matches the include and exclude rules.' : `${first.url}: ${first.message}`;
  return new ScanFailed('no_page_tested', `No page of ${site.origin} could be tested. ${why}`, progress);
}

const outOfTime = (pages: PageProgress): ScanFailed =>
  new ScanFailed(
    'deadline_exceeded',
    'The scan reached its deadline before a page was tested. The site is too slow, or the deadline is too short.',
    pages,
  );
