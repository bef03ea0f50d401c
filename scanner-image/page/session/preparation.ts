/** Prepares a scan: answers the dialog of its start page, then runs the steps of `crawl.prepare`, and keeps the state that they lead to. */
import { errorMessage } from '../../../platform/errors.ts';
import type { ReportConsent } from '../../../report/results/consent.ts';
import type { CrawlRules } from '../../../core/scan/options.ts';
import { movedWithin } from '../../../core/scan/site.ts';
import { describeStep, prepareMistake } from '../../../core/scan/steps.ts';
import { ScanFailed } from '../../pod/failure.ts';
import type { Pool } from '../browser/pool.ts';
import type { SessionState } from './session-state.ts';
import { STEP_MS, type StepsResult } from './steps.ts';
import type { Visit } from '../visit/visit.ts';

/** The time limit of the steps, and of the answer to the dialog, in milliseconds. */
export const STEPS_MS = 90_000;
const CONSENT_MS = 60_000;

export interface PreparationDeps {
  rules: Pick<CrawlRules, 'consent' | 'prepare'>;
  /** The URL of the scan. */
  start: URL;
  /** The time limit of one step, in milliseconds. Default: `STEP_MS`. */
  stepMs?: number;
  /** The time after which nothing is started, in milliseconds since the epoch. */
  softDeadline: number;
}

/** What a scan was answered, and the state of its pages. */
export type Prepared = { ok: true; state: SessionState; consent?: ReportConsent } | Extract<StepsResult, { ok: false }>;

/** Whether a scan is prepared. */
export const isPrepared = ({ consent, prepare }: PreparationDeps['rules']): boolean => consent !== 'keep' || prepare.length > 0;

/**
 * Prepares a scan.
 * @param state the one before, after the sign-in
 * @throws ScanFailed if a step leaves the site
 */
export async function prepare(pool: Pick<Pool, 'runSteps'>, deps: PreparationDeps, state: SessionState): Promise<Prepared> {
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
    pictures: [...dialog.pictures, ...after.pictures],
  };
}
