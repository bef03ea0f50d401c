/** Waits until a loaded document is quiet and shows its content, for as long as waiting has found something on its template. */
import type { Cdp } from './cdp.ts';
import type { PageCaveat } from '../../core/report/schema.ts';
import { evaluate, placeOf, type Place } from '../axe/world.ts';
import { templateOf } from '../crawl/template.ts';
import { TimeLimitExceeded } from '../../platform/time-limits.ts';
import { HANGS_ON_SCROLL, notQuiet, notScrolled, waitForMissing } from './caveats.ts';
import type { ConditionVariable } from './condition-variable.ts';
import type { MainFrame } from './main-frame.ts';
import type { Patience, WaitPlan } from './patience.ts';
import type { SilentHosts } from './silent-hosts.ts';
import type { Traffic } from './traffic.ts';
import { HungOnScroll, type VisitClock } from './visit.ts';

/** How the pages of a scan are waited for. One object serves all tabs of a scan. */
export interface SettleRules {
  /** A selector: a page is tested when an element matches it. Empty: no wait. */
  waitFor: string;
  /** An additional wait on every page, in milliseconds. */
  settleMs: number;
  patience: Patience;
  hosts: SilentHosts;
}

export interface ArrivalDeps {
  cdp: Cdp;
  frame: MainFrame;
  traffic: Traffic;
  changes: ConditionVariable;
  rules: SettleRules;
  /** False: the page stops responding when it is scrolled. */
  scroll?: false;
}

/** A page that is ready for its test. */
export interface Arrival {
  /** The world in which our scripts run. */
  place: Place;
  /** What may be missing on the page. */
  caveats: PageCaveat[];
}

export const isOver = ({ frame, traffic }: Pick<ArrivalDeps, 'frame' | 'traffic'>): boolean =>
  frame.lost() !== null || traffic.stopped() !== null;

/** The time without changes after which a document with scripts counts as quiet, in milliseconds. */
const QUIET_MS = 50;
/** A request that is open longer than this, and longer than the page took to load, is a long poll or a dead host. The visit does not wait for it any longer. */
const REQUEST_WAIT_MS = 1500;
/** The time that a document with a refresh of zero seconds gets to redirect. After that it is tested. */
const REDIRECT_MS = 2000;
/** The time to wait for the first message of a WebSocket or an event stream, in milliseconds. */
const MESSAGE_MS = 1000;
/** The number of screens through which a page is scrolled. */
const SCREENS_MAX = 40;
/** The number of times that a page is scrolled, because it became longer. */
const SCROLLS_MAX = 2;
/** The share of the remaining time that scrolling may take. A page that hangs is visited again in the rest. */
const SCROLL_SHARE = 0.4;
/** The time to become quiet after the page was scrolled, or a message arrived, in milliseconds. */
const AFTERWARDS_MS = 1500;

/** The result of `curbcut.settle`. */
interface Settled {
  redirects: boolean;
  waited: number[];
  found: boolean;
  quiet: boolean;
  scrolls: boolean;
  matched: boolean | string;
}

interface Waiting extends ArrivalDeps {
  clock: VisitClock;
  place: Place;
  template: string;
  plan: WaitPlan;
  /** The time until which the document may become quiet, in milliseconds since the epoch. */
  end: number;
  /** The age up to which requests of scripts are waited for, in milliseconds. */
  requestMs: number;
}

/** Waits until the document does not change and its scripts wait for no data. */
export async function settle(deps: ArrivalDeps, clock: VisitClock): Promise<Arrival> {
  const { cdp, frame, rules } = deps;
  const loadMs = clock.spent();
  const template = templateOf(new URL(frame.shown.url));
  const plan = rules.patience.plan(template);
  const place = await frame.whileAlive(placeOf(cdp, frame.id), clock.left(), 'creating the isolated world');
  const limitMs = Math.min(Math.max(plan.settleMs, 2 * loadMs), clock.left() / 3);
  const waiting: Waiting = {
    ...deps,
    clock,
    place,
    template,
    plan,
    end: Date.now() + limitMs,
    requestMs: Math.max(REQUEST_WAIT_MS, loadMs),
  };
  const first = await waitForElement(waiting);
  let settled = await becomeQuiet(waiting, first);
  if (settled === null) return { place, caveats: [] };
  settled = (await hearMessages(waiting)) ?? settled;
  const scrolled = await scrollThrough(waiting, settled);
  const caveats: PageCaveat[] = [];
  if (!(scrolled.settled ?? settled).quiet) caveats.push(notQuiet(limitMs));
  if (waiting.scroll === false) caveats.push(HANGS_ON_SCROLL);
  if (!scrolled.complete) caveats.push(notScrolled(SCREENS_MAX));
  if (rules.waitFor !== '' && first?.matched !== true) caveats.push(waitForMissing(rules.waitFor, first?.matched ?? false));
  return { place, caveats };
}

const isLeaving = ({ frame, traffic }: Waiting): boolean => frame.lost() !== null || traffic.leaving();

/** Calls `curbcut.settle`. */
async function settleOnce(waiting: Waiting, more: { settleMs?: number; waitFor?: string; waitForMs?: number } = {}): Promise<Settled> {
  const { frame, traffic, clock, place, plan, end } = waiting;
  const refresh = parseFloat(traffic.answer()?.headers.refresh ?? '');
  const options = {
    quietMs: QUIET_MS,
    capMs: Math.max(0, end - Date.now()) + Math.max(more.settleMs ?? 0, more.waitForMs ?? 0),
    refresh: Number.isNaN(refresh) ? null : refresh,
    horizonMs: plan.horizonMs,
    skip: plan.skip,
    ...more,
  };
  const call = evaluate<string>(place, `curbcut.settle(${JSON.stringify(options)})`);
  return JSON.parse(await frame.whileAlive(call, clock.left(), 'settling')) as Settled;
}

/** The first wait, which the caller of the scan has asked for. */
async function waitForElement(waiting: Waiting): Promise<Settled | null> {
  const { rules, clock, plan, template } = waiting;
  if (rules.waitFor === '' && rules.settleMs === 0) return null;
  const third = clock.left() / 3;
  const waitForMs = rules.waitFor === '' ? 0 : Math.min(plan.waitForMs, third);
  const began = Date.now();
  const settled = await settleOnce(waiting, { settleMs: Math.min(rules.settleMs, third), waitFor: rules.waitFor, waitForMs });
  const ms = Date.now() - began;
  waiting.end += ms;
  if (rules.waitFor !== '') rules.patience.learn(template, { for: 'element', ms, found: settled.matched === true });
  return settled;
}

/** @returns null if the page redirects or leaves */
async function becomeQuiet(waiting: Waiting, first: Settled | null): Promise<Settled | null> {
  const { rules, template, changes, frame, traffic } = waiting;
  const { requests } = traffic;
  const isPending = (): boolean => requests.pending(waiting.requestMs) > 0;
  const began = Date.now();
  const delays = new Set<number>();
  for (let settled = first ?? (await settleOnce(waiting)); ; settled = await settleOnce(waiting)) {
    if (settled.redirects) {
      const { documents } = frame.shown;
      await changes.waitFor(() => isOver(waiting) || traffic.leaving() || frame.shown.documents > documents, REDIRECT_MS);
      return null;
    }
    for (const delay of settled.waited) delays.add(delay);
    if (isLeaving(waiting)) return null;
    if (!isPending() || Date.now() >= waiting.end) {
      const ms = Date.now() - began;
      if (delays.size > 0) rules.patience.learn(template, { for: 'timers', delays: [...delays], ms, found: settled.found });
      if (!settled.quiet) rules.patience.learn(template, { for: 'quiet', ms, found: settled.found });
      return settled;
    }
    await changes.waitFor(() => isLeaving(waiting) || !isPending(), Math.min(waiting.end - Date.now(), REQUEST_WAIT_MS));
  }
}

/** Waits for the first messages of WebSockets and event streams. @returns null if there was nothing to wait for */
async function hearMessages(waiting: Waiting): Promise<Settled | null> {
  const { rules, template, plan, changes, traffic } = waiting;
  const { awaited, received } = traffic.requests.messages();
  if (awaited === 0 || !plan.messages || isLeaving(waiting)) return null;
  const began = Date.now();
  await markContent(waiting);
  const hasAll = (): boolean => traffic.requests.messages().awaited === 0;
  await changes.waitFor(() => isLeaving(waiting) || hasAll(), MESSAGE_MS);
  if (isLeaving(waiting)) return null;
  let settled: Settled | null = null;
  if (traffic.requests.messages().received > received) {
    waiting.end = Math.max(waiting.end, Date.now() + AFTERWARDS_MS);
    settled = await becomeQuiet(waiting, null);
  }
  rules.patience.learn(template, { for: 'messages', ms: Date.now() - began, found: settled?.found ?? false });
  return settled;
}

/** Scrolls through a page that shows content when it is scrolled. `complete` is false if it became longer all the time. */
async function scrollThrough(waiting: Waiting, settled: Settled): Promise<{ settled: Settled | null; complete: boolean }> {
  const { rules, template, plan, place, frame, clock } = waiting;
  if (waiting.scroll === false || !settled.scrolls || !plan.scroll || isLeaving(waiting)) return { settled: null, complete: true };
  const began = Date.now();
  await markContent(waiting);
  let after: Settled | null = null;
  let reached = false;
  for (let times = 0; times <= SCROLLS_MAX; times++) {
    const scroll = `curbcut.scrollThrough(${times < SCROLLS_MAX ? SCREENS_MAX : 0}, ${times > 0})`;
    const end = await frame
      .whileAlive(evaluate<boolean | null>(place, scroll), clock.left() * SCROLL_SHARE, 'scrolling')
      .catch((error: unknown) => {
        throw error instanceof TimeLimitExceeded ? new HungOnScroll(error.limitMs) : error;
      });
    // The page has not become longer.
    if (end === null) break;
    reached = end;
    if (times === SCROLLS_MAX) break;
    waiting.end = Date.now() + Math.min(AFTERWARDS_MS, clock.left() / 4);
    after = await becomeQuiet(waiting, null);
    if (after === null || !after.found) break;
  }
  rules.patience.learn(template, { for: 'scroll', ms: Date.now() - began, found: after?.found ?? false });
  return { settled: after, complete: reached || after?.found !== true };
}

async function markContent({ place, frame, clock }: Waiting): Promise<void> {
  await frame.whileAlive(evaluate(place, 'curbcut.mark()'), clock.left(), 'reading the page');
}
