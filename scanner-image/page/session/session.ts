/**
 * The session of a scan that signs in, or is prepared by steps or by the answer to a dialog. Each visit starts with the same state
 * in every tab; a page that is not signed in is visited again, after another sign-in if necessary.
 */
import { createSemaphore, ONE_AT_A_TIME } from '../../../platform/concurrency/semaphore.ts';
import type { PageFailureReason } from '../../../report/schema/page.ts';
import type { ReportConsent } from '../../../report/schema/report.ts';
import { ScanFailed } from '../../pod/failure.ts';
import { NO_SIGN_IN, signInHeaders, type SignIn } from './sign-in.ts';
import type { Pool } from '../browser/pool.ts';
import { createRenewableState, type Current, type RenewableState, type SessionDeps, withDialog } from './renewable-state.ts';
import { cookieHeader, type SessionState } from './session-state.ts';
import { atMost, type Visit, type VisitRequest } from '../visit/visit.ts';

/** How often a page is visited that is not signed in. */
const VISITS_MAX = 3;

export interface Session extends Pick<Pool, 'visit'> {
  /** Signs in for the first time. @throws ScanFailed if a step fails */
  open(): Promise<void>;
  /** Answers the dialog and runs the steps that prepare the scan. @throws ScanFailed if a step fails */
  prepare(): Promise<void>;
  /** What was answered; undefined if the scan answers no dialog. */
  consent(): ReportConsent | undefined;
  /** The headers with the credentials for a file of the site, such as its sitemap. */
  headersFor(url: URL): Record<string, string>;
}

/** Wraps the pool of a scan, so that each visit is signed in and prepared. */
export function createSession(pool: Pick<Pool, 'visit' | 'runSteps'>, deps: SessionDeps): Session {
  const { steps, marker } = deps.signIn ?? NO_SIGN_IN;
  const session = createRenewableState(pool, deps);
  const visitSignedIn = createSignedInVisits(pool, deps, session);
  let consent: ReportConsent | undefined;
  /** The state in which the start page shows the dialog that was answered; null if there is none. */
  let dialogState: SessionState | null = null;
  /** Why the start page could not be opened to prepare the scan. */
  let unopened: string | null = null;

  /** Visits a page. The first one, which is visited alone, is also tested with the open dialog. */
  async function visitInSession(worker: number, request: VisitRequest): Promise<Visit> {
    if (dialogState === null || !request.test) return visitSignedIn(worker, request);
    const dialog = await pool.visit(worker, {
      ...request,
      testsStates: undefined,
      session: dialogState,
      ...(marker !== null && { marker }),
    });
    const visit = withDialog(dialog, await visitSignedIn(worker, request));
    if (visit.loaded) dialogState = null;
    return visit;
  }

  return {
    headersFor: (url) => {
      const cookie = cookieHeader(session.current().state.cookies, url);
      return { ...signInHeaders(deps.signIn ?? NO_SIGN_IN, url), ...(cookie !== '' && { cookie }) };
    },
    async open() {
      if (steps.length === 0) return;
      const opened = await session.signIn();
      if (!opened.ok) throw new ScanFailed('sign_in_failed', opened.message);
    },
    async prepare() {
      const before = session.current().state;
      const prepared = await session.prepare();
      if (!prepared.ok && prepared.opened) throw new ScanFailed('prepare_failed', prepared.message);
      if (!prepared.ok) {
        unopened = prepared.message;
        return;
      }
      consent = prepared.consent;
      if (consent?.outcome === 'answered' || consent?.outcome === 'shown_again') dialogState = before;
    },
    consent: () => consent,
    async visit(worker, request) {
      const visit = await visitInSession(worker, request);
      // The visit of a page that does not load explains why better than the steps.
      if (unopened !== null && visit.loaded) throw new ScanFailed('prepare_failed', unopened);
      return visit;
    },
  };
}

/** Returns the function that visits a page, and again if it is not signed in. */
function createSignedInVisits(pool: Pick<Pool, 'visit'>, deps: SessionDeps, session: RenewableState): Pool['visit'] {
  const signsIn = deps.signIn !== null;
  const signIn = deps.signIn ?? NO_SIGN_IN;
  const pages = pagesOf(signIn, deps.start);
  const isLost = (visit: Visit, { url }: VisitRequest): boolean => signsIn && isSignedOut(visit, url, signIn, pages);
  const turns = createSemaphore(ONE_AT_A_TIME);
  /** Whether pages are visited one after the other. */
  let serial = false;

  async function visitOnce(worker: number, request: VisitRequest): Promise<{ visit: Visit; used: Current }> {
    const used = session.current();
    const visit = await pool.visit(worker, {
      ...request,
      // The visit may have waited for another one.
      ...atMost(Math.max(0, deps.softDeadline - Date.now()), request),
      ...(!session.isStateless() && { session: used.state }),
      // Sites may accept one page at a time in a session, so no other page is loaded while this one waits for its site.
      ...(!session.isStateless() && signsIn && { onWaiting: (waits) => (waits === 'site' ? undefined : request.onWaiting?.(waits)) }),
      ...(signIn.marker !== null && { marker: signIn.marker }),
    });
    // Without a sign-in, each page is tested as if it was the first one after the preparation.
    if (signsIn && visit.cookies !== undefined && !isLost(visit, request)) session.rotate(used, visit.cookies);
    return { visit, used };
  }

  return async (worker, request) => {
    let why = '';
    for (let visits = 1; ; visits++) {
      const { visit, used } = await (serial ? turns.run('', () => visitOnce(worker, request)) : visitOnce(worker, request));
      if ((session.isStateless() && signIn.marker === null) || !isLost(visit, request)) return visit;
      if (pages.includes(addressOf(request.url))) return lost(visit, 'It is a page of the sign-in itself.');
      if (visits === VISITS_MAX) return lost(visit, why);
      const advice = `Another sign-in did not help. ${ADVICE[visit.loaded ? 'sign_in_page' : visit.reason] ?? ''}`;
      const current = session.current();
      if (used !== current) {
        // With the same sign-in, another visit changed the session ID: the site allows one visit at a time.
        if (used.signIn === current.signIn) serial = true;
        else why = advice;
        continue;
      }
      const renewed = await session.renew();
      if (!renewed.ok) return lost(visit, renewed.message);
      why = advice;
    }
  };
}

/** What to do about pages that stay signed out for this reason. */
const ADVICE: Partial<Record<PageFailureReason, string>> = {
  sign_in_lost: 'If it never shows the marker, choose another marker, or leave the page out with crawl.exclude.',
};

const addressOf = ({ origin, pathname }: URL): string => origin + pathname;

/** The pages that steps open, except those that also have content of the site. */
function pagesOf({ steps }: SignIn, start: URL): string[] {
  const opened = steps.flatMap(({ step }) => (step.goto === undefined ? [] : [new URL(step.goto, start)]));
  return opened.filter((url) => url.pathname !== '/' && addressOf(url) !== addressOf(start)).map(addressOf);
}

/** Whether a visit shows that the page is not signed in. @param pages those of the sign-in, from `pagesOf` */
function isSignedOut(visit: Visit, requested: URL, { marker, steps, origins }: SignIn, pages: readonly string[]): boolean {
  if (!visit.loaded && (visit.reason === 'sign_in_lost' || visit.reason === 'sign_in_page')) return true;
  if (!visit.loaded && visit.reason === 'http_error') return visit.status === 401;
  // It was tested because it shows the marker, wherever it redirected to.
  if (visit.loaded && marker !== null) return false;
  const final = URL.parse(String(visit.finalUrl ?? ''));
  if (final === null) return false;
  if (!visit.loaded && visit.reason === 'redirected_away') return steps.length > 0 && origins.includes(final.origin);
  return pages.includes(addressOf(final)) && addressOf(final) !== addressOf(requested);
}

/** How a page shows that it is not signed in. */
function signOutSign(visit: Visit): string {
  if (!visit.loaded && visit.reason === 'sign_in_lost') return visit.message;
  const seen =
    !visit.loaded && visit.reason === 'http_error'
      ? 'the server responded with status 401.'
      : 'the site displays its sign-in page instead.';
  return `The page is not signed in: ${seen}`;
}

/** The visit as one of a page that is not signed in. */
function lost(visit: Visit, why: string): Visit {
  const { cookies: _, durationMs, status } = visit;
  const finalUrl = visit.loaded ? visit.finalUrl.href : visit.finalUrl;
  const message = `${signOutSign(visit)} ${why}`.trim();
  return { loaded: false, reason: 'sign_in_lost', message, finalUrl, status, retryAfterMs: null, durationMs, broken: false };
}
