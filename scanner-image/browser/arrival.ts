/** Waits until the document of a tab is loaded and quiet, follows redirects by scripts and meta refresh, then blocks navigation. */
import type { CDPSession } from 'playwright-core';
import { TimeLimitExceeded } from '../../platform/time-limits.ts';
import { EvaluationFailed, evaluate, placeOf, type Place } from '../axe/world.ts';
import type { ConditionVariable } from './condition-variable.ts';
import type { MainFrame } from './main-frame.ts';
import type { Traffic } from './traffic.ts';
import { VisitEnded, type VisitClock } from './visit.ts';

export interface ArrivalDeps {
  cdp: CDPSession;
  frame: MainFrame;
  traffic: Traffic;
  changes: ConditionVariable;
}

/** The time without changes after which a document with scripts counts as quiet, in milliseconds. */
const QUIET_MS = 50;
/** The limit for becoming quiet, in milliseconds. A page that loads slowly (or a busy machine) gets twice its load time. */
const SETTLE_MS = 3000;
/** A request that is open longer than this, and longer than the page took to load, is a long poll or a dead host. The visit does not wait for it any longer. */
const REQUEST_WAIT_MS = 1500;
/** The time that a document gets to finish loading after its navigation was stopped. */
const KEPT_MS = 1000;
/** The time that a document with a refresh of zero seconds gets to redirect. After that it is tested. */
const REDIRECT_MS = 2000;
/** The time to wait for the next document after a script of ours failed. */
const REPLACED_MS = 500;
/** The share of the budget that loading may take. */
const LOAD_SHARE = 0.6;
const MAX_HOPS = 8;

/**
 * Waits until the document is loaded and quiet, follows every redirect that it starts, then blocks navigation.
 * @returns the world in which our scripts run
 * @throws VisitEnded, TimeLimitExceeded, EvaluationFailed
 */
export async function arrive(deps: ArrivalDeps, clock: VisitClock): Promise<Place> {
  const { frame, traffic, changes } = deps;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    await waitForLoad(deps, clock);
    const { loaderId } = frame.shown;
    const isLeaving = (): boolean => loaderId !== frame.shown.loaderId || traffic.leaving();
    try {
      const place = await settle(deps, clock);
      if (isLeaving()) continue;
      traffic.hold();
      return place;
    } catch (error) {
      if (!(error instanceof EvaluationFailed)) throw error;
      // The document was replaced while our script ran in it. The next round waits for the new document.
      const replaced = await changes.waitFor(() => isOver(deps) || isLeaving(), REPLACED_MS);
      if (!replaced) throw error;
    }
  }
  throw new VisitEnded('navigation_failed', `The page keeps redirecting itself (more than ${MAX_HOPS} times).`);
}

const isOver = ({ frame, traffic }: ArrivalDeps): boolean => frame.lost() !== null || traffic.stopped() !== null;

async function waitForLoad(deps: ArrivalDeps, clock: VisitClock): Promise<void> {
  const { cdp, frame, traffic, changes } = deps;
  const { shown } = frame;
  const limitMs = Math.max(0, clock.left() * LOAD_SHARE);
  await changes.waitFor(() => isOver(deps) || (shown.loaded && !traffic.leaving()) || traffic.keptAt() !== null, limitMs);
  if (traffic.keptAt() !== null && !isOver(deps)) {
    await changes.waitFor(() => isOver(deps) || shown.loaded, KEPT_MS);
    shown.parsed = true;
  }
  const lost = frame.lost();
  if (lost !== null) throw new VisitEnded('crashed', lost, true);
  // The caller reports why the traffic was stopped.
  if (traffic.stopped() !== null) throw new VisitEnded('navigation_failed', '');
  if (!shown.parsed) throw new TimeLimitExceeded('loading', limitMs);
  // A part of the page never arrives. The rest is tested.
  if (!shown.loaded) await cdp.send('Page.stopLoading');
}

/** Waits until the document does not change and its scripts wait for no data. */
async function settle(deps: ArrivalDeps, clock: VisitClock): Promise<Place> {
  const { cdp, frame, traffic, changes } = deps;
  const loadMs = clock.spent();
  const end = Date.now() + Math.min(Math.max(SETTLE_MS, 2 * loadMs), clock.left() / 3);
  const isWaiting = (): boolean => traffic.pending(Math.max(REQUEST_WAIT_MS, loadMs)) > 0;
  const refresh = parseFloat(traffic.answer()?.headers.refresh ?? '');
  const place = await frame.whileAlive(placeOf(cdp, frame.id), clock.left(), 'creating the isolated world');
  for (;;) {
    const cap = Math.max(0, end - Date.now());
    const quiet = `curbcut.settle(${QUIET_MS}, ${cap}, ${Number.isNaN(refresh) ? 'null' : refresh})`;
    const redirects = await frame.whileAlive(evaluate<boolean>(place, quiet), clock.left(), 'settling');
    if (redirects) {
      const { documents } = frame.shown;
      await changes.waitFor(() => isOver(deps) || traffic.leaving() || frame.shown.documents > documents, REDIRECT_MS);
      return place;
    }
    if (traffic.leaving() || !isWaiting() || Date.now() >= end) return place;
    await changes.waitFor(() => frame.lost() !== null || traffic.leaving() || !isWaiting(), Math.min(end - Date.now(), REQUEST_WAIT_MS));
  }
}
