/** The steps of a sign-in, in a page that Playwright drives: it waits for elements and acts on them. */
import type { Locator, Page } from 'playwright-core';
import { errorMessage } from '../../platform/errors.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';
import { describeMarker, kindOfStep, type Marker } from '../../core/scan/sign-in.ts';
import { evaluate, placeOf } from '../axe/world.ts';
import type { ReadyStep, SignIn } from '../sign-in.ts';
import type { ArrivalDeps } from './settling.ts';
import { clearState, readCookies, setCookies, type OriginStorage, type SessionState } from './session-state.ts';

export interface SignInRequest {
  signIn: Pick<SignIn, 'steps' | 'marker' | 'origins'>;
  /** The URL that relative URLs of steps refer to. */
  base: URL;
  /** The state before the first step. */
  state: SessionState;
  /** The time limit of all steps, in milliseconds. */
  budgetMs: number;
  /** The time limit of one step, in milliseconds. */
  stepMs: number;
}

/** The state that the steps lead to, or a sentence that names the step that failed, and no secret. */
export type SignedIn = { ok: true; state: SessionState } | { ok: false; message: string };

/** The parts of a tab that signing in uses. */
export interface StepTab extends Pick<ArrivalDeps, 'cdp' | 'frame' | 'traffic'> {
  page: Page;
}

/** The usual time limit of one step, in milliseconds. */
export const STEP_MS = 15_000;
/** The time that a page gets to become quiet after it was opened or clicked, in milliseconds. Scripts attach their handlers in it. */
const QUIET_MS = 3000;

/** Runs the steps and reads the state that they lead to. */
export async function runSteps(tab: StepTab, request: SignInRequest): Promise<SignedIn> {
  const over = new AbortController();
  try {
    return await withTimeLimit(signIn(tab, request, over.signal), request.budgetMs, 'the sign-in');
  } catch (error) {
    return { ok: false, message: `The sign-in failed: ${errorMessage(error)}.` };
  } finally {
    over.abort();
    tab.traffic.hold();
  }
}

/** @param over aborted when the time is over: the steps that are left must not run */
async function signIn(tab: StepTab, request: SignInRequest, over: AbortSignal): Promise<SignedIn> {
  const { base, state, stepMs } = request;
  const { steps, marker, origins } = request.signIn;
  const storage = new Map<string, OriginStorage>();
  await clearState(tab.cdp);
  await setCookies(tab.cdp, state);
  tab.traffic.begin(() => null);
  for (const [index, ready] of steps.entries()) {
    over.throwIfAborted();
    const failure = await runStep(tab, ready, { base, origins, stepMs });
    if (failure !== null)
      return { ok: false, message: `Step ${index + 1} of ${steps.length} of the sign-in (${ready.description}) failed: ${failure}` };
    const stored = await readStorage(tab);
    if (stored !== null) storage.set(stored.origin, stored);
  }
  if (marker !== null && !(await isShown(tab, marker, stepMs)))
    return {
      ok: false,
      message: `The steps of the sign-in succeeded, but then ${addressOf(tab.page)} does not show its marker, ${describeMarker(marker)}.`,
    };
  return { ok: true, state: { cookies: await readCookies(tab.cdp), storage: [...storage.values()] } };
}

interface StepContext {
  base: URL;
  origins: readonly string[];
  stepMs: number;
}

/** @returns why the step failed, as a sentence, or null */
async function runStep(tab: StepTab, ready: ReadyStep, { base, origins, stepMs }: StepContext): Promise<string | null> {
  const { page, traffic } = tab;
  const { step, value = '' } = ready;
  const kind = kindOfStep(step);
  try {
    switch (kind) {
      case 'goto':
        await page.goto(new URL(step.goto ?? '', base).href, { waitUntil: 'domcontentloaded', timeout: stepMs });
        await becomeQuiet(page, stepMs);
        break;
      case 'click':
        await visible(page, step.click).click({ timeout: stepMs });
        await becomeQuiet(page, stepMs);
        break;
      case 'waitFor':
        await visible(page, step.waitFor).waitFor({ timeout: stepMs });
        break;
      case 'fill': {
        const field = await visible(page, step.fill?.selector).elementHandle({ timeout: stepMs });
        // The element belongs to the document of this URL: if the document is replaced, the element cannot be filled.
        const { origin } = new URL(page.url());
        if (!origins.includes(origin)) return `the page is at ${origin}, and the value may be typed only at ${origins.join(', ')}.`;
        await field?.fill(value, { timeout: stepMs });
        break;
      }
      case 'assert':
        if (!(await isShown(tab, step.assert ?? {}, stepMs))) return `${addressOf(page)} does not show it.`;
        break;
    }
  } catch (error) {
    return traffic.stopped()?.message ?? (await whyNot(page, ready, { error, stepMs }));
  }
  return traffic.stopped()?.message ?? null;
}

const visible = (page: Page, selector = ''): Locator => page.locator(`css=${selector}`).filter({ visible: true }).first();

/** Waits until the document is loaded and its network is idle. A page that never is goes on with the next step. */
async function becomeQuiet(page: Page, stepMs: number): Promise<void> {
  await page.waitForLoadState('load', { timeout: stepMs }).catch(() => undefined);
  await page.waitForLoadState('networkidle', { timeout: QUIET_MS }).catch(() => undefined);
}

/** Explains the failure of an action. The text of the error is not used: it may contain the value that was typed. */
async function whyNot(page: Page, { step }: ReadyStep, { error, stepMs }: { error: unknown; stepMs: number }): Promise<string> {
  const seconds = stepMs / 1000;
  if (step.goto !== undefined) return `the page did not load within ${seconds} s.`;
  const selector = step.fill?.selector ?? step.click ?? step.waitFor ?? '';
  if (!(error instanceof Error) || error.name !== 'TimeoutError') {
    const valid = await page
      .locator(`css=${selector}`)
      .count()
      .then(
        () => true,
        () => false,
      );
    return valid ? `${addressOf(page)} was replaced or does not allow it.` : 'the selector is not valid CSS.';
  }
  const matches = await visible(page, selector)
    .count()
    .catch(() => 0);
  return matches === 0
    ? `${addressOf(page)} has no visible element that matches the selector within ${seconds} s.`
    : `the element in ${addressOf(page)} is covered, disabled or moving for ${seconds} s.`;
}

/** The address of the page without its query, which may contain tokens. */
function addressOf(page: Page): string {
  const { origin, pathname } = new URL(page.url());
  return origin === 'null' ? 'the page' : origin + pathname;
}

/** Whether the document shows a marker, at once or after a while. */
async function isShown({ cdp, frame, page }: StepTab, marker: Marker, stepMs: number): Promise<boolean> {
  await becomeQuiet(page, stepMs);
  return evaluate<boolean>(await placeOf(cdp, frame.id), `curbcut.shows(${JSON.stringify(marker)}, ${stepMs})`);
}

async function readStorage({ cdp, frame }: StepTab): Promise<OriginStorage | null> {
  // The document may be replaced at any time; the next step reads the storage again.
  const json = await placeOf(cdp, frame.id)
    .then((place) => evaluate<string | null>(place, 'curbcut.storage()'))
    .catch(() => null);
  return json === null ? null : (JSON.parse(json) as OriginStorage);
}
