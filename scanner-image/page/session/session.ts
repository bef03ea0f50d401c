/**
 * The session of a scan that signs in, or is prepared by steps or by the answer to a dialog. Each visit starts with the same state
 * in every tab; a page that is not signed in is visited again, after another sign-in if necessary.
 */
import { createSemaphore, ONE_AT_A_TIME } from '../../../platform/concurrency/semaphore.ts';
import { errorMessage } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { ReportConsent } from '../../../report/results/consent.ts';
import type { PageFailureReason } from '../../../report/schema/schema.ts';
import { ScanFailed } from '../../pod/failure.ts';
import type { Redactor } from '../../pod/redact.ts';
import { NO_SIGN_IN, signInHeaders, type SignIn } from '../../sign-in/sign-in.ts';
import type { Pool } from '../browser/pool.ts';
import { prepare, withDialog, type PreparationDeps, type Prepared } from './preparation.ts';
import { STEP_MS, type StepsResult } from './steps.ts';
import { cookieHeader, cookieOf, tokensOf, withRotated, type SessionState } from './session-state.ts';
import type { Visit, VisitRequest } from '../visit/visit.ts';

/** How often a scan signs in again. */
export const SIGN_INS_AGAIN_MAX = 10;
/** How often a page is visited that is not signed in. */
const VISITS_MAX = 3;
/** The time limit of a sign-in, in milliseconds. */
const SIGN_IN_MS = 90_000;

export interface SessionDeps extends PreparationDeps {
  /** Null: the scan does not sign in. */
  signIn: SignIn | null;
  redactor: Redactor;
  log: Logger;
}

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

/** A state and the sign-in that led to it: the first one is 1. */
interface Current {
  state: SessionState;
  signIn: number;
}

type Renewed = { ok: true } | { ok: false; message: string };

/** Wraps the pool of a scan, so that each visit is signed in and prepared. */
export function createSession(pool: Pick<Pool, 'visit' | 'runSteps'>, deps: SessionDeps): Session {
  const { start, redactor, log } = deps;
  const signsIn = deps.signIn !== null;
  const signIn = deps.signIn ?? NO_SIGN_IN;
  const configured: SessionState = { cookies: signIn.cookies.map(cookieOf), storage: [] };
  let current: Current = { state: configured, signIn: 1 };
  /** The state before any page could change it, without the steps of a sign-in. */
  let initial = configured;
  /** Only headers and HTTP basic authentication: nothing that a page could change. */
  let stateless = signIn.steps.length === 0 && signIn.cookies.length === 0;
  let consent: ReportConsent | undefined;
  /** The state in which the start page shows the dialog that was answered; null if there is none. */
  let dialogState: SessionState | null = null;
  /** Why the start page could not be opened to prepare the scan. */
  let unopened: string | null = null;
  let renewing: Promise<Renewed> | null = null;
  let again = 0;
  let givenUp: string | null = null;
  const turns = createSemaphore(ONE_AT_A_TIME);
  /** Whether pages are visited one after the other. */
  let serial = false;
  const pages = pagesOf(signIn, start);

  function isSignedOut(visit: Visit, requested: URL): boolean {
    if (!signsIn) return false;
    if (!visit.loaded && (visit.reason === 'sign_in_lost' || visit.reason === 'sign_in_page')) return true;
    if (!visit.loaded && visit.reason === 'http_error') return visit.status === 401;
    // It was tested because it shows the marker, wherever it redirected to.
    if (visit.loaded && signIn.marker !== null) return false;
    if (visit.finalUrl === null || !URL.canParse(String(visit.finalUrl))) return false;
    const final = new URL(visit.finalUrl);
    if (!visit.loaded && visit.reason === 'redirected_away') return signIn.steps.length > 0 && signIn.origins.includes(final.origin);
    return pages.includes(addressOf(final)) && addressOf(final) !== addressOf(requested);
  }

  async function runSteps(): Promise<Renewed> {
    const budgetMs = Math.min(SIGN_IN_MS, deps.softDeadline - Date.now());
    // The pages that were tested already are worth a report, also if the browser does not start again.
    const { steps, marker, origins } = signIn;
    const request = { of: 'the sign-in', steps, marker, origins, mayGoTo: () => null, base: start, state: configured } as const;
    const signedIn = await pool.runSteps({ ...request, budgetMs, stepMs: deps.stepMs ?? STEP_MS }).catch((error: unknown): StepsResult => ({
      ok: false,
      opened: false,
      message: `The browser failed during the sign-in: ${errorMessage(error)}.`,
    }));
    if (!signedIn.ok) return { ok: false, message: redactor.text(signedIn.message) };
    redactor.learn(tokensOf(signedIn.state));
    current = { state: signedIn.state, signIn: current.signIn + 1 };
    return { ok: true };
  }

  /** Prepares the state of the last sign-in. */
  async function prepareState(): Promise<Prepared> {
    const prepared = await prepare(pool, deps, current.state);
    if (!prepared.ok) return { ...prepared, message: redactor.text(prepared.message) };
    if (signsIn) redactor.learn(tokensOf(prepared.state));
    current = { ...current, state: prepared.state };
    return prepared;
  }

  async function signInAgain(): Promise<Renewed> {
    if (givenUp !== null) return { ok: false, message: givenUp };
    if (signIn.steps.length === 0) {
      if (current.state === initial) return { ok: false, message: 'The site does not accept the values of the Secret.' };
      current = { state: initial, signIn: current.signIn + 1 };
      return { ok: true };
    }
    if (again >= SIGN_INS_AGAIN_MAX) return { ok: false, message: `The scan signed in again ${again} times already, which is its limit.` };
    again += 1;
    log.info({ again }, 'a page is not signed in; signing in again');
    const signedIn = await runSteps();
    const renewed = signedIn.ok ? await prepareState() : signedIn;
    // More attempts with credentials that the site does not accept any more could lock the account.
    if (!renewed.ok) givenUp = `The scan could not sign in again. ${renewed.message}`;
    return renewed.ok ? renewed : { ok: false, message: givenUp ?? '' };
  }

  function renew(): Promise<Renewed> {
    renewing ??= signInAgain().finally(() => (renewing = null));
    return renewing;
  }

  async function visitOnce(worker: number, request: VisitRequest): Promise<{ visit: Visit; used: Current }> {
    const used = current;
    const visit = await pool.visit(worker, {
      ...request,
      // The visit may have waited for another one.
      budgetMs: Math.max(0, Math.min(request.budgetMs, deps.softDeadline - Date.now())),
      // Sites may accept one page at a time in a session, so no other page is loaded while this one waits.
      ...(!stateless && { session: used.state, ...(signsIn && { onWaiting: undefined }) }),
      ...(signIn.marker !== null && { marker: signIn.marker }),
    });
    // Without a sign-in, each page is tested as if it was the first one after the preparation.
    if (signsIn && visit.cookies !== undefined && !isSignedOut(visit, request.url) && used.signIn === current.signIn) {
      const state = withRotated(current.state, used.state, visit.cookies);
      if (state !== current.state) {
        redactor.learn(tokensOf(state));
        current = { ...current, state };
      }
    }
    return { visit, used };
  }

  /** Visits a page, and again if it is not signed in. */
  async function visitSignedIn(worker: number, request: VisitRequest): Promise<Visit> {
    let why = '';
    for (let visits = 1; ; visits++) {
      const { visit, used } = await (serial ? turns.run('', () => visitOnce(worker, request)) : visitOnce(worker, request));
      if ((stateless && signIn.marker === null) || !isSignedOut(visit, request.url)) return visit;
      if (pages.includes(addressOf(request.url))) return lost(visit, 'It is a page of the sign-in itself.');
      if (visits === VISITS_MAX) return lost(visit, why);
      const advice = `Another sign-in did not help. ${ADVICE[visit.loaded ? 'sign_in_page' : visit.reason] ?? ''}`;
      if (used !== current) {
        if (used.signIn !== current.signIn) why = advice;
        // Another visit changed the session ID: the site allows one visit at a time.
        if (used.signIn === current.signIn) serial = true;
        continue;
      }
      const renewed = await renew();
      if (!renewed.ok) return lost(visit, renewed.message);
      why = advice;
    }
  }

  /** Visits a page. The first one, which is visited alone, is also tested with the open dialog. */
  async function visitInSession(worker: number, request: VisitRequest): Promise<Visit> {
    if (dialogState === null || !request.test) return visitSignedIn(worker, request);
    const { marker } = signIn;
    const dialog = await pool.visit(worker, { ...request, session: dialogState, ...(marker !== null && { marker }) });
    const visit = withDialog(dialog, await visitSignedIn(worker, request));
    if (visit.loaded) dialogState = null;
    return visit;
  }

  return {
    headersFor: (url) => {
      const cookie = cookieHeader(current.state.cookies, url);
      return { ...signInHeaders(signIn, url), ...(cookie !== '' && { cookie }) };
    },
    async open() {
      if (signIn.steps.length === 0) return;
      const opened = await runSteps();
      if (!opened.ok) throw new ScanFailed('sign_in_failed', opened.message);
    },
    async prepare() {
      const before = current.state;
      const prepared = await prepareState();
      if (!prepared.ok && prepared.opened) throw new ScanFailed('prepare_failed', prepared.message);
      if (!prepared.ok) {
        unopened = prepared.message;
        return;
      }
      initial = prepared.state;
      stateless &&= prepared.state === before;
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
