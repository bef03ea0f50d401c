/**
 * A result is what two looks agree on. A page is looked at again some seconds after its test, by its own clock, while other pages are
 * worked on. If a visitor perceives something else by then, it is tested again, and the last look counts.
 */
import type { PageCaveat, PageFailureReason } from '../../../report/schema/page.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import type { TestedDocument } from '../axe/test-document.ts';
import { evaluate, EvaluationFailed, type IsolatedWorld } from '../scripts/source.ts';
import { addressesOf, type WaitOutcomes } from '../../crawl/wait-history.ts';
import type { WrongPage } from '../../crawl/page-checks.ts';
import { checkBlockedNavigation } from './displayed-page.ts';
import { NOT_QUIET, OUT_OF_TIME, requestCaveats, STILL_BUSY, TIMER_PENDING } from './caveats.ts';
import { type ArrivalDeps, type Arrival, isKnown, isOver, recordWait, REQUEST_MS } from './settling.ts';
import type { PageFacts, VisitClock, VisitRequest } from './visit.ts';

/** A page as one look found it. */
export interface Look {
  finalUrl: string;
  facts: PageFacts;
  /** Null: only its links are needed. */
  tested: TestedDocument | null;
  /** The tested documents in its frames. */
  frames: readonly IsolatedWorld[];
  /** What kept it from being the page that visitors use, and what axe-core could not test. */
  caveats: PageCaveat[];
  /** In milliseconds. */
  tookMs: number;
}

/** A page that is not the one to test. */
export interface WrongLook {
  wrong: WrongPage;
  finalUrl: string;
}

/** The time between two looks, in milliseconds. */
export const REST_MS = 3000;
/** How much longer it is where someone may send to the page, or a timer is left. */
const LONGER = 4 / 3;
/** The time in which a page whose second look is left out becomes quiet after its test, in milliseconds. */
const SHORT_REST_MS = 100;
/** The time limit of a frame, in milliseconds. */
const FRAME_MS = 5000;
/** What must be left of the page's time when it is looked at again: the time of its last look, times this. */
const RESERVE = 1.5;
/** The looks at a page that keeps changing. */
const LOOKS_MAX = 3;

interface LookingAgain {
  arrival: Arrival;
  first: Look;
  clock: VisitClock;
  outcomes: WaitOutcomes;
  look: () => Promise<Look | WrongLook>;
}

/** What a page may turn out to be at a later look. Otherwise what it displayed until then is the result. */
const ENDS: readonly PageFailureReason[] = ['sign_in_page', 'sign_in_lost', 'bot_wall'];

interface LastLook {
  last: Look;
  wrong?: WrongLook;
  /** What the looks could not tell. */
  caveats: PageCaveat[];
  /** The tab must not be used again. */
  broken: boolean;
}

/**
 * Looks at a tested page until two looks agree. A page on which no script ran needs no second look when its files have arrived. On later
 * pages of a template it is left out where nothing is left that could change the page, and pages with the same signals did not change.
 */
export async function lookAgain(deps: ArrivalDeps, request: VisitRequest, looking: LookingAgain): Promise<LastLook> {
  const { frame, traffic, rules } = deps;
  const { arrival, clock, outcomes, look } = looking;
  const { signals, world } = arrival;
  const caveats: PageCaveat[] = [];
  let last = looking.first;
  const pending = async (worlds: readonly IsolatedWorld[]): Promise<number> =>
    Math.max(...(await askAll<number>(deps, worlds, 'curbcut.pends()', clock)).map(Number));
  try {
    const ran = signals.ran || (await askAll<boolean>(deps, [world, ...last.frames], 'curbcut.ranScripts()', clock)).includes(true);
    const pends = ran ? await pending([world, ...last.frames]) : 0;
    let skips = pends === 0 && outstanding(deps).length === 0 && isKnown(request.plan, 'look', signals);
    for (let looks = 1; ran || outstanding(deps).length > 0; looks++) {
      const restMs = !ran ? 0 : skips ? SHORT_REST_MS : signals.connected || pends > 1 ? LONGER * rules.restMs : rules.restMs;
      const hadTime = await rest(deps, request, { world, clock, ms: restMs, reserveMs: RESERVE * last.tookMs });
      const changed = await askAll<boolean>(deps, [world, ...last.frames], 'curbcut.still(1000).then(curbcut.hasChanged)', clock);
      if (!hadTime) caveats.push(OUT_OF_TIME);
      const left = checkBlockedNavigation(deps, request);
      if (left !== null) return { last, caveats, wrong: { wrong: left, finalUrl: frame.shown.url }, broken: false };
      const isSame = isOver(deps) || (frame.shown.url === last.finalUrl && changed.every((answer) => answer === false));
      if (!skips && hadTime && !isOver(deps)) recordWait(outcomes, 'look', signals, !isSame);
      if (isSame || !hadTime) break;
      skips = false;
      if (looks === LOOKS_MAX) {
        caveats.push(NOT_QUIET);
        break;
      }
      const next = await look();
      if ('wrong' in next && ENDS.includes(next.wrong.reason)) return { last, caveats, wrong: next, broken: false };
      if ('wrong' in next) caveats.push(NOT_QUIET);
      if ('wrong' in next) break;
      last = next;
    }
    const still = ran ? await pending([world, ...last.frames]) : 0;
    if (still > 1) caveats.push(still > 2 ? STILL_BUSY : TIMER_PENDING);
    const leftOpen = traffic.requests.openData(REQUEST_MS).map(({ url }) => url);
    outcomes.leftOpen.push(...addressesOf(leftOpen));
    return {
      last,
      caveats: [...caveats, ...requestCaveats([...outstanding(deps), ...leftOpen], traffic.requests.blocked())],
      broken: false,
    };
  } catch (error) {
    if (!(error instanceof TimeLimitExceeded || error instanceof EvaluationFailed) && frame.lost() === null) throw error;
    return { last, caveats: [...caveats, STILL_BUSY], broken: true };
  }
}

/** Waits for a page that shows nothing yet. */
export async function restOnce(
  deps: ArrivalDeps,
  request: VisitRequest,
  { world, clock }: { world: IsolatedWorld; clock: VisitClock },
): Promise<void> {
  await rest(deps, request, { world, clock, ms: LONGER * deps.rules.restMs, reserveMs: clock.left() / 2 });
}

interface Rest {
  world: IsolatedWorld;
  clock: VisitClock;
  ms: number;
  /** What must be left of the page's time. */
  reserveMs: number;
}

/** Waits for a time by the page's own clock, and for what it has requested. @returns false if the page's time is over before that */
async function rest(deps: ArrivalDeps, request: VisitRequest, { world, clock, ms, reserveMs }: Rest): Promise<boolean> {
  const limitMs = Math.max(0, clock.left() - reserveMs);
  request.onWaiting?.('rest');
  try {
    const turns = (forMs: number): Promise<boolean> =>
      deps.frame.whileAlive(evaluate<boolean>(world, `curbcut.rest(${forMs}, ${Math.floor(limitMs)})`), clock.left(), 'looking again');
    const hadTime = await turns(ms);
    const arrived = (): boolean => isOver(deps) || outstanding(deps).length === 0;
    if (hadTime && !arrived() && (await deps.changes.waitFor(arrived, Math.min(REQUEST_MS, clock.left() - reserveMs))))
      await turns(SHORT_REST_MS);
    return hadTime;
  } finally {
    request.onWaiting?.(null);
  }
}

/** The addresses of what has not arrived. */
const outstanding = ({ traffic }: ArrivalDeps): string[] => traffic.requests.outstanding().map(({ url }) => url);

/** Evaluates an expression in documents; null for a frame that was removed, was replaced or does not answer. */
export function askAll<T>(
  { frame }: ArrivalDeps,
  [top, ...frames]: readonly IsolatedWorld[],
  expression: string,
  clock: VisitClock,
): Promise<(T | null)[]> {
  const ask = (world: IsolatedWorld): Promise<T> => frame.whileAlive(evaluate<T>(world, expression), clock.left(), 'looking again');
  const inFrame = (world: IsolatedWorld): Promise<T | null> =>
    withTimeLimit(ask(world), Math.min(FRAME_MS, clock.left()), 'looking again').catch((error: unknown) => {
      if (error instanceof EvaluationFailed || error instanceof TimeLimitExceeded) return null;
      throw error;
    });
  return Promise.all([ask(top!), ...frames.map(inFrame)]);
}
