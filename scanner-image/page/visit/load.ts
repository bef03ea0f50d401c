/** Loads the page of a visit in a tab that displayed another one before, and waits until it can be tested. */
import type { Page } from 'playwright-core';
import { errorMessage } from '../../../platform/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { type AxeScript, evaluate, EvaluationFailed, isolatedWorldOf } from '../scripts/source.ts';
import { networkFailureMessage } from '../../egress/egress-failures.ts';
import { clearState, restoreState } from '../session/session-state.ts';
import type { PageCaveat } from '../../../report/schema/page.ts';
import { addressesOf } from '../../crawl/wait-history.ts';
import { fileAnswer } from '../../crawl/page-checks.ts';
import { pageFailureOf } from './navigation.ts';
import type { PageFaults } from './page-faults.ts';
import { type Arrival, type ArrivalDeps, isOver, REQUEST_MS, settle, type Waits } from './settling.ts';
import { type VisitClock, VisitEnded, type VisitRequest } from './visit.ts';
import { stillLoading } from './caveats.ts';

/** The parts of a tab that loading uses. */
interface LoadingTab extends ArrivalDeps {
  deps: Pick<AxeScript, 'egressFailureOf'>;
  target: { page: Page };
  faults: Pick<PageFaults, 'clear'>;
}

/** The time limit for the error page of the browser, in milliseconds. */
const ERROR_PAGE_MS = 1000;
/** The time limit for clearing the name of a tab, in milliseconds. */
const UNNAME_MS = 1000;
/** What Playwright says about a URL that is a download. */
const DOWNLOAD = 'Download is starting';
/** How often a navigation starts that late documents interrupt. */
const STARTS_MAX = 3;

/** Loads the page of a visit in a tab that may display another one. @throws VisitEnded, TimeLimitExceeded */
export async function navigate(tab: LoadingTab, request: VisitRequest, clock: VisitClock): Promise<void> {
  const { cdp, frame } = tab;
  if (request.url.protocol !== 'http:' && request.url.protocol !== 'https:')
    throw new VisitEnded('refused', `Only http and https pages can be tested, not ${request.url.protocol}`);
  if (isRouteOf(request.url, frame.shown.url)) await leaveDocument(tab, clock);
  await frame.whileAlive(Promise.all([clearState(cdp), forgetPages(tab)]), clock.left(), 'clearing storage');
  const restoring = request.session === undefined ? null : restoreState(cdp, request.session);
  const displayed = restoring === null ? null : await frame.whileAlive(restoring, clock.left(), 'restoring the session');
  try {
    await load(tab, request, clock);
  } finally {
    displayed?.();
  }
}

/** Forgets what a tab keeps of earlier pages beside their storage: its history, and the name that they gave it. */
async function forgetPages({ cdp, frame }: LoadingTab): Promise<void> {
  const unname = async (): Promise<void> => void (await evaluate(await isolatedWorldOf(cdp, frame.id), "name = ''"));
  await Promise.all([
    cdp.send('Page.resetNavigationHistory'),
    // A page that hangs by now keeps its name.
    withTimeLimit(unname(), UNNAME_MS, 'clearing the name of the tab').catch(() => undefined),
  ]);
}

async function load(
  { deps, target, frame, traffic, changes, faults }: LoadingTab,
  request: VisitRequest,
  clock: VisitClock,
): Promise<void> {
  await frame.whileAlive(traffic.begin(request.url, request.mayGoTo, request.plan), clock.left(), 'blocking hosts');
  faults.clear();
  const before = frame.shown.documents;
  const failed = await frame.whileAlive(
    goTo(target.page, request.url.href, () => traffic.stopped() !== null),
    clock.left(),
    'navigating',
  );
  if (traffic.stopped() !== null) return;
  if (failed === DOWNLOAD) throw new VisitEnded('document', fileAnswer(null).message);
  const isShown = (): boolean => frame.lost() !== null || frame.shown.documents > before;
  // The event for the new document arrives in another session.
  if (failed === null) return void (await changes.waitFor(isShown, clock.left()));
  // Without the wait, the error page of the browser would interrupt the next navigation.
  if (failed !== 'net::ERR_ABORTED') await changes.waitFor(isShown, Math.min(ERROR_PAGE_MS, clock.left()));
  // A loop of redirects is the browser's own finding. What else failed on the host meanwhile did not cause it.
  const failure = failed.includes('REDIRECT') ? undefined : deps.egressFailureOf(request.url);
  if (failure === undefined) throw new VisitEnded('navigation_failed', networkFailureMessage(request.url.host, failed));
  const { reason, message } = pageFailureOf(failure);
  throw new VisitEnded(reason, message);
}

/** Whether the browser would only change the fragment of the displayed document, and load nothing. */
function isRouteOf(url: URL, shown: string): boolean {
  return url.hash !== '' && url.href.split('#', 1)[0] === shown.split('#', 1)[0];
}

/** Replaces the document by an empty one, so that the next navigation loads its page. */
async function leaveDocument({ target, frame, changes }: LoadingTab, clock: VisitClock): Promise<void> {
  const { documents } = frame.shown;
  await frame.whileAlive(goTo(target.page, 'about:blank'), clock.left(), 'leaving the previous page');
  await changes.waitFor(() => frame.lost() !== null || frame.shown.documents > documents, clock.left());
}

/**
 * Loads a document, and returns when the browser displays it. The caller limits the time.
 * @param isStopped the answer is known, so that another request would be one of the next visit
 * @returns why the browser does not display it, such as `net::ERR_CONNECTION_REFUSED`, or null
 */
async function goTo(page: Page, url: string, isStopped = () => false): Promise<string | null> {
  for (let starts = 1; ; starts++) {
    try {
      await page.goto(url, { waitUntil: 'commit', timeout: 0 });
      return null;
    } catch (error) {
      const message = errorMessage(error);
      const reason = /^page\.goto: (net::\w+|Download is starting)/.exec(message)?.[1];
      if (reason !== undefined || isStopped()) return reason ?? message;
      // A document to which the previous page went, and which no request announced, such as `about:blank`.
      if (starts === STARTS_MAX || !message.includes('is interrupted by another navigation')) throw error;
    }
  }
}

/** The time that a parsed document gets for what is no script, such as images, in milliseconds. */
const PARTS_MS = 5000;
/** The time that a document gets to finish loading after its navigation was stopped. */
const KEPT_MS = 1000;
/** The time to wait for the next document after a script of ours failed. */
const REPLACED_MS = 500;
/** The time that the browser gets to request a document for which the page has asked. It may never do so. */
const ANNOUNCED_MS = 1000;
/** The share of the budget that loading may take. The rest is enough to test what is there. */
const LOAD_SHARE = 0.6;
export const MAX_HOPS = 8;
export const KEEPS_REDIRECTING = {
  reason: 'navigation_failed',
  message: `The page keeps redirecting itself (more than ${MAX_HOPS} times).`,
} as const;

type Arriving = ArrivalDeps & Waits;

/**
 * Waits until the document is loaded and quiet, follows every redirect that it starts, then blocks navigation.
 * @throws VisitEnded, TimeLimitExceeded, EvaluationFailed
 */
export async function arrive(deps: Arriving, clock: VisitClock): Promise<Arrival> {
  const { frame, traffic, changes } = deps;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    const late = await waitForLoad(deps, clock);
    const { loaderId } = frame.shown;
    const isLeaving = (): boolean => loaderId !== frame.shown.loaderId || traffic.leaving();
    try {
      const { world, caveats, signals } = await settle(deps, clock);
      // The browser requests a document shortly after the page has asked for it.
      if (traffic.announced()) await changes.waitFor(() => isOver(deps) || isLeaving() || !traffic.announced(), ANNOUNCED_MS);
      if (isLeaving()) continue;
      traffic.hold();
      return { world, signals, caveats: [...late, ...caveats] };
    } catch (error) {
      if (!(error instanceof EvaluationFailed)) throw error;
      // The document was replaced while our script ran in it. The next round waits for the new document.
      const replaced = await changes.waitFor(() => isOver(deps) || isLeaving(), REPLACED_MS);
      if (!replaced) throw error;
    }
  }
  throw new VisitEnded(KEEPS_REDIRECTING.reason, KEEPS_REDIRECTING.message);
}

/**
 * Waits until the document is loaded. A parsed document gets `PARTS_MS` for its images, fonts and frames. One that keeps
 * loading is stopped, and what is there is tested.
 * @returns the caveat of a document that was stopped
 */
async function waitForLoad(deps: Arriving, clock: VisitClock): Promise<PageCaveat[]> {
  const { cdp, frame, traffic, changes, outcomes } = deps;
  const { shown } = frame;
  const limitMs = Math.max(0, clock.left() * LOAD_SHARE);
  const loaded = (): boolean => isOver(deps) || (shown.loaded && !traffic.leaving()) || traffic.kept();
  const until = performance.now() + limitMs;
  const wait = (holds: () => boolean, ms = limitMs): Promise<boolean> =>
    changes.waitFor(() => loaded() || holds(), Math.max(0, Math.min(ms, until - performance.now())));
  for (let replaced = true; replaced && !loaded() && performance.now() < until;) {
    await wait(() => shown.parsed && !traffic.leaving());
    if (traffic.requests.overloaded()) break;
    const { documents } = shown;
    const isReplaced = (): boolean => shown.documents !== documents || traffic.leaving();
    await wait(isReplaced, PARTS_MS);
    // Nothing is missing any more, so that only the browser takes its time.
    if (!isReplaced() && traffic.requests.open().length === 0) await wait(isReplaced);
    // What scripts wait for may take longer than pictures.
    if (!isReplaced()) await wait(() => isReplaced() || traffic.requests.openData(0).length === 0, REQUEST_MS);
    replaced = isReplaced();
  }
  if (traffic.kept() && !isOver(deps)) {
    await changes.waitFor(() => isOver(deps) || shown.loaded || !traffic.kept(), KEPT_MS);
    // It moves on after the download.
    if (!traffic.kept()) return waitForLoad(deps, clock);
    shown.parsed = true;
  }
  const lost = frame.lost();
  if (lost !== null) throw new VisitEnded('crashed', lost, true);
  // The caller reports why the traffic was stopped.
  if (traffic.stopped() !== null) throw new VisitEnded('navigation_failed', '');
  if (shown.loaded) return [];
  const unanswered = traffic.requests.open().map(({ url }) => url);
  outcomes.unanswered.push(...addressesOf(unanswered));
  // The parser waits for a script, so that there is nothing to test yet.
  if (!shown.parsed && (shown.documents === 0 || traffic.requests.holdParser())) throw new TimeLimitExceeded('loading', limitMs);
  // It fails if the document is being replaced, which then counts as a redirect.
  await cdp.send('Page.stopLoading').catch(() => undefined);
  return [stillLoading(unanswered)];
}
