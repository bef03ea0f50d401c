/** Steps in a tab of their own: those that sign in, and those that prepare a scan. Playwright waits for elements and acts on them. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Frame, Locator, Page } from 'playwright-core';
import { errorMessage } from '../../../platform/errors.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { ReportConsent } from '../../../report/schema/report.ts';
import type { Marker } from '../../../core/scan/sign-in.ts';
import { describeMarker, kindOfStep } from '../../../core/scan/steps.ts';
import { evaluate, isolatedWorldOf } from '../scripts/source.ts';
import type { WrongPage } from '../../crawl/page-checks.ts';
import type { ReadyStep } from './sign-in.ts';
import { answerConsent, asksAgain, type ConsentAnswer } from './consent.ts';
import type { ArrivalDeps } from '../visit/settling.ts';
import { clearState, readCookies, restoreState, type OriginStorage, type SessionState } from './session-state.ts';

export interface StepsRequest {
  /** What the steps belong to, in messages. */
  of: 'the sign-in' | 'crawl.prepare';
  steps: readonly ReadyStep[];
  /** The page that is opened before the first step. */
  start?: URL;
  /** The answer to the dialog of that page. */
  consent?: ReportConsent['action'];
  /** What the page must show after the last step. */
  marker: Marker | null;
  /** The origins of pages in which steps may type. Null: all. */
  origins: readonly string[] | null;
  /** Why the main frame may not go to a URL, or null. */
  mayGoTo: (url: URL) => WrongPage | null;
  /** The URL that relative URLs of steps refer to. */
  base: URL;
  /** The state before the first step. */
  state: SessionState;
  /** The time limit of everything, in milliseconds. */
  budgetMs: number;
  /** The time limit of one step, in milliseconds. */
  stepMs: number;
}

/**
 * The state that the steps lead to, or a sentence that names the step that failed, and no secret. `opened` is false if already
 * the first page did not load.
 */
export type StepsResult =
  { ok: true; state: SessionState; consent: ConsentAnswer | null } | { ok: false; message: string; opened: boolean };

/** The parts of a tab that steps use. */
export interface StepTab extends Pick<ArrivalDeps, 'cdp' | 'frame' | 'traffic'> {
  page: Page;
}

/** The usual time limit of one step, in milliseconds. */
export const STEP_MS = 15_000;
/** The time that a page gets to become quiet after it was opened or clicked, in milliseconds. Scripts attach their handlers in it. */
const QUIET_MS = 3000;
/** How often frames are searched for an element, in milliseconds. */
const SEARCH_MS = 100;
/** The time that a frame has to answer, because it may hang, in milliseconds. */
const FRAME_MS = 1000;

/** Runs the steps and reads the state that they lead to. */
export async function runSteps(tab: StepTab, request: StepsRequest): Promise<StepsResult> {
  const over = new AbortController();
  try {
    return await withTimeLimit(run(tab, request, over.signal), request.budgetMs, request.of);
  } catch (error) {
    return { ok: false, opened: true, message: `${capital(request.of)} failed: ${errorMessage(error)}.` };
  } finally {
    over.abort();
    tab.traffic.hold();
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** @param over aborted when the time is over: the steps that are left must not run */
async function run(tab: StepTab, request: StepsRequest, over: AbortSignal): Promise<StepsResult> {
  const { of, steps, start, state, marker, stepMs } = request;
  const storage = new Map(state.storage.map((one) => [one.origin, one]));
  const remember = async (): Promise<void> => {
    const stored = await readStorage(tab);
    if (stored !== null) storage.set(stored.origin, stored);
  };
  await clearState(tab.cdp);
  const displayed = await restoreState(tab.cdp, state);
  await tab.traffic.begin(start ?? request.base, request.mayGoTo);
  let consent: ConsentAnswer | null = null;
  if (start !== undefined) {
    const failure = await runStep(tab, { step: { goto: start.href }, description: '' }, request);
    displayed();
    if (failure !== null) return { ok: false, opened: false, message: `${capital(of)} could not begin at ${start.href}: ${failure}` };
    if (request.consent !== undefined) consent = await answerDialog(tab, request, request.consent, over);
    // What a failed answer changed must not be kept.
    if (consent?.outcome === 'failed') return withConsent(await run(tab, { ...request, consent: undefined }, over), consent);
    await remember();
  }
  for (const [index, ready] of steps.entries()) {
    over.throwIfAborted();
    const failure = await runStep(tab, ready, request);
    displayed();
    if (failure !== null)
      return {
        ok: false,
        opened: true,
        message: `Step ${index + 1} of ${steps.length} of ${of} (${ready.description}) failed: ${failure}`,
      };
    await remember();
  }
  if (marker !== null && !(await isShown(tab, marker, stepMs))) {
    const message = `The steps of ${of} succeeded, but then ${addressOf(tab.page)} does not show its marker, ${describeMarker(marker)}.`;
    return { ok: false, opened: true, message };
  }
  const isChanged = steps.length > 0 || (consent !== null && consent.outcome !== 'not_found');
  return { ok: true, consent, state: isChanged ? { cookies: await readCookies(tab.cdp), storage: [...storage.values()] } : state };
}

const withConsent = (result: StepsResult, consent: ConsentAnswer): StepsResult => (result.ok ? { ...result, consent } : result);

/** Answers the dialog of the displayed page, and loads the page again to see whether it remembers the answer. */
async function answerDialog(
  { page, traffic }: StepTab,
  { stepMs }: StepsRequest,
  action: ReportConsent['action'],
  over: AbortSignal,
): Promise<ConsentAnswer> {
  const answer = await answerConsent(page, action, over);
  if (answer.outcome !== 'answered') return answer;
  await becomeQuiet(page, stepMs);
  const loaded = await page.reload({ waitUntil: 'domcontentloaded', timeout: stepMs }).catch(() => null);
  if (traffic.stopped() !== null || loaded === null) return { ...answer, outcome: 'failed' };
  await becomeQuiet(page, stepMs);
  return (await asksAgain(page, over)) ? { ...answer, outcome: 'shown_again' } : answer;
}

/** Why a step failed, as a sentence. */
class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

/** @returns why the step failed, as a sentence, or null */
async function runStep(tab: StepTab, ready: ReadyStep, { base, origins, stepMs }: StepsRequest): Promise<string | null> {
  const { page, traffic } = tab;
  const { step, value = '' } = ready;
  const end = performance.now() + stepMs;
  const timeout = (): number => Math.max(1, end - performance.now());
  const find = (selector: string | undefined, frames: () => Frame[]): Promise<Locator> => findVisible(page, selector ?? '', frames, stepMs);
  try {
    switch (kindOfStep(step)) {
      case 'goto':
        await open(page, new URL(step.goto ?? '', base), stepMs);
        break;
      case 'click':
        await (await find(step.click, () => page.frames())).click({ timeout: timeout() });
        await becomeQuiet(page, stepMs);
        break;
      case 'waitFor':
        await find(step.waitFor, () => page.frames());
        break;
      case 'fill': {
        const field = await (await find(step.fill?.selector, () => [page.mainFrame()])).elementHandle({ timeout: timeout() });
        // The element belongs to the document of this URL: if the document is replaced, the element cannot be filled.
        const { origin } = new URL(page.url());
        if (origins !== null && !origins.includes(origin))
          return `the page is at ${origin}, and the value may be typed only at ${origins.join(', ')}.`;
        await field?.fill(value, { timeout: timeout() });
        break;
      }
      case 'assert':
        if (!(await isShown(tab, step.assert ?? {}, stepMs))) return `${addressOf(page)} does not show it.`;
        break;
    }
  } catch (error) {
    return traffic.stopped()?.message ?? whyNot(page, error, stepMs);
  }
  return traffic.stopped()?.message ?? null;
}

/** Opens a page, and waits until it is quiet. @throws StepFailed */
async function open(page: Page, url: URL, stepMs: number): Promise<void> {
  await page.goto(url.href, { waitUntil: 'domcontentloaded', timeout: stepMs }).catch(() => {
    throw new StepFailed(`the page did not load within ${stepMs / 1000} s.`);
  });
  await becomeQuiet(page, stepMs);
}

/**
 * Waits for the first visible element, searching the frames in their order.
 * @throws StepFailed
 */
async function findVisible(page: Page, selector: string, frames: () => Frame[], stepMs: number): Promise<Locator> {
  const end = performance.now() + stepMs;
  for (;;) {
    for (const frame of frames()) {
      const element = frame.locator(`css=${selector}`).filter({ visible: true }).first();
      // A frame may be replaced, or hang.
      const count = await withTimeLimit(element.count(), FRAME_MS, 'searching a frame').catch((error: unknown) => {
        if (/is not a valid selector|while parsing css selector/i.test(errorMessage(error)))
          throw new StepFailed('the selector is not valid CSS.');
        return 0;
      });
      if (count > 0) return element;
    }
    if (performance.now() >= end)
      throw new StepFailed(`${addressOf(page)} has no visible element that matches the selector within ${stepMs / 1000} s.`);
    await wait(SEARCH_MS);
  }
}

/** Waits until the document is loaded and its network is idle. A page that never is goes on with the next step. */
async function becomeQuiet(page: Page, stepMs: number): Promise<void> {
  await page.waitForLoadState('load', { timeout: stepMs }).catch(() => undefined);
  await page.waitForLoadState('networkidle', { timeout: QUIET_MS }).catch(() => undefined);
}

/** Explains the failure of a step. The text of Playwright's errors is not used: it may contain the value that was typed. */
function whyNot(page: Page, error: unknown, stepMs: number): string {
  if (error instanceof StepFailed) return error.message;
  return error instanceof Error && error.name === 'TimeoutError'
    ? `the element in ${addressOf(page)} is covered, disabled or moving for ${stepMs / 1000} s.`
    : `${addressOf(page)} was replaced or does not allow it.`;
}

/** The address of the page without its query, which may contain tokens. */
function addressOf(page: Page): string {
  const { origin, pathname } = new URL(page.url());
  return origin === 'null' ? 'the page' : origin + pathname;
}

/** Whether the document shows a marker, at once or after a while. */
async function isShown({ cdp, frame, page }: StepTab, marker: Marker, stepMs: number): Promise<boolean> {
  await becomeQuiet(page, stepMs);
  return evaluate<boolean>(await isolatedWorldOf(cdp, frame.id), `curbcut.shows(${JSON.stringify(marker)}, ${stepMs})`);
}

async function readStorage({ cdp, frame }: StepTab): Promise<OriginStorage | null> {
  // The document may be replaced at any time; the next step reads the storage again.
  const json = await isolatedWorldOf(cdp, frame.id)
    .then((world) => evaluate<string | null>(world, 'curbcut.storage()'))
    .catch(() => null);
  return json === null ? null : (JSON.parse(json) as OriginStorage);
}
