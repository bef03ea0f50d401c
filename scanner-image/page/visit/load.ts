/** Loads the page of a visit in a tab that displayed another one before. */
import type { Page } from 'playwright-core';
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { AxeScript } from '../axe/script.ts';
import { evaluate, isolatedWorldOf } from '../axe/world.ts';
import { networkFailureMessage } from '../../egress/network-errors.ts';
import { pageFailureOf } from './navigation.ts';
import type { PageFaults } from './page-faults.ts';
import { clearState, restoreState } from '../session/session-state.ts';
import type { ArrivalDeps } from './settling.ts';
import { VisitEnded, type VisitClock, type VisitRequest } from './visit.ts';

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
  const failed = await frame.whileAlive(goTo(target.page, request.url.href), clock.left(), 'navigating');
  if (traffic.stopped() !== null) return;
  if (failed === DOWNLOAD) throw new VisitEnded('download', 'The URL is a download, not a web page.');
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
 * @returns why the browser does not display it, such as `net::ERR_CONNECTION_REFUSED`, or null
 */
async function goTo(page: Page, url: string): Promise<string | null> {
  for (let starts = 1; ; starts++) {
    try {
      await page.goto(url, { waitUntil: 'commit', timeout: 0 });
      return null;
    } catch (error) {
      const message = errorMessage(error);
      const reason = /^page\.goto: (net::\w+|Download is starting)/.exec(message)?.[1];
      if (reason !== undefined) return reason;
      // A document to which the previous page went, and which no request announced, such as `about:blank`.
      if (starts === STARTS_MAX || !message.includes('is interrupted by another navigation')) throw error;
    }
  }
}
