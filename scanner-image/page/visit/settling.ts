/** Waits until a loaded document seems at rest for its first look, and has shown what it shows when it is scrolled. */
import type { Cdp } from '../browser/cdp.ts';
import type { PageCaveat } from '../../../report/schema/page.ts';
import { evaluate, isolatedWorldOf, type IsolatedWorld } from '../scripts/source.ts';
import type { Wait, WaitOutcomes, WaitPlan } from '../../crawl/wait-history.ts';
import { TimeLimitExceeded } from '../../../platform/time-limits.ts';
import { HANGS_ON_SCROLL, notScrolled, viewOnly, waitForMissing, WAIT_SKIPPED, withoutQuery } from './caveats.ts';
import { type ConditionVariable, HungOnScroll, type VisitClock } from './visit.ts';
import type { MainFrame } from './main-frame.ts';
import type { Traffic } from './traffic.ts';

/** How the pages of a scan are waited for. */
export interface SettleRules {
  /** A selector: a page is tested when an element matches it. Empty: no wait. */
  waitFor: string;
  /** An additional wait on every page, in milliseconds. */
  settleMs: number;
  /** The time between two looks at a page, in milliseconds of a machine that is not slow. */
  restMs: number;
}

export interface ArrivalDeps {
  cdp: Cdp;
  frame: MainFrame;
  traffic: Traffic;
  changes: ConditionVariable;
  rules: SettleRules;
}

export interface Waits {
  plan: WaitPlan;
  outcomes: WaitOutcomes;
}

/** What may change a page after its first look: the scripts that ran on it, what they observe, and who sends to them. */
interface Signals {
  /** Scripts ran. Nothing else changes a page whose files have arrived. */
  ran: boolean;
  /** Names the scripts and what they observe. Pages of a template with the same key behave alike, as far as one can tell. */
  key: string;
  /** Workers and open connections send whenever they like, so the second look at such a page is never left out. */
  connected: boolean;
}

const NO_SIGNALS: Signals = { ran: false, key: '', connected: false };

/** A page that is ready for its test. */
export interface Arrival {
  /** The isolated world. */
  world: IsolatedWorld;
  /** What may be missing on the page. */
  caveats: PageCaveat[];
  signals: Signals;
}

export const isOver = ({ frame, traffic }: Pick<ArrivalDeps, 'frame' | 'traffic'>): boolean =>
  frame.lost() !== null || traffic.stopped() !== null;

/** The time without changes after which a document with scripts counts as quiet, in milliseconds. */
export const QUIET_MS = 50;
/** A request that is open longer than this is a long poll or a dead host. The visit does not wait for it any longer. */
export const REQUEST_MS = 5000;
/** The limit for becoming quiet, without the time of requests, in milliseconds. */
const SETTLE_MS = 5000;
/** The limit for becoming quiet, with the time of requests, in milliseconds; and its share of the remaining time. */
const SETTLE_MAX_MS = 15_000;
const SETTLE_SHARE = 0.5;
/** The time that a document with a refresh of zero seconds gets to redirect. After that it is tested. */
const REDIRECT_MS = 2000;
/** The limits for the element of `waitFor`, in milliseconds: in general, and on templates where it was missing. */
const WAIT_FOR_MS = 10_000;
const MISSING_WAIT_FOR_MS = 2000;
/** The number of screens through which a page is scrolled. */
const SCREENS_MAX = 40;
/** The number of times that a page is scrolled, because it became longer. */
const SCROLLS_MAX = 2;
/** The share of the remaining time that scrolling may take. A page that hangs is visited again in the rest. */
const SCROLL_SHARE = 0.4;

/**
 * The pointer of a headless browser begins at 0, 0 in each new process, so that the first page of a tab would be tested with a hovered
 * corner. Beside the page and not above it, where some pages expect a visitor who leaves.
 */
const NOWHERE = { type: 'mouseMoved', x: -1, y: 300 } as const;

/** The result of `curbcut.settle`. */
export interface Settled {
  redirects: boolean;
  found: boolean;
  scrolls: boolean;
  workers: boolean;
  matched: boolean | string;
  ran: boolean;
  scripts: (string | number)[];
}

interface Waiting extends ArrivalDeps, Waits {
  clock: VisitClock;
  world: IsolatedWorld;
  /** The time until which the document may become quiet, in milliseconds of `performance.now()`. Requests that it waits for move it. */
  end: number;
  /** The time that is not moved. */
  latest: number;
}

/** Waits until the document does not change and its scripts wait for no data. */
export async function settle(deps: ArrivalDeps & Waits, clock: VisitClock): Promise<Arrival> {
  const { cdp, frame, rules, plan } = deps;
  const preparing = Promise.all([isolatedWorldOf(cdp, frame.id), cdp.send('Input.dispatchMouseEvent', NOWHERE)]);
  const [world] = await frame.whileAlive(preparing, clock.left(), 'creating the isolated world');
  const latest = performance.now() + Math.min(SETTLE_MAX_MS, clock.left() * SETTLE_SHARE);
  const waiting: Waiting = { ...deps, clock, world, end: Math.min(latest, performance.now() + SETTLE_MS), latest };
  const first = await waitForElement(waiting);
  const settled = await waitUntilQuiet(waiting, first);
  const signals = settled === null ? NO_SIGNALS : signalsOf(waiting, settled);
  if (settled === null) return { world, caveats: [], signals };
  const skips = settled.scrolls && isKnown(plan, 'scroll', signals);
  const scrolled = settled.scrolls && !skips ? await scrollThrough(waiting, signals) : NOT_SCROLLED;
  const caveats: PageCaveat[] = skips ? [WAIT_SKIPPED] : [];
  if (plan.hangsOnScroll) caveats.push(HANGS_ON_SCROLL);
  if (!scrolled.complete) caveats.push(notScrolled(SCREENS_MAX));
  if (scrolled.viewOnly > 0) caveats.push(viewOnly(scrolled.viewOnly));
  if (rules.waitFor !== '' && first?.matched !== true) caveats.push(waitForMissing(rules.waitFor, first?.matched ?? false));
  return { world, caveats, signals };
}

function signalsOf({ traffic }: Waiting, { ran, scripts, scrolls, workers }: Settled): Signals {
  const names = [
    ...new Set([...scripts.map((name) => (typeof name === 'number' ? String(name) : withoutQuery(name))), ...traffic.requests.scripts()]),
  ];
  return { ran, key: [...names.sort(), scrolls].join(' '), connected: workers || traffic.requests.connected() };
}

/** Whether pages of the template with the same signals were scrolled, or looked at twice, and showed nothing more. */
export const isKnown = ({ useless }: WaitPlan, wait: Wait, { key, connected }: Signals): boolean =>
  !connected && useless.has(`${wait} ${key}`);

export function recordWait(outcomes: WaitOutcomes, wait: Wait, { key }: Signals, found: boolean): void {
  outcomes.waits.push({ key: `${wait} ${key}`, found });
}

const isLeaving = ({ frame, traffic }: Waiting): boolean => frame.lost() !== null || traffic.leaving();

/** Calls `curbcut.settle`. */
async function settleOnce(waiting: Waiting, more: { settleMs?: number; waitFor?: string; waitForMs?: number } = {}): Promise<Settled> {
  const { frame, traffic, clock, world, end } = waiting;
  const refresh = parseFloat(traffic.answer()?.headers.refresh ?? '');
  const options = {
    quietMs: QUIET_MS,
    capMs: Math.max(0, end - performance.now()) + Math.max(more.settleMs ?? 0, more.waitForMs ?? 0),
    refresh: Number.isNaN(refresh) ? null : refresh,
    ...more,
  };
  const call = evaluate<string>(world, `curbcut.settle(${JSON.stringify(options)})`);
  return JSON.parse(await frame.whileAlive(call, clock.left(), 'settling')) as Settled;
}

/** The first wait, which the caller of the scan has asked for. */
async function waitForElement(waiting: Waiting): Promise<Settled | null> {
  const { rules, clock, plan, outcomes } = waiting;
  if (rules.waitFor === '' && rules.settleMs === 0) return null;
  const third = clock.left() / 3;
  const waitForMs = rules.waitFor === '' ? 0 : Math.min(plan.lacksElement ? MISSING_WAIT_FOR_MS : WAIT_FOR_MS, third);
  const began = performance.now();
  const settled = await settleOnce(waiting, { settleMs: Math.min(rules.settleMs, third), waitFor: rules.waitFor, waitForMs });
  postpone(waiting, performance.now() - began);
  if (rules.waitFor !== '') outcomes.matched = settled.matched === true;
  return settled;
}

/** Moves the end by a wait that does not count. */
function postpone(waiting: Waiting, ms: number): void {
  waiting.end = Math.min(waiting.latest, waiting.end + ms);
}

/** @returns null if the page redirects or leaves */
async function waitUntilQuiet(waiting: Waiting, first: Settled | null = null): Promise<Settled | null> {
  const { changes, frame, traffic } = waiting;
  const isPending = (): boolean => traffic.requests.pending(REQUEST_MS) > 0;
  for (let settled = first ?? (await settleOnce(waiting)); ; settled = await settleOnce(waiting)) {
    if (settled.redirects) {
      const { documents } = frame.shown;
      await changes.waitFor(() => isOver(waiting) || traffic.leaving() || frame.shown.documents > documents, REDIRECT_MS);
      return null;
    }
    if (isLeaving(waiting)) return null;
    if (!isPending() || performance.now() >= waiting.end) return settled;
    const began = performance.now();
    await changes.waitFor(() => isLeaving(waiting) || !isPending(), Math.min(waiting.latest - began, REQUEST_MS));
    postpone(waiting, performance.now() - began);
  }
}

/** Becomes quiet again after the page was given a reason to change. */
function settleAgain(waiting: Waiting): Promise<Settled | null> {
  waiting.end = Math.min(waiting.latest, performance.now() + SETTLE_MS);
  return waitUntilQuiet(waiting);
}

interface Scrolled {
  /** False if the page became longer all the time. */
  complete: boolean;
  /** The number of elements that were visible only while the page was scrolled. */
  viewOnly: number;
}

const NOT_SCROLLED: Scrolled = { complete: true, viewOnly: 0 };

/** Scrolls through a page that shows content when it is scrolled. */
async function scrollThrough(waiting: Waiting, signals: Signals): Promise<Scrolled> {
  const { plan, outcomes, world, frame, clock } = waiting;
  if (plan.hangsOnScroll || isLeaving(waiting)) return NOT_SCROLLED;
  await frame.whileAlive(evaluate(world, 'curbcut.remember()'), clock.left(), 'reading the page');
  let found = false;
  waiting.latest = performance.now() + Math.min(SETTLE_MAX_MS, clock.left() * SETTLE_SHARE);
  let after: Settled | null = null;
  let reached = false;
  for (let times = 0; times <= SCROLLS_MAX; times++) {
    const scroll = `curbcut.scrollThrough(${times < SCROLLS_MAX ? SCREENS_MAX : 0}, ${times > 0})`;
    const end = await frame
      .whileAlive(evaluate<boolean | null>(world, scroll), clock.left() * SCROLL_SHARE, 'scrolling')
      .catch((error: unknown) => {
        throw error instanceof TimeLimitExceeded ? new HungOnScroll(error.limitMs) : error;
      });
    // The page has not become longer.
    if (end === null) break;
    reached = end;
    if (times === SCROLLS_MAX) break;
    after = await settleAgain(waiting);
    found ||= after?.found === true;
    if (after === null || !after.found) break;
  }
  const counting = isLeaving(waiting) ? 0 : evaluate<number>(world, 'curbcut.viewOnly()');
  const shownOnly = await frame.whileAlive(Promise.resolve(counting), clock.left(), 'reading the page');
  recordWait(outcomes, 'scroll', signals, found || shownOnly > 0);
  return { complete: reached || after?.found !== true, viewOnly: shownOnly };
}
