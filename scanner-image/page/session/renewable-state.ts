/** The state with which the visits of a scan start: that of its last sign-in and its preparation. It is renewed when it is lost. */
import { errorMessage } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Redactor } from '../../pod/redact.ts';
import { NO_SIGN_IN, type SignIn } from './sign-in.ts';
import type { Pool } from '../browser/pool.ts';
import type { ReportConsent } from '../../../report/schema/report.ts';
import type { CrawlRules } from '../../../core/scan/options.ts';
import { movedWithin } from '../../../core/scan/site.ts';
import { describeStep, prepareMistake } from '../../../core/scan/steps.ts';
import { ScanFailed } from '../../pod/failure.ts';
import type { Visit } from '../visit/visit.ts';
import { STEP_MS, type StepsResult } from './steps.ts';
import { cookieOf, type SessionCookie, type SessionState, tokensOf, withRotated } from './session-state.ts';

/** How often a scan signs in again. */
export const SIGN_INS_AGAIN_MAX = 10;
/** The time limit of a sign-in, in milliseconds. */
const SIGN_IN_MS = 90_000;

export interface SessionDeps extends PreparationDeps {
  /** Null: the scan does not sign in. */
  signIn: SignIn | null;
  redactor: Redactor;
  log: Logger;
}

/** A state and the sign-in that led to it: the first one is 1. */
export interface Current {
  state: SessionState;
  signIn: number;
}

export type Renewed = { ok: true } | { ok: false; message: string };

export function createRenewableState(pool: Pick<Pool, 'runSteps'>, deps: SessionDeps) {
  const { redactor, log } = deps;
  const { steps, cookies } = deps.signIn ?? NO_SIGN_IN;
  const configured: SessionState = { cookies: cookies.map(cookieOf), storage: [] };
  let current: Current = { state: configured, signIn: 1 };
  /** The prepared state before any page could change it. */
  let initial = configured;
  let renewing: Promise<Renewed> | null = null;
  let again = 0;
  let givenUp: string | null = null;

  async function signIn(): Promise<Renewed> {
    const signedIn = await runSignIn(pool, deps, configured);
    if (!signedIn.ok) return { ok: false, message: redactor.text(signedIn.message) };
    redactor.learn(tokensOf(signedIn.state));
    current = { state: signedIn.state, signIn: current.signIn + 1 };
    return { ok: true };
  }

  async function prepareState(): Promise<Prepared> {
    const prepared = await prepare(pool, deps, current.state);
    if (!prepared.ok) return { ...prepared, message: redactor.text(prepared.message) };
    if (deps.signIn !== null) redactor.learn(tokensOf(prepared.state));
    current = { ...current, state: (initial = prepared.state) };
    return prepared;
  }

  async function replace(): Promise<Renewed> {
    if (givenUp !== null) return { ok: false, message: givenUp };
    if (steps.length === 0) {
      if (current.state === initial) return { ok: false, message: 'The site does not accept the values of the Secret.' };
      current = { state: initial, signIn: current.signIn + 1 };
      return { ok: true };
    }
    if (again >= SIGN_INS_AGAIN_MAX) return { ok: false, message: `The scan signed in again ${again} times already, which is its limit.` };
    again += 1;
    log.info({ again }, 'a page is not signed in; signing in again');
    const signedIn = await signIn();
    const renewed = signedIn.ok ? await prepareState() : signedIn;
    // More attempts with credentials that the site does not accept any more could lock the account.
    if (!renewed.ok) givenUp = `The scan could not sign in again. ${renewed.message}`;
    return renewed.ok ? renewed : { ok: false, message: givenUp ?? '' };
  }

  return {
    current: (): Current => current,
    /** Whether there is nothing that a page could change: only headers and HTTP basic authentication. */
    isStateless: (): boolean => steps.length === 0 && cookies.length === 0 && initial === configured,
    /** Runs the steps of the sign-in. */
    signIn,
    /** Prepares the state of the last sign-in. */
    prepare: prepareState,
    /** Replaces a state that the site does not accept any more. Callers share one attempt. */
    renew: (): Promise<Renewed> => (renewing ??= replace().finally(() => (renewing = null))),
    /** Takes over the cookies that a visit has changed, unless another sign-in has replaced the state since. */
    rotate(used: Current, after: readonly SessionCookie[]): void {
      if (used.signIn !== current.signIn) return;
      const state = withRotated(current.state, used.state, after);
      if (state === current.state) return;
      redactor.learn(tokensOf(state));
      current = { ...current, state };
    },
  };
}

export type RenewableState = ReturnType<typeof createRenewableState>;

function runSignIn(
  pool: Pick<Pool, 'runSteps'>,
  { signIn, start, stepMs = STEP_MS, softDeadline }: SessionDeps,
  state: SessionState,
): Promise<StepsResult> {
  const { steps, marker, origins } = signIn ?? NO_SIGN_IN;
  const budgetMs = Math.min(SIGN_IN_MS, softDeadline - Date.now());
  return (
    pool
      .runSteps({ of: 'the sign-in', steps, marker, origins, mayGoTo: () => null, base: start, state, budgetMs, stepMs })
      // The pages that were tested already are worth a report, also if the browser does not start again.
      .catch((error: unknown) => ({
        ok: false,
        opened: false,
        message: `The browser failed during the sign-in: ${errorMessage(error)}.`,
      }))
  );
}

// The preparation of a scan: the answer to the dialog of its start page, then the steps of `crawl.prepare`.

/** The time limit of the steps, and of the answer to the dialog, in milliseconds. */
export const STEPS_MS = 90_000;
const CONSENT_MS = 60_000;

interface PreparationDeps {
  rules: Pick<CrawlRules, 'consent' | 'prepare'>;
  /** The URL of the scan. */
  start: URL;
  /** The time limit of one step, in milliseconds. Default: `STEP_MS`. */
  stepMs?: number;
  /** The time after which nothing is started, in milliseconds since the epoch. */
  softDeadline: number;
}

/** What a scan was answered, and the state of its pages. */
type Prepared = { ok: true; state: SessionState; consent?: ReportConsent } | Extract<StepsResult, { ok: false }>;

/** Whether a scan is prepared. */
export const isPrepared = ({ consent, prepare }: PreparationDeps['rules']): boolean => consent !== 'keep' || prepare.length > 0;

/**
 * Prepares a scan.
 * @param state the one before, after the sign-in
 * @throws ScanFailed if a step leaves the site
 */
async function prepare(pool: Pick<Pool, 'runSteps'>, deps: PreparationDeps, state: SessionState): Promise<Prepared> {
  const { start, rules, stepMs = STEP_MS } = deps;
  if (!isPrepared(rules)) return { ok: true, state };
  const mistake = prepareMistake(rules.prepare, start);
  if (mistake !== null)
    throw new ScanFailed('prepare_failed', `Step ${mistake.index + 1} of crawl.prepare cannot be run: ${mistake.message}`);
  const action = rules.consent === 'keep' ? undefined : rules.consent;
  const result = await pool
    .runSteps({
      of: 'crawl.prepare',
      steps: rules.prepare.map((step) => ({ step, description: describeStep(step), value: step.fill?.value })),
      start,
      consent: action,
      marker: null,
      origins: null,
      mayGoTo: (url) =>
        movedWithin(start, url) ? null : { reason: 'redirected_away', message: `it leads to another site, ${url.origin}.` },
      base: start,
      state,
      budgetMs: Math.min(STEPS_MS + (action === undefined ? 0 : CONSENT_MS), deps.softDeadline - Date.now()),
      stepMs,
    })
    .catch((error: unknown): StepsResult => ({
      ok: false,
      opened: false,
      message: `The browser failed during crawl.prepare: ${errorMessage(error)}.`,
    }));
  if (!result.ok) return result;
  return {
    ok: true,
    state: result.state,
    ...(action !== undefined && result.consent !== null && { consent: { action, ...result.consent, url: start.href } }),
  };
}

/** What the open dialog covers is tested after its answer. */
const COVERED = 'content_blocked';

/** Adds to the visit of the start page what was found on it with the open dialog. */
export function withDialog(dialog: Visit, after: Visit): Visit {
  if (!after.loaded || after.findings === null) return after;
  const durationMs = dialog.durationMs + after.durationMs;
  if (!dialog.loaded || dialog.findings === null) {
    const message = `The page could not be tested with the open dialog. ${dialog.loaded ? '' : dialog.message}`.trim();
    return { ...after, durationMs, caveats: [...after.caveats, { kind: 'dialog_untested', message }] };
  }
  const frames = new Set(after.framesUntested.map(({ path }) => path.join('\n')));
  const kinds = new Set<string>([COVERED, ...after.caveats.map(({ kind }) => kind)]);
  return {
    ...after,
    durationMs,
    withDialog: dialog.findings,
    framesUntested: [...after.framesUntested, ...dialog.framesUntested.filter(({ path }) => !frames.has(path.join('\n')))],
    caveats: [...after.caveats, ...dialog.caveats.filter(({ kind }) => !kinds.has(kind))],
    pictures: [...after.pictures, ...dialog.pictures],
  };
}
