/** Walks the site of a scan: connects the crawl with the browser, the site's rules and the scan's deadline. */
import type { FindingsBudget } from '../../report/results/cap-nodes.ts';
import type { ReportPage } from '../../report/schema/schema.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { Pool } from '../page/browser/pool.ts';
import { ScanFailed, firstPageFailure } from '../pod/failure.ts';
import { addressOf } from './address.ts';
import { crawl, type CrawlDeps } from './crawl.ts';
import { createExclusions, createReferrers, type ListedGates, listGates } from './listing.ts';
import { createFrontier, type Frontier } from './frontier.ts';
import { createWaitHistory } from './wait-history.ts';
import { createPoliteVisits } from './politeness.ts';
import { untestedPage, type WrongPage } from './page-checks.ts';
import type { Site } from './site.ts';

export interface WalkDeps {
  start: URL;
  site: Site;
  pool: Pool;
  maxPages: number;
  workers: number;
  pageBudgetMs: number;
  budget: FindingsBudget;
  onOutcome: CrawlDeps['onOutcome'];
  signedIn: boolean;
  /** The time after which no page is started, in milliseconds since the epoch. */
  softDeadline: number;
  signal?: AbortSignal;
  /** Ends the walk with the pages that were tested until then. */
  stop?: AbortSignal;
  onProgress(phase: 'crawling' | 'scanning', pages: PageProgress): void;
  onPage(page: ReportPage): void;
  traced<T>(step: string, work: () => Promise<T>): Promise<T>;
}

export interface Walked {
  /** Tested and untested pages in the scan's order, then the addresses that are not part of the scan; at least one was tested. */
  pages: ReportPage[];
  /** The number of addresses that were found and are not listed in `pages`. */
  addressesLeft: number;
  /** Whether `stop` ended the walk before all pages were tested. */
  stopped: boolean;
  /** See `ListedGates`. */
  gates: ListedGates['gates'];
}

/**
 * Tests the pages of a site.
 * @throws ScanFailed; the reason of `stop` if no page was tested until then
 */
export async function walkSite(deps: WalkDeps): Promise<Walked> {
  const { start, site, pool, maxPages, signedIn, softDeadline } = deps;
  // Dead links and duplicates are limited too, because a site may have any number of them.
  const frontier = createFrontier({ maxPages, maxFailed: maxPages + 20, maxFolded: maxPages * 3 + 100 });
  frontier.add(addressOf(start), 0);
  const exclusions = createExclusions();
  const referrers = createReferrers();
  referrers.follow(addressOf(start).key);
  const history = createWaitHistory();
  const timeIsUp = (): boolean => Date.now() >= softDeadline;
  const visitPolitely = createPoliteVisits({
    pool,
    crawlDelayMs: site.crawlDelayMs,
    softDeadline: () => performance.now() + softDeadline - Date.now(),
    signal: deps.signal,
  });
  let phase: 'crawling' | 'scanning' = 'crawling';
  deps.onProgress(phase, progressOf(frontier));

  const { pages, stopped } = await crawl({
    frontier,
    exclusions,
    referrers,
    workers: deps.workers,
    site: site.origin,
    exclusionOf: site.exclusionOf,
    signal: deps.signal,
    stop: deps.stop,
    timeIsUp,
    onProgress() {
      if (frontier.complete()) phase = 'scanning';
      deps.onProgress(phase, progressOf(frontier));
    },
    onPage: deps.onPage,
    budget: deps.budget,
    onOutcome(candidate, visit, outcome) {
      // A single worker would not have visited a page that is skipped.
      if (outcome !== 'skipped' && visit.outcomes !== undefined) history.record(candidate, visit.outcomes);
      deps.onOutcome(candidate, visit, outcome);
    },
    visit(worker, candidate, onWaiting) {
      const isFirst = candidate.turn === 0;
      // The other workers wait for the first page, so their tabs cost no time.
      if (isFirst) for (let other = 1; other < Math.min(deps.workers, maxPages); other++) pool.prepare(other);
      const request = {
        url: candidate.url,
        test: candidate.depth > 0 || site.startInScope,
        mayGoTo: (url: URL) => site.refusal(url, isFirst),
        plan: history.planFor(candidate),
        budgetMs: deps.pageBudgetMs,
        onWaiting,
      };
      return deps.traced('page', () => visitPolitely(worker, isFirst, request));
    },
    async onFirst(visit) {
      if (!visit.loaded) throw timeIsUp() ? outOfTime(progressOf(frontier)) : firstPageFailure(start, visit, signedIn);
      await site.moveTo(visit.finalUrl);
    },
    async afterFirst() {
      const { pages, left, beyond } = await site.sitemapPages();
      for (const { page, sitemap } of pages) {
        frontier.add(page, 1);
        referrers.follow(page.key, sitemap);
      }
      for (const { page, why, sitemap } of left) if (exclusions.add(page, why)) referrers.follow(page.key, sitemap);
      exclusions.count(beyond);
    },
  });

  const progress = progressOf(frontier);
  if (stopped && progress.scanned === 0) throw deps.stop?.reason;
  if (progress.scanned === 0) throw timeIsUp() ? outOfTime(progress) : nothingTested(site.origin(), pages, progress);
  // The pages that a stopped scan left are only counted: nothing was wrong with them.
  if (!stopped && timeIsUp()) for (const url of frontier.drain()) pages.push(untestedPage(url.href, OUT_OF_TIME));
  const listed = listGates(pages, (key) => frontier.named(key));
  return {
    pages: referrers.addTo([...listed.pages, ...exclusions.pages()]),
    gates: listed.gates,
    stopped,
    addressesLeft: exclusions.beyond() + frontier.left(),
  };
}

function progressOf(frontier: Frontier): PageProgress {
  const { tested, failed, total } = frontier.counts();
  return { scanned: tested, failed, total };
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

const OUT_OF_TIME: WrongPage = { reason: 'timeout', message: 'The scan reached its deadline before this page was tested.' };
