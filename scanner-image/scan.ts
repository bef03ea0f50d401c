/** One scan from its options to its pages: opens the way out and the browser, walks the site, tests each page once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { PodInput } from '../core/protocol/pod-messages.ts';
import type { Report, ReportPage } from '../core/report/schema.ts';
import type { PageProgress } from '../core/scan/counts.ts';
import { AXE_VERSION, axeOptions, axeSource } from './axe/source.ts';
import type { Machine } from './browser/chromium.ts';
import { createPool, type Pool } from './browser/pool.ts';
import type { TabDeps, Visit } from './browser/tab.ts';
import { crawl } from './crawl/crawl.ts';
import { movedWithin, pageOfSite, sameSite, scopeOf } from './crawl/address.ts';
import { createFrontier, type Candidate } from './crawl/frontier.ts';
import { NO_ROBOTS, fetchRobots, type Robots } from './crawl/robots.ts';
import { collectSitemaps } from './crawl/sitemaps.ts';
import type { WrongPage } from './crawl/page-checks.ts';
import { createGuardedFetch } from './egress/fetch.ts';
import type { EgressLimits } from './egress/limits.ts';
import { kindOf } from './egress/egress-failures.ts';
import { openEgress } from './egress/proxy.ts';
import type { Resolver } from '../core/scan/targets.ts';
import { ScanFailed, firstPageFailure } from './failure.ts';
import { cookiesOf, signInHeaders, type SignIn } from './sign-in.ts';

/** Curbcut's version. */
export const CURBCUT_VERSION: string = (
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as { version: string }
).version;

/** What is to be scanned, and within which bounds. */
export type ScanInput = Pick<PodInput, 'options' | 'deadline' | 'allowTargets' | 'denyTargets' | 'workers' | 'pageBudgetMs'>;

export type Traced = <T>(step: string, work: () => Promise<T>) => Promise<T>;

export interface ScanDeps {
  machine: Machine;
  log: Logger;
  signIn?: SignIn | null;
  /** Called after every change; the phase never goes back. */
  onProgress?: (phase: 'crawling' | 'scanning', pages: PageProgress) => void;
  /** Called with each page in the scan's order. */
  onPage?: (page: ReportPage) => void;
  /** Does a step's work within a span of its name. */
  traced?: Traced;
  /** Ends the scan at once; `runScan` then throws the signal's reason. */
  signal?: AbortSignal;
  /** Default: `createResolver` of the platform. */
  resolver?: Resolver;
  egressLimits?: Partial<EgressLimits>;
}

export interface ScanResult {
  /** In the scan's order, tested and untested; at least one was tested. */
  pages: ReportPage[];
  tools: Report['tools'];
  startedAt: Date;
  finishedAt: Date;
}

/** Kept of the time for reports and uploads: a tenth, but so much at most. */
const RESERVE_MS = 60_000;

/** What we call ourselves: a browser's name for sites that look for one, and our own. */
function userAgent(browserVersion: string): string {
  const major = browserVersion.split('.')[0] ?? '0';
  return `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36 Curbcut/${CURBCUT_VERSION}`;
}

/**
 * Runs a scan.
 * @throws ScanFailed where it cannot succeed however often it is tried; anything else may pass
 */
export async function runScan(input: ScanInput, parts: ScanDeps): Promise<ScanResult> {
  const { options } = input;
  const { log, signIn = null, traced = (_step, work) => work() } = parts;
  const startedAt = new Date();
  const start = new URL(options.url);
  start.hash = '';
  const until = new Date(input.deadline).getTime();
  const softUntil = until - Math.min(RESERVE_MS, (until - startedAt.getTime()) / 10);

  const egress = await openEgress({
    rules: { allow: input.allowTargets, deny: input.denyTargets },
    log,
    resolver: parts.resolver,
    limits: parts.egressLimits,
  });
  const files = createGuardedFetch(egress, `Curbcut/${CURBCUT_VERSION}`);
  const source = await axeSource(options.locale);
  const tabParts = (version: string): TabDeps => ({
    source,
    options: axeOptions(options.wcagLevel, options.wcagVersion),
    userAgent: userAgent(version),
    problemOf: (url) => egress.problemOf(url),
    ...(signIn?.basic !== undefined ? { basic: { origin: start.origin, ...signIn.basic } } : {}),
    ...(signIn?.cookie !== undefined ? { cookies: cookiesOf(signIn.cookie, start.origin) } : {}),
  });
  const pool = createPool({ machine: parts.machine, proxy: egress.url, log, tab: tabParts });
  try {
    const judged = await egress.judge(start);
    if (!judged.ok)
      throw new ScanFailed(kindOf(judged.reason) === 'unresolvable' ? 'target_unreachable' : 'target_refused', judged.message);
    const browser = pool.version();
    browser.catch(() => undefined); // told when the first page is opened
    const pages = await walk();
    return {
      pages,
      tools: { curbcut: CURBCUT_VERSION, axe_core: AXE_VERSION, browser: `Chromium ${await browser}` },
      startedAt,
      finishedAt: new Date(),
    };
  } finally {
    await Promise.all([pool.close(), files.close()]);
    await egress.close();
  }

  async function walk(): Promise<ReportPage[]> {
    const headersFor = signInHeaders(signIn, start.origin);
    const scope = scopeOf(options.crawl);
    const robotsOf = (site: URL): Promise<Robots> =>
      options.crawl.respectRobots ? fetchRobots(site, files, headersFor) : Promise.resolve(NO_ROBOTS);
    let site = start;
    let robots = await robotsOf(start);
    refuseByRobots(start);
    const inScope = (url: URL): boolean => scope(url) && robots.forbids(url) === null;
    const wanted = options.maxPages * 2 + 20;
    const sitemapsOf = (): Promise<URL[]> =>
      !options.crawl.sitemap || options.maxPages === 1
        ? Promise.resolve([])
        : collectSitemaps(robots.sitemaps.length > 0 ? robots.sitemaps : [new URL('/sitemap.xml', site)], files, {
            enough: wanted,
            take: (text) => {
              const page = pageOfSite(text, site, signIn !== null);
              return page !== null && inScope(page) ? page : null;
            },
            deadline: Math.min(Date.now() + 20_000, softUntil),
            headersFor,
          });
    let fromSitemaps = sitemapsOf();

    const frontier = createFrontier({
      maxPages: options.maxPages,
      maxFailed: options.maxPages + 20,
      maxFolded: options.maxPages * 3 + 100,
    });
    frontier.add(start, 0);
    let phase: 'crawling' | 'scanning' = 'crawling';
    const progress = (): PageProgress => {
      const { tested, failed, total } = frontier.counts();
      return { scanned: tested, failed, total };
    };
    const tell = (): void => {
      if (frontier.complete()) phase = 'scanning';
      parts.onProgress?.(phase, progress());
    };
    const timeIsUp = (): boolean => Date.now() >= softUntil;
    const turnsWithDelay = createPacer(() => robots.crawlDelay * 1000);

    parts.onProgress?.(phase, progress());
    const pages = await crawl({
      frontier,
      workers: input.workers,
      signedIn: signIn !== null,
      site: () => site,
      inScope,
      signal: parts.signal,
      timeIsUp,
      onProgress: tell,
      onPage: (page) => parts.onPage?.(page),
      async visit(worker, candidate) {
        await turnsWithDelay();
        const budgetMs = Math.min(input.pageBudgetMs, softUntil - Date.now());
        return traced('page', () => visitPolitely(pool, worker, candidate, mayGoTo, candidate.depth > 0 || scope(start), budgetMs));
      },
      async onFirst(visit) {
        if (!visit.loaded) throw timeIsUp() ? outOfTime(progress()) : firstPageFailure(start, visit, signIn !== null);
        const moved = visit.finalUrl.origin !== start.origin;
        site = new URL(visit.finalUrl.origin);
        if (!moved) return;
        await fromSitemaps;
        robots = await robotsOf(site);
        refuseByRobots(visit.finalUrl);
        fromSitemaps = sitemapsOf();
      },
      async afterFirst() {
        for (const page of await fromSitemaps) frontier.add(page, 1);
      },
    });

    const counts = progress();
    if (counts.scanned === 0) {
      if (timeIsUp()) throw outOfTime(counts);
      const first = pages.find((page) => !page.tested);
      const why =
        first === undefined
          ? 'No page of the site matches the include and exclude rules.'
          : `${first.url}: ${first.tested ? '' : first.message}`;
      throw new ScanFailed('no_page_tested', `No page of ${site.origin} could be tested. ${why}`, counts);
    }
    if (timeIsUp()) for (const url of frontier.left()) pages.push(leftOut(url));
    return pages;

    /** Whether the way of a page may lead on to a URL. */
    function mayGoTo(candidate: Candidate, url: URL): WrongPage | null {
      const first = candidate.turn === 0;
      if (first ? !movedWithin(start, url) : !sameSite(site, url))
        return { reason: 'redirected_away', message: `The page redirects to another site, ${url.origin}.` };
      if (first) return null;
      const forbidden = robots.forbids(url);
      return forbidden === null ? null : { reason: 'refused', message: forbidden };
    }

    function refuseByRobots(url: URL): void {
      const forbidden = robots.forbids(url);
      if (forbidden !== null)
        throw new ScanFailed(
          'robots_disallowed',
          `${forbidden} Allow the user agent Curbcut there, or scan without robots.txt (respectRobots: false).`,
        );
    }
  }
}

const outOfTime = (pages: PageProgress): ScanFailed =>
  new ScanFailed(
    'deadline_exceeded',
    "The scan's time was over before a page was tested. The site is too slow, or the deadline too near.",
    pages,
  );

function leftOut(url: URL): ReportPage {
  return {
    url: url.href,
    final_url: null,
    http_status: null,
    tested: false,
    reason: 'timeout',
    message: "The scan's time was over before this page was tested.",
    duration_ms: 0,
  };
}

/** Statuses that ask a visitor to come back later. */
const LATER = new Set([429, 503]);

/** Visits a page; one that asks for patience, or a first page that does not answer, is tried once more within its budget. */
async function visitPolitely(
  pool: Pool,
  worker: number,
  candidate: Candidate,
  mayGoTo: (candidate: Candidate, url: URL) => WrongPage | null,
  test: boolean,
  budgetMs: number,
): Promise<Visit> {
  const started = performance.now();
  const request = { url: candidate.url, test, mayGoTo: (url: URL) => mayGoTo(candidate, url), budgetMs };
  const visit = await pool.visit(worker, request);
  if (visit.loaded) return visit;
  const left = budgetMs - (performance.now() - started);
  const asked = visit.status !== null && LATER.has(visit.status) && visit.reason === 'http_error';
  const wait = asked ? (visit.retryAfterMs ?? 1000) : candidate.turn === 0 && visit.reason === 'navigation_failed' ? 500 : null;
  if (wait === null || wait > left / 2) return visit;
  await sleep(wait);
  const again = await pool.visit(worker, { ...request, budgetMs: left - wait });
  return { ...again, durationMs: Math.round(performance.now() - started) };
}

/** Lets one page after the other start, so far apart as robots.txt asks. */
function createPacer(delayMs: () => number): () => Promise<void> {
  let next = 0;
  return async () => {
    const now = Date.now();
    const at = Math.max(now, next);
    next = at + delayMs();
    if (at > now) await sleep(at - now);
  };
}
