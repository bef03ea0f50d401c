/** A browser tab that is reused for many pages: loads a page, waits until it is quiet, blocks navigation and tests it. */
import { errorMessage } from '../../platform/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../platform/time-limits.ts';
import { toPageFindings, type PageFindings } from '../axe/results.ts';
import { WORLD } from '../axe/source.ts';
import type { AxeScript } from '../axe/script.ts';
import { testDocument, type TestedDocument } from '../axe/test-document.ts';
import { evaluate, type Place } from '../axe/world.ts';
import type { WrongPage } from '../crawl/page-checks.ts';
import { networkFailureMessage } from '../egress/network-errors.ts';
import type { OriginValue } from '../sign-in.ts';
import { arrive } from './arrival.ts';
import type { Cdp } from './cdp.ts';
import type { Browser } from './chromium.ts';
import { createConditionVariable } from './condition-variable.ts';
import type { Identity } from './identity.ts';
import { judgeBlocked, judgeShown, redirectCaveats } from './judgement.ts';
import { watchMainFrame } from './main-frame.ts';
import { pageFailureOf, type BasicSignIn } from './navigation.ts';
import { clearState, readCookies, restoreState } from './session-state.ts';
import type { ArrivalDeps, SettleRules } from './settling.ts';
import { missingMarker } from './marker.ts';
import { openTarget, type Target } from './target.ts';
import { watchTraffic } from './traffic.ts';
import type { PictureBook } from '../pictures/book.ts';
import { takePictures, type PicturesOfPage } from '../pictures/take.ts';
import { VisitEnded, startVisitClock, type FailedVisit, type PageFacts, type Visit, type VisitClock, type VisitRequest } from './visit.ts';

export interface TabDeps extends AxeScript {
  identity: Identity;
  /** The script for the page's own world, from `watchSource`. */
  watch: string;
  settling: SettleRules;
  basic?: BasicSignIn;
  /** Headers of the sign-in, each for its origin only. */
  headers?: readonly OriginValue[];
  /** Masks secrets in findings. */
  redact?: <T>(findings: T) => T;
  /** Null: the scan takes no pictures. */
  pictures: PictureBook | null;
}

export interface Tab {
  visit(request: VisitRequest): Promise<Visit>;
  /** Whether the tab crashed or was closed. */
  lost(): boolean;
  /**
   * Frees the memory of the documents of earlier visits, at the cost of 0.1 s. The browser itself keeps them until they take
   * several times as much. Never fails.
   */
  tidy(): Promise<void>;
  /** Closes the tab, even if its page is busy. @throws TimeLimitExceeded if the browser does not close it */
  close(): Promise<void>;
}

const CLOSE_MS = 5000;
/** The time limit for opening a tab, in milliseconds. */
const OPEN_MS = 15_000;
/** The time limit for freeing memory, because the last page may be busy, in milliseconds. */
const TIDY_MS = 2000;
/**
 * A page that is not displayed and quiet after this time counts as waiting for its site, in milliseconds. Most pages are for a
 * moment: a tenth of the time of two cores was idle when nothing was loaded meanwhile.
 */
const WAITING_MS = 50;
/** The limit for reading the cookies after a visit, in milliseconds. */
const COOKIES_MS = 5000;

/** The parts of an open tab that the functions below use. */
interface OpenTab extends ArrivalDeps {
  deps: TabDeps;
  target: Target;
}

/** @throws TimeLimitExceeded if the browser does not open a tab */
export function openTab(browser: Browser, deps: TabDeps): Promise<Tab> {
  const opening = open(browser, deps);
  return withTimeLimit(opening, OPEN_MS, 'opening a tab').catch((error: unknown) => {
    // A tab that opens later has no user any more.
    void opening.then((tab) => tab.close()).catch(() => undefined);
    throw error;
  });
}

async function open(browser: Browser, deps: TabDeps): Promise<Tab> {
  const target = await openTarget(browser, deps.identity);
  const { cdp } = target;
  const changes = createConditionVariable();
  const frame = await watchMainFrame(cdp, changes, target.onLost);
  const { egressFailureOf, basic: signIn, headers, settling: rules } = deps;
  const traffic = await watchTraffic(cdp, frame.id, { changes, egressFailureOf, hosts: rules.hosts, signIn, headers });
  await prepareTab(cdp, deps);
  const tab: OpenTab = { deps, target, cdp, changes, frame, traffic, rules };
  return {
    visit: (request) => (request.session === undefined ? visit(tab, request) : visitInSession(tab, request)),
    lost: () => frame.lost() !== null,
    tidy: () => withTimeLimit(cdp.send('HeapProfiler.collectGarbage'), TIDY_MS, 'freeing memory').catch(() => undefined),
    close: () => withTimeLimit(target.close(), CLOSE_MS, 'closing a tab'),
  };
}

/** Adds our scripts to the documents of a tab. */
export async function prepareTab(cdp: Cdp, deps: Pick<TabDeps, 'source' | 'watch'>): Promise<void> {
  await Promise.all([
    cdp.send('Page.enable'),
    cdp.send('Page.setLifecycleEventsEnabled', { enabled: true }),
    cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: deps.source, worldName: WORLD }),
    // After the script for our world, which it hands its record to.
    cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: deps.watch }),
    cdp.send('DOM.enable'),
    // Otherwise a page makes the browser run other pages that the crawl may not load.
    cdp.send('Page.setPrerenderingAllowed', { isAllowed: false }),
  ]);
}

/** Visits a page and reads the cookies that it leads to. */
async function visitInSession(tab: OpenTab, request: VisitRequest): Promise<Visit> {
  const result = await visit(tab, request);
  if (!result.loaded && result.broken) return result;
  const reading = tab.frame.whileAlive(readCookies(tab.cdp), COOKIES_MS, 'reading cookies');
  return { ...result, cookies: await reading.catch(() => undefined) };
}

async function visit(tab: OpenTab, request: VisitRequest): Promise<Visit> {
  const { frame, traffic } = tab;
  const clock = startVisitClock(request.budgetMs);
  const progress = { stage: 'did not answer', goesOn: watchWaiting(request) };
  try {
    await navigate(tab, request, clock);
    return stoppedVisit(tab, clock) ?? (await testPage(tab, request, clock, progress));
  } catch (error) {
    const stopped = stoppedVisit(tab, clock);
    if (stopped !== null) return stopped;
    const lost = frame.lost();
    if (error instanceof VisitEnded)
      return failedVisit(tab, clock, error, { broken: error.broken || lost !== null, hungOnScroll: error.hungOnScroll });
    if (lost !== null) return failedVisit(tab, clock, { reason: 'crashed', message: lost }, { broken: true });
    const wrong: WrongPage =
      error instanceof TimeLimitExceeded
        ? { reason: 'timeout', message: `The page ${progress.stage} within ${(request.budgetMs / 1000).toFixed(0)} s.` }
        : { reason: 'test_failed', message: `The page could not be tested: ${errorMessage(error).slice(0, 300)}` };
    return failedVisit(tab, clock, wrong, { broken: true, hostSilent: !frame.shown.parsed && traffic.requests.waitInVain() });
  } finally {
    progress.goesOn();
    traffic.hold();
  }
}

/** Reports a page that waits for its site. Returns the function to call when the page is displayed, or the visit ends. */
function watchWaiting({ onWaiting }: VisitRequest): () => void {
  let waits = false;
  const timer = setTimeout(() => onWaiting?.((waits = true)), WAITING_MS);
  return () => {
    clearTimeout(timer);
    if (waits) onWaiting?.((waits = false));
  };
}

async function navigate(tab: OpenTab, request: VisitRequest, clock: VisitClock): Promise<void> {
  const { cdp, frame } = tab;
  if (request.url.protocol !== 'http:' && request.url.protocol !== 'https:')
    throw new VisitEnded('refused', `Only http and https pages can be tested, not ${request.url.protocol}`);
  await frame.whileAlive(clearState(cdp), clock.left(), 'clearing storage');
  await frame.whileAlive(tab.traffic.blockSilentHosts(request.url), clock.left(), 'blocking hosts');
  const restoring = request.session === undefined ? null : restoreState(cdp, request.session, WORLD);
  const displayed = restoring === null ? null : await frame.whileAlive(restoring, clock.left(), 'restoring the session');
  try {
    if (isRouteOf(request.url, frame.shown.url)) await leaveDocument(tab, clock);
    await load(tab, request, clock);
  } finally {
    displayed?.();
  }
}

async function load({ deps, cdp, frame, traffic, changes }: OpenTab, request: VisitRequest, clock: VisitClock): Promise<void> {
  traffic.begin(request.mayGoTo);
  const before = frame.shown.documents;
  const sent = await frame.whileAlive(cdp.send('Page.navigate', { url: request.url.href }), clock.left(), 'navigating');
  if (traffic.stopped() !== null) return;
  if (sent.isDownload === true) throw new VisitEnded('download', 'The URL is a download, not a web page.');
  if (sent.errorText === undefined) {
    // The response to Page.navigate may arrive before the event for the new document.
    await changes.waitFor(() => frame.lost() !== null || frame.shown.documents > before, clock.left());
    return;
  }
  const failure = deps.egressFailureOf(request.url);
  if (failure === undefined) throw new VisitEnded('navigation_failed', networkFailureMessage(request.url.host, sent.errorText));
  const { reason, message } = pageFailureOf(failure);
  throw new VisitEnded(reason, message);
}

/** Whether the browser would only change the fragment of the displayed document, and load nothing. */
function isRouteOf(url: URL, shown: string): boolean {
  return url.hash !== '' && url.href.split('#', 1)[0] === shown.split('#', 1)[0];
}

/** Replaces the document by an empty one, so that the next navigation loads its page. */
async function leaveDocument({ cdp, frame, changes }: OpenTab, clock: VisitClock): Promise<void> {
  const { documents } = frame.shown;
  await frame.whileAlive(cdp.send('Page.navigate', { url: 'about:blank' }), clock.left(), 'leaving the previous page');
  await changes.waitFor(() => frame.lost() !== null || frame.shown.documents > documents, clock.left());
}

interface Progress {
  /** Completes the message of a timeout. */
  stage: string;
  /** Must be called when the visit does not wait for its site any more. */
  goesOn(): void;
}

/** Tests the page that the tab has navigated to. */
async function testPage(tab: OpenTab, request: VisitRequest, clock: VisitClock, progress: Progress): Promise<Visit> {
  const { deps, target, frame, traffic } = tab;
  progress.stage = 'did not finish loading';
  const { place, caveats } = await arrive({ ...tab, scroll: request.scroll }, clock);
  // The displayed document redirected to one that may not be displayed.
  const stopped = stoppedVisit(tab, clock);
  if (stopped !== null) return stopped;
  progress.stage = 'was not tested';
  progress.goesOn();
  const readFacts = async (): Promise<PageFacts> =>
    JSON.parse(
      await frame.whileAlive(evaluate<string>(place, 'curbcut.still(1000).then(curbcut.facts)'), clock.left(), 'reading the page'),
    ) as PageFacts;
  const facts = await readFacts();
  const finalUrl = frame.shown.url;
  const wrong = judgeShown(tab, request, facts);
  if (wrong !== null) return failedVisit(tab, clock, wrong, { finalUrl });
  const lost = await missingMarker(frame, { place, marker: request.marker }, clock);
  if (lost !== null) return failedVisit(tab, clock, lost, { finalUrl });
  let tested: TestedDocument | null = null;
  if (request.test) {
    const found = await frame.whileAlive(testDocument(target, place, deps, clock.left), clock.left(), 'testing');
    tested = deps.redact?.(found) ?? found;
    const left = judgeBlocked(tab, request) ?? (frame.shown.url === finalUrl ? null : judgeShown(tab, request, await readFacts()));
    if (left !== null) return failedVisit(tab, clock, left, { finalUrl: frame.shown.url });
  }
  const findings = tested === null ? null : toPageFindings(tested.results);
  const allCaveats = [...caveats, ...(tested?.caveats ?? []), ...redirectCaveats(tab)];
  const durationMs = clock.spent();
  // Last, because scrolling may change the page.
  const taken = await picturesOf(deps.pictures, place, findings, clock);
  return {
    loaded: true,
    finalUrl: new URL(finalUrl),
    status: traffic.answer()?.status ?? 200,
    facts,
    findings,
    framesUntested: tested?.framesUntested ?? [],
    caveats: allCaveats,
    pictures: taken.pictures,
    durationMs,
    broken: taken.stopped !== null,
  };
}

/** Takes pictures of the root causes that have none yet. */
async function picturesOf(
  book: PictureBook | null,
  place: Place,
  findings: PageFindings | null,
  clock: VisitClock,
): Promise<PicturesOfPage> {
  const { wanted, ms } = book === null || findings === null ? NOTHING_WANTED : book.want(findings, clock.spent());
  if (book === null || wanted.length === 0) return NO_PICTURES;
  const started = clock.spent();
  const found = await takePictures(place, wanted, book.words, { allowedMs: ms, left: clock.left });
  book.took(wanted, found, clock.spent() - started);
  return found;
}

const NOTHING_WANTED = { wanted: [], ms: 0 };
const NO_PICTURES: PicturesOfPage = { pictures: [], unseen: [], stopped: null };

function failedVisit({ frame, traffic }: OpenTab, clock: VisitClock, wrong: WrongPage, more: Partial<FailedVisit> = {}): FailedVisit {
  return {
    loaded: false,
    reason: wrong.reason,
    message: wrong.message,
    finalUrl: traffic.answer()?.url ?? null,
    status: traffic.answer()?.status || null,
    retryAfterMs: null,
    broken: frame.lost() !== null,
    durationMs: clock.spent(),
    ...more,
  };
}

/** Returns the failure of a visit whose document was stopped before it was displayed, or null. */
function stoppedVisit(tab: OpenTab, clock: VisitClock): FailedVisit | null {
  const stop = tab.traffic.stopped();
  if (stop === null) return null;
  return failedVisit(tab, clock, stop, { finalUrl: stop.url, status: stop.status, retryAfterMs: stop.retryAfterMs });
}
