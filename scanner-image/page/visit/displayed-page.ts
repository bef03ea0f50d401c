/** Checks the document that a tab displays: it may not be the requested page. */
import type { PageCaveat } from '../../../report/schema/page.ts';
import {
  botProtection,
  botProtectionMessage,
  EMPTY_DOCUMENT,
  fileAnswer,
  isHtml,
  isSignInPage,
  isSignInRedirect,
  notWellFormed,
  type WrongPage,
} from '../../crawl/page-checks.ts';
import type { Marker } from '../../../core/scan/sign-in.ts';
import { describeMarker } from '../../../core/scan/steps.ts';
import { evaluate, type IsolatedWorld } from '../scripts/source.ts';
import { contentBlocked, faultCaveats, firstFault } from './caveats.ts';
import type { MainFrame } from './main-frame.ts';
import type { PageFaults } from './page-faults.ts';
import type { Traffic } from './traffic.ts';
import type { PageFacts, VisitClock, VisitRequest } from './visit.ts';

interface Displayed {
  frame: MainFrame;
  traffic: Traffic;
  faults: PageFaults;
}

/** Checks the facts of the displayed document. Returns null if it is the requested page. */
export function checkDisplayed({ frame, traffic, faults }: Displayed, request: VisitRequest, facts: PageFacts): WrongPage | null {
  const url = new URL(frame.shown.url);
  const isGuess = traffic.answer()?.headers['content-type'] === undefined;
  if (isGuess && !facts.visible.rendered && facts.contentType === 'text/plain') return EMPTY;
  if (!isHtml(facts.contentType)) return fileAnswer(facts.contentType);
  if (facts.parserError !== null) return { reason: 'test_failed', message: notWellFormed(facts.parserError) };
  if (EMPTY_DOCUMENT.test(facts.markup)) return EMPTY;
  const product = botProtection(traffic.answer()?.headers ?? {}, facts.markup);
  if (product !== null) return { reason: 'bot_wall', message: botProtectionMessage(product) };
  if (isSignInPage(request.url, { url, form: facts.signInForm, signedIn: request.session !== undefined }))
    return {
      reason: 'sign_in_page',
      message: `The site displays a sign-in page (${url.origin}${url.pathname}) instead of the requested page. ${SIGN_IN_ADVICE}`,
    };
  // The response of every document was checked already, but a script can change the address without one.
  const refused = request.mayGoTo(url);
  if (refused !== null || facts.visible.rendered || !request.test || request.mayBeEmpty === true) return refused;
  return { reason: 'not_rendered', message: notRendered(firstFault(faults.read(url, facts))) };
}

const EMPTY: WrongPage = { reason: 'not_html', message: 'The server sent an empty document.' };

const notRendered = (fault: string): string =>
  ['The page shows no visible text, control or picture.', fault, 'Open it in a browser, and check its scripts and what they request.']
    .filter((sentence) => sentence !== '')
    .join(' ');

/** What kept a displayed document from being the page that visitors use. */
export function renderedCaveats({ frame, faults }: Displayed, facts: PageFacts): PageCaveat[] {
  const { blocked } = facts.visible;
  return [...(blocked === null ? [] : [contentBlocked(blocked)]), ...faultCaveats(faults.read(new URL(frame.shown.url), facts))];
}

const SIGN_IN_ADVICE = 'To test the page, give the scan a sign-in.';

/** Navigation is blocked during the test. A page that tries to go to a sign-in page then is not the requested page either. */
export function checkBlockedNavigation({ traffic }: Pick<Displayed, 'traffic'>, request: VisitRequest): WrongPage | null {
  const url = URL.parse(traffic.wanted() ?? '');
  if (url === null || !isSignInRedirect(request.url, url)) return null;
  return { reason: 'sign_in_page', message: `The page redirects to a sign-in page (${url.origin}${url.pathname}). ${SIGN_IN_ADVICE}` };
}

/** A document that tried to leave during the test was tested as it was displayed until then. */
export function redirectCaveats({ traffic }: Pick<Displayed, 'traffic'>): PageCaveat[] {
  const url = URL.parse(traffic.wanted() ?? '');
  if (url === null) return [];
  const message = `A script tried to load ${url.origin}${url.pathname} during the test. The page that was displayed until then was tested.`;
  return [{ kind: 'redirect_blocked', message }];
}

/** The time that a quiet page gets to show that it is signed in, in milliseconds. */
const MARKER_MS = 2000;

/** Returns why a page without the marker of the sign-in is not tested; null if it shows the marker, or the scan has none. */
export async function missingMarker(
  frame: MainFrame,
  { world, marker }: { world: IsolatedWorld; marker: Marker | undefined },
  clock: VisitClock,
): Promise<WrongPage | null> {
  if (marker === undefined) return null;
  const showing = evaluate<boolean>(world, `curbcut.shows(${JSON.stringify(marker)}, ${MARKER_MS})`);
  if (await frame.whileAlive(showing, clock.left(), 'looking for the marker')) return null;
  return { reason: 'sign_in_lost', message: `The page is not signed in: it does not show ${describeMarker(marker)}.` };
}
