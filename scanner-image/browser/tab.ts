/** One tab that is used for page after page: loads a page, waits until it is still, holds it there and tests it. */
import type { Browser } from 'playwright-core';
import type { PageFailureReason } from '../../core/report/schema.ts';
import { toPageFindings, type PageFindings } from '../axe/results.ts';
import type { AxeOptions } from '../axe/source.ts';
import { EvaluationFailed, evaluate, placeOf, testDocument, type Place } from '../axe/test-document.ts';
import { WORLD } from '../axe/source.ts';
import { botWall, isHtml, isSignInPage, type WrongPage } from '../crawl/page-checks.ts';
import type { Problem } from '../egress/egress-failures.ts';
import { TooLong, createWatched, settledWithin } from './wait.ts';
import { watchTraffic, fromProblem, type BasicSignIn } from './traffic.ts';

/** What a page says of itself. */
export interface PageFacts {
  title: string;
  language: string | null;
  contentType: string;
  canonical: string | null;
  passwordField: boolean;
  /** The source of a small page, to tell a wall by; empty for a large one. */
  markup: string;
  /** Links of the document and its open shadow roots, absolute, in their order. */
  links: string[];
}

export interface VisitRequest {
  url: URL;
  /** False where only the links are wanted. */
  test: boolean;
  /** Asked at every hop of the way: null lets it go on. */
  mayGoTo: (url: URL) => WrongPage | null;
  /** What the visit may take in all, in milliseconds. */
  budgetMs: number;
}

export type Visit =
  | { loaded: true; finalUrl: URL; status: number; facts: PageFacts; findings: PageFindings | null; durationMs: number }
  | {
      loaded: false;
      reason: PageFailureReason;
      message: string;
      finalUrl: string | null;
      status: number | null;
      retryAfterMs: number | null;
      durationMs: number;
      /** The tab must not be used again. */
      broken: boolean;
    };

export interface TabDeps {
  /** The script of our world, from `axeSource`. */
  source: string;
  options: AxeOptions;
  userAgent: string;
  problemOf: (url: URL) => Problem | undefined;
  basic?: BasicSignIn;
  /** Cookies that sign in, for one origin. They are what every page starts with. */
  cookies?: { name: string; value: string; url: string }[];
}

export interface Tab {
  visit(request: VisitRequest): Promise<Visit>;
  /** Ends the tab, whatever its page is doing. @throws TooLong where the browser does not let go of it */
  close(): Promise<void>;
}

/** How long a document with scripts must be unchanged to count as quiet, in milliseconds. */
const QUIET_MS = 50;
/** The longest that is waited for a page to be quiet; of a slow page (or on a busy machine) twice the time that it took to load. */
const SETTLE_MS = 3000;
/** A request that waits longer than this, and longer than the page took to load, is a long poll or a dead host; no page is kept waiting for it. */
const PATIENCE_MS = 1500;
/** How long a document whose navigation was stopped has to say that it is loaded. */
const KEPT_MS = 1000;
/** How long a document that redirects by a refresh without delay has to do so; one that does not is tested as it is. */
const REDIRECT_MS = 2000;
/** A page that sends itself elsewhere more often than this never arrives. */
const MAX_HOPS = 8;

/** A visit's end before its time. */
class Ended extends Error {
  readonly reason: PageFailureReason;
  readonly broken: boolean;
  constructor(reason: PageFailureReason, message: string, broken = false) {
    super(message);
    this.reason = reason;
    this.broken = broken;
  }
}

export async function openTab(browser: Browser, parts: TabDeps): Promise<Tab> {
  const context = await browser.newContext({
    userAgent: parts.userAgent,
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
    acceptDownloads: false,
    viewport: { width: 1280, height: 720 },
  });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const watched = createWatched();
  const shown = { documents: 0, loaderId: '', url: 'about:blank', parsed: false, loaded: false };
  let gone: string | null = null;
  const { promise: death, reject: die } = Promise.withResolvers<never>();
  death.catch(() => undefined);
  const lost = (why: string): void => {
    gone ??= why;
    die(new Ended('crashed', why, true));
    watched.changed();
  };
  page.on('crash', () => lost('The page crashed its tab.'));
  page.on('close', () => lost('The tab was closed.'));
  context.on('page', (other) => {
    if (other !== page) void other.close().catch(() => undefined);
  });

  const mainFrame = (await cdp.send('Page.getFrameTree')).frameTree.frame.id;
  cdp.on('Page.frameNavigated', ({ frame }) => {
    if (frame.id === mainFrame)
      Object.assign(shown, { documents: shown.documents + 1, loaderId: frame.loaderId, url: frame.url, parsed: false, loaded: false });
    watched.changed();
  });
  cdp.on('Page.lifecycleEvent', (event) => {
    if (event.frameId !== mainFrame || event.loaderId !== shown.loaderId) return;
    if (event.name === 'DOMContentLoaded') shown.parsed = true;
    else if (event.name === 'load') shown.parsed = shown.loaded = true;
    else return;
    watched.changed();
  });
  const traffic = await watchTraffic(cdp, mainFrame, { watched, problemOf: parts.problemOf, signIn: parts.basic });
  await Promise.all([
    cdp.send('Page.enable'),
    cdp.send('Page.setLifecycleEventsEnabled', { enabled: true }),
    cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: parts.source, worldName: WORLD }),
    cdp.send('DOM.enable'),
  ]);

  /** Waits for what the tab does, but no longer than the tab lives. */
  const alive = <T>(promise: Promise<T>, ms: number): Promise<T> => settledWithin(Promise.race([promise, death]), ms);

  async function navigate(request: VisitRequest, left: () => number): Promise<void> {
    if (request.url.protocol !== 'http:' && request.url.protocol !== 'https:')
      throw new Ended('refused', `Only http and https pages are opened, not ${request.url.protocol}`);
    if (parts.cookies === undefined) await alive(cdp.send('Network.clearBrowserCookies'), left());
    traffic.begin(request.mayGoTo);
    const before = shown.documents;
    const sent = await alive(cdp.send('Page.navigate', { url: request.url.href }), left());
    if (traffic.stopped() !== null) return;
    if (sent.isDownload === true) throw new Ended('download', 'The URL is a download, not a web page.');
    if (sent.errorText === undefined) {
      // The answer may come before the word that the document changed.
      await watched.until(() => gone !== null || shown.documents > before, left());
      return;
    }
    const problem = parts.problemOf(request.url);
    if (problem !== undefined) {
      const { reason, message } = fromProblem(problem);
      throw new Ended(reason, message);
    }
    throw new Ended('navigation_failed', `The browser could not open the page (${sent.errorText}).`);
  }

  /** Waits for the document to be loaded and quiet, along with whatever it sends itself to; then holds it. */
  async function arrive(left: () => number, spent: () => number): Promise<Place> {
    for (let hop = 0; hop <= MAX_HOPS; hop++) {
      const stop = (): boolean => gone !== null || traffic.stopped() !== null;
      await watched.until(() => stop() || (shown.loaded && !traffic.leaving()) || traffic.keptAt() !== null, Math.max(0, left() * 0.6));
      if (traffic.keptAt() !== null && !stop()) {
        await watched.until(() => stop() || shown.loaded, KEPT_MS);
        shown.parsed = true;
      }
      if (gone !== null) throw new Ended('crashed', gone, true);
      if (traffic.stopped() !== null) return Promise.reject(new Ended('navigation_failed', ''));
      if (!shown.parsed) throw new TooLong('loading');
      if (!shown.loaded) await cdp.send('Page.stopLoading'); // some part of it never comes; what is there is tested
      const loaderId = shown.loaderId;
      try {
        const place = await settle(left, spent());
        if (loaderId !== shown.loaderId || traffic.leaving()) continue;
        traffic.hold();
        return place;
      } catch (error) {
        if (!(error instanceof EvaluationFailed)) throw error;
        // The document went away under the script: it sent itself elsewhere, which is waited for in the next round.
        const moved = await watched.until(() => stop() || loaderId !== shown.loaderId || traffic.leaving(), 500);
        if (!moved) throw error;
      }
    }
    throw new Ended('navigation_failed', `The page sends itself elsewhere again and again (${MAX_HOPS} times).`);
  }

  async function settle(left: () => number, loadMs: number): Promise<Place> {
    const end = Date.now() + Math.min(Math.max(SETTLE_MS, 2 * loadMs), left() / 3);
    const waiting = (): boolean => traffic.pending(Math.max(PATIENCE_MS, loadMs)) > 0;
    const refresh = parseFloat(traffic.answer()?.headers.refresh ?? '');
    const place = await alive(placeOf(cdp, mainFrame), left());
    for (;;) {
      const cap = Math.max(0, end - Date.now());
      const quiet = `curbcut.settle(${QUIET_MS}, ${cap}, ${Number.isNaN(refresh) ? 'null' : refresh})`;
      const redirects = await alive(evaluate<boolean>(place, quiet), left());
      if (redirects) {
        const { documents } = shown;
        await watched.until(
          () => gone !== null || traffic.leaving() || traffic.stopped() !== null || shown.documents > documents,
          REDIRECT_MS,
        );
        return place;
      }
      if (traffic.leaving() || !waiting() || Date.now() >= end) return place;
      await watched.until(() => gone !== null || traffic.leaving() || !waiting(), Math.min(end - Date.now(), PATIENCE_MS));
    }
  }

  function judgeShown(request: VisitRequest, facts: PageFacts): WrongPage | null {
    const final = new URL(shown.url);
    if (!isHtml(facts.contentType)) return { reason: 'not_html', message: `The URL is ${facts.contentType}, not a web page.` };
    const wall = botWall(traffic.answer()?.headers ?? {}, facts.markup);
    if (wall !== null)
      return {
        reason: 'bot_wall',
        message: `A bot wall (${wall}) stands before the page. Let the user agent that contains "Curbcut" through.`,
      };
    if (isSignInPage(request.url, final, facts.passwordField))
      return {
        reason: 'sign_in_page',
        message: `The page redirects to a sign-in (${final.origin}${final.pathname}); give the scan a sign-in to test it.`,
      };
    return null;
  }

  async function visit(request: VisitRequest): Promise<Visit> {
    const started = performance.now();
    const left = (): number => request.budgetMs - (performance.now() - started);
    const durationMs = (): number => Math.round(performance.now() - started);
    const failed = (wrong: WrongPage, more: Partial<Extract<Visit, { loaded: false }>> = {}): Visit => ({
      loaded: false,
      reason: wrong.reason,
      message: wrong.message,
      finalUrl: traffic.answer()?.url ?? null,
      status: traffic.answer()?.status || null,
      retryAfterMs: null,
      broken: gone !== null,
      durationMs: durationMs(),
      ...more,
    });
    const stoppedVisit = (): Visit | null => {
      const stop = traffic.stopped();
      return stop === null ? null : failed(stop, { finalUrl: stop.url, status: stop.status, retryAfterMs: stop.retryAfterMs });
    };
    let stage = 'did not answer';
    try {
      await navigate(request, left);
      const early = stoppedVisit();
      if (early !== null) return early;
      stage = 'did not finish loading';
      const place = await arrive(left, durationMs);
      stage = 'was not tested';
      const facts = JSON.parse(await alive(evaluate<string>(place, 'curbcut.still(1000).then(curbcut.facts)'), left())) as PageFacts;
      const wrong = judgeShown(request, facts);
      if (wrong !== null) return failed(wrong, { finalUrl: shown.url });
      let findings: PageFindings | null = null;
      if (request.test) findings = toPageFindings(await alive(testDocument(page, place, parts.source, parts.options, left), left()));
      if (parts.cookies === undefined) await alive(evaluate(place, 'curbcut.forget()'), left());
      return {
        loaded: true,
        finalUrl: new URL(shown.url),
        status: traffic.answer()?.status ?? 200,
        facts,
        findings,
        durationMs: durationMs(),
      };
    } catch (error) {
      const stop = stoppedVisit();
      if (stop !== null) return stop;
      if (error instanceof Ended) return failed(error, { broken: error.broken || gone !== null });
      if (gone !== null) return failed({ reason: 'crashed', message: gone }, { broken: true });
      if (error instanceof TooLong)
        return failed(
          { reason: 'timeout', message: `The page ${stage} within its ${(request.budgetMs / 1000).toFixed(0)} s.` },
          { broken: true },
        );
      const message = error instanceof Error ? error.message : String(error);
      return failed({ reason: 'test_failed', message: `The page could not be tested: ${message.slice(0, 300)}` }, { broken: true });
    } finally {
      traffic.hold();
    }
  }

  if (parts.cookies !== undefined) await context.addCookies(parts.cookies);
  return { visit, close: () => settledWithin(context.close(), 5000) };
}
