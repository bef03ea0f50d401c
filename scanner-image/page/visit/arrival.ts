/** Waits until the document of a tab is loaded and quiet, follows redirects by scripts and meta refresh, then blocks navigation. */
import { TimeLimitExceeded } from '../../../platform/time-limits.ts';
import { EvaluationFailed } from '../axe/world.ts';
import type { PageCaveat } from '../../../report/schema/schema.ts';
import { withoutQuery } from '../../crawl/wait-history.ts';
import { requestCaveats, stillLoading } from './caveats.ts';
import { isOver, REQUEST_MS, settle, type Arrival, type ArrivalDeps, type Waits } from './settling.ts';
import { VisitEnded, type VisitClock } from './visit.ts';

/** The time that a parsed document gets for what is no script, such as images, in milliseconds. */
const PARTS_MS = 5000;
/** The time that a document gets to finish loading after its navigation was stopped. */
const KEPT_MS = 1000;
/** The time to wait for the next document after a script of ours failed. */
const REPLACED_MS = 500;
/** The time that the browser gets to request a document for which the page has asked. It may never do so. */
const ANNOUNCED_MS = 1000;
/** The share of the budget that loading may take. The rest is enough to test what is there. */
const LOAD_SHARE = 0.6;
export const MAX_HOPS = 8;
export const KEEPS_REDIRECTING = {
  reason: 'navigation_failed',
  message: `The page keeps redirecting itself (more than ${MAX_HOPS} times).`,
} as const;

type Arriving = ArrivalDeps & Waits;

const addressesOf = (urls: readonly string[]): string[] => [...new Set(urls.flatMap((url) => withoutQuery(url) ?? []))].sort();

/**
 * Waits until the document is loaded and quiet, follows every redirect that it starts, then blocks navigation.
 * @throws VisitEnded, TimeLimitExceeded, EvaluationFailed
 */
export async function arrive(deps: Arriving, clock: VisitClock): Promise<Arrival> {
  const { frame, traffic, changes, outcomes } = deps;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    const late = await waitForLoad(deps, clock);
    const { loaderId } = frame.shown;
    const isLeaving = (): boolean => loaderId !== frame.shown.loaderId || traffic.leaving();
    try {
      const { world, caveats, cutOff } = await settle(deps, clock);
      // The browser requests a document shortly after the page has asked for it.
      if (traffic.announced()) await changes.waitFor(() => isOver(deps) || isLeaving() || !traffic.announced(), ANNOUNCED_MS);
      if (isLeaving()) continue;
      traffic.hold();
      const open = traffic.requests.openData(REQUEST_MS).map(({ url }) => url);
      outcomes.leftOpen.push(...addressesOf(open));
      const unanswered = [...new Set([...open, ...cutOff])];
      return { world, caveats: [...late, ...requestCaveats(unanswered, traffic.requests.blocked()), ...caveats] };
    } catch (error) {
      if (!(error instanceof EvaluationFailed)) throw error;
      // The document was replaced while our script ran in it. The next round waits for the new document.
      const replaced = await changes.waitFor(() => isOver(deps) || isLeaving(), REPLACED_MS);
      if (!replaced) throw error;
    }
  }
  throw new VisitEnded(KEEPS_REDIRECTING.reason, KEEPS_REDIRECTING.message);
}

/**
 * Waits until the document is loaded. A parsed document gets `PARTS_MS` for its images, fonts and frames. One that keeps
 * loading is stopped, and what is there is tested.
 * @returns the caveat of a document that was stopped
 */
async function waitForLoad(deps: Arriving, clock: VisitClock): Promise<PageCaveat[]> {
  const { cdp, frame, traffic, changes, outcomes } = deps;
  const { shown } = frame;
  const limitMs = Math.max(0, clock.left() * LOAD_SHARE);
  const loaded = (): boolean => isOver(deps) || (shown.loaded && !traffic.leaving()) || traffic.kept();
  const until = performance.now() + limitMs;
  const wait = (holds: () => boolean, ms = limitMs): Promise<boolean> =>
    changes.waitFor(() => loaded() || holds(), Math.max(0, Math.min(ms, until - performance.now())));
  for (let replaced = true; replaced && !loaded() && performance.now() < until;) {
    await wait(() => shown.parsed && !traffic.leaving());
    if (traffic.requests.overloaded()) break;
    const { documents } = shown;
    const isReplaced = (): boolean => shown.documents !== documents || traffic.leaving();
    await wait(isReplaced, PARTS_MS);
    // What scripts wait for may take longer than pictures.
    if (!isReplaced()) await wait(() => isReplaced() || traffic.requests.openData(0).length === 0, REQUEST_MS);
    replaced = isReplaced();
  }
  if (traffic.kept() && !isOver(deps)) {
    await changes.waitFor(() => isOver(deps) || shown.loaded, KEPT_MS);
    shown.parsed = true;
  }
  const lost = frame.lost();
  if (lost !== null) throw new VisitEnded('crashed', lost, true);
  // The caller reports why the traffic was stopped.
  if (traffic.stopped() !== null) throw new VisitEnded('navigation_failed', '');
  if (shown.loaded) return [];
  const unanswered = traffic.requests.open().map(({ url }) => url);
  outcomes.unanswered.push(...addressesOf(unanswered));
  // The parser waits for a script, so that there is nothing to test yet.
  if (!shown.parsed && (shown.documents === 0 || traffic.requests.holdParser())) throw new TimeLimitExceeded('loading', limitMs);
  // It fails if the document is being replaced, which then counts as a redirect.
  await cdp.send('Page.stopLoading').catch(() => undefined);
  return [stillLoading(unanswered)];
}
