/** Waits until the document of a tab is loaded and quiet, follows redirects by scripts and meta refresh, then blocks navigation. */
import { TimeLimitExceeded } from '../../platform/time-limits.ts';
import { EvaluationFailed } from '../axe/world.ts';
import { requestCaveats } from './caveats.ts';
import { isOver, settle, type Arrival, type ArrivalDeps } from './settling.ts';
import { VisitEnded, type VisitClock } from './visit.ts';

/** The time that a parsed document gets for what is no script, such as images, in milliseconds. */
const PARTS_MS = 5000;
/** The time that a document gets to finish loading after its navigation was stopped. */
const KEPT_MS = 1000;
/** The time to wait for the next document after a script of ours failed. */
const REPLACED_MS = 500;
/** A request that was sent only now is not reported as unanswered. */
const UNANSWERED_MS = 500;
/** The share of the budget that loading may take. */
const LOAD_SHARE = 0.6;
const MAX_HOPS = 8;

/**
 * Waits until the document is loaded and quiet, follows every redirect that it starts, then blocks navigation.
 * @throws VisitEnded, TimeLimitExceeded, EvaluationFailed
 */
export async function arrive(deps: ArrivalDeps, clock: VisitClock): Promise<Arrival> {
  const { frame, traffic, changes } = deps;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    const unanswered = await waitForLoad(deps, clock);
    const { loaderId } = frame.shown;
    const isLeaving = (): boolean => loaderId !== frame.shown.loaderId || traffic.leaving();
    try {
      const { place, caveats } = await settle(deps, clock);
      if (isLeaving()) continue;
      traffic.hold();
      const open = traffic.requests.openData(UNANSWERED_MS).map(({ url }) => url);
      for (const url of open) deps.rules.hosts.leftOpen(url);
      return { place, caveats: [...requestCaveats([...unanswered, ...open], traffic.requests.blocked()), ...caveats] };
    } catch (error) {
      if (!(error instanceof EvaluationFailed)) throw error;
      // The document was replaced while our script ran in it. The next round waits for the new document.
      const replaced = await changes.waitFor(() => isOver(deps) || isLeaving(), REPLACED_MS);
      if (!replaced) throw error;
    }
  }
  throw new VisitEnded('navigation_failed', `The page keeps redirecting itself (more than ${MAX_HOPS} times).`);
}

/**
 * Waits until the document is loaded. A parsed document gets `PARTS_MS` for its images, fonts and frames.
 * @returns the URLs of its parts that did not arrive
 */
async function waitForLoad(deps: ArrivalDeps, clock: VisitClock): Promise<string[]> {
  const { cdp, frame, traffic, changes, rules } = deps;
  const { shown } = frame;
  const limitMs = Math.max(0, clock.left() * LOAD_SHARE);
  const loaded = (): boolean => isOver(deps) || (shown.loaded && !traffic.leaving()) || traffic.keptAt() !== null;
  const until = Date.now() + limitMs;
  const wait = (holds: () => boolean, ms = limitMs): Promise<boolean> =>
    changes.waitFor(() => loaded() || holds(), Math.max(0, Math.min(ms, until - Date.now())));
  for (let replaced = true; replaced && !loaded() && Date.now() < until;) {
    await wait(() => shown.parsed && !traffic.leaving());
    const { documents } = shown;
    const isReplaced = (): boolean => shown.documents !== documents || traffic.leaving();
    await wait(isReplaced, PARTS_MS);
    // What scripts wait for may take longer than pictures.
    if (!isReplaced()) await wait(() => isReplaced() || traffic.requests.openData(0).length === 0, PARTS_MS);
    replaced = isReplaced();
  }
  if (traffic.keptAt() !== null && !isOver(deps)) {
    await changes.waitFor(() => isOver(deps) || shown.loaded, KEPT_MS);
    shown.parsed = true;
  }
  const lost = frame.lost();
  if (lost !== null) throw new VisitEnded('crashed', lost, true);
  // The caller reports why the traffic was stopped.
  if (traffic.stopped() !== null) throw new VisitEnded('navigation_failed', '');
  if (shown.loaded) return [];
  const unanswered = traffic.requests.open().map(({ url }) => url);
  for (const url of unanswered) rules.hosts.gaveUp(url);
  if (!shown.parsed) throw new TimeLimitExceeded('loading', limitMs);
  // A part of the page never arrives. The rest is tested.
  await cdp.send('Page.stopLoading');
  return unanswered;
}
