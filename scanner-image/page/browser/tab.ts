/** A browser tab that is reused for many pages: loads a page, waits until it is quiet, blocks navigation and tests it. */
import type { Browser } from 'playwright-core';
import type { PageCaveat } from '../../../report/schema/page.ts';
import { errorMessage } from '../../../platform/errors.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { toPageFindings } from '../axe/results.ts';
import { closedRoots, openClosedRoots, readForeignSheets, readsSheets, unreadSheets } from '../axe/hidden-content.ts';
import { type AxeScript, evaluate, type IsolatedWorld } from '../scripts/source.ts';
import { testDocument } from '../axe/test-document.ts';
import type { WrongPage } from '../../crawl/page-checks.ts';
import type { OriginValue, SignIn } from '../session/sign-in.ts';
import { noOutcomes, type WaitOutcomes } from '../../crawl/wait-history.ts';
import { arrive, KEEPS_REDIRECTING, MAX_HOPS, navigate } from '../visit/load.ts';
import { askAll, type Look, lookAgain, restOnce, type WrongLook } from '../visit/looks.ts';
import { outOfTime, type Stage } from '../visit/caveats.ts';
import type { Cdp } from './cdp.ts';
import {
  budgetFor,
  createConditionVariable,
  type FailedVisit,
  type FrameFacts,
  HungOnScroll,
  type PageFacts,
  startVisitClock,
  type Visit,
  type VisitClock,
  VisitEnded,
  type VisitRequest,
} from '../visit/visit.ts';
import { type Identity, openTarget, type Target } from './target.ts';
import { checkBlockedNavigation, checkDisplayed, missingMarker, redirectCaveats, renderedCaveats } from '../visit/displayed-page.ts';
import { watchMainFrame } from '../visit/main-frame.ts';
import { watchPageFaults, type PageFaults } from '../visit/page-faults.ts';
import { readCookies, type SessionCookie } from '../session/session-state.ts';
import type { ArrivalDeps, SettleRules } from '../visit/settling.ts';
import { runSteps, type StepsRequest, type StepsResult } from '../session/steps.ts';
import { watchTraffic } from '../visit/traffic.ts';
import { type PictureBudget, takePictures } from '../visit/pictures.ts';
import { testOpened } from '../visit/opened.ts';
import { type StateRules, testStates, withStates } from '../visit/states.ts';

export interface TabDeps extends AxeScript {
  identity: Identity;
  /** The script for the page's own world, from `watchSource`. */
  watch: string;
  settling: SettleRules;
  /** Whether all fragments of addresses are routes. */
  hasRoutes: boolean;
  basic?: SignIn['basic'];
  /** Headers of the sign-in, each for its origin only. */
  headers?: readonly OriginValue[];
  /** Masks secrets in findings. */
  redact?: <T>(findings: T) => T;
  /** Null: the scan takes no pictures. */
  pictures: PictureBudget | null;
  /** Absent: no page is tested in states. */
  states?: StateRules;
}

export interface Tab {
  visit(request: VisitRequest): Promise<Visit>;
  /** Runs steps and returns the state that they lead to. */
  runSteps(request: StepsRequest): Promise<StepsResult>;
  /** Whether the tab crashed or was closed, or a frame crashed in it. */
  lost(): boolean;
  /**
   * Frees the memory of the documents of earlier visits, at the cost of 0.1 s. The browser itself keeps them until they take
   * several times as much. Never fails.
   */
  tidy(): Promise<void>;
  /** Closes the tab, even if its page is busy. @throws TimeLimitExceeded if the browser does not close it */
  close(): Promise<void>;
}

const CLOSE_MS = 5000;
/** The time limit for opening a tab, in milliseconds. */
const OPEN_MS = 15_000;
/** The time limit for freeing memory, because the last page may be busy, in milliseconds. */
const TIDY_MS = 2000;
/**
 * A page that is not displayed and quiet after this time counts as waiting for its site, in milliseconds. Most pages are for a
 * moment: a tenth of the time of two cores was idle when nothing was loaded meanwhile.
 */
const WAITING_MS = 50;
/** The maximum delay between the failure of a command because of a lost tab and the event for the loss, in milliseconds. */
const LOST_MS = 300;
/** The limit for reading the cookies after a visit, in milliseconds. */
const COOKIES_MS = 5000;

/** The parts of an open tab that the functions below use. */
interface OpenTab extends ArrivalDeps {
  deps: TabDeps;
  target: Target;
  faults: PageFaults;
}

/**
 * @param scale 1 for a page in which steps click
 * @throws TimeLimitExceeded if the browser does not open a tab
 */
export function openTab(browser: Browser, deps: TabDeps, scale?: number): Promise<Tab> {
  const opening = open(browser, deps, scale);
  return withTimeLimit(opening, OPEN_MS, 'opening a tab').catch((error: unknown) => {
    // A tab that opens later has no user any more.
    void opening.then((tab) => tab.close()).catch(() => undefined);
    throw error;
  });
}

async function open(browser: Browser, deps: TabDeps, scale?: number): Promise<Tab> {
  const target = await openTarget(browser, { identity: deps.identity, scripts: deps, scale });
  const { cdp, page } = target;
  const changes = createConditionVariable();
  const frame = await watchMainFrame(cdp, { changes, onLost: target.onLost, hasRoutes: deps.hasRoutes });
  const { egressFailureOf, basic: signIn, headers, settling: rules } = deps;
  const traffic = await watchTraffic(cdp, frame.id, { changes, egressFailureOf, signIn, headers });
  target.onFrame(traffic.requests.followFrame);
  const faults = await watchPageFaults(cdp, frame.id, egressFailureOf);
  await prepareTab(cdp);
  const tab: OpenTab = { deps, target, cdp, changes, frame, traffic, faults, rules };
  return {
    visit: (request) => (request.session === undefined ? visit(tab, request) : visitInSession(tab, request)),
    runSteps: (request) => runSteps({ page, cdp, frame, traffic }, request),
    lost: () => frame.lost() !== null || target.crashed(),
    tidy: () => withTimeLimit(page.requestGC(), TIDY_MS, 'freeing memory').catch(() => undefined),
    close: () => withTimeLimit(target.close(), CLOSE_MS, 'closing a tab'),
  };
}

async function prepareTab(cdp: Cdp): Promise<void> {
  await Promise.all([
    cdp.send('Page.setLifecycleEventsEnabled', { enabled: true }),
    cdp.send('DOM.enable'),
    // Otherwise a page makes the browser run other pages that the crawl may not load.
    cdp.send('Page.setPrerenderingAllowed', { isAllowed: false }),
  ]);
}

/** Visits a page and reads the cookies that it leads to. */
async function visitInSession(tab: OpenTab, request: VisitRequest): Promise<Visit> {
  const result = await visit(tab, request);
  if (result.cookies !== undefined || (!result.loaded && result.broken)) return result;
  return { ...result, cookies: await readSession(tab) };
}

const readSession = ({ frame, cdp }: OpenTab): Promise<SessionCookie[] | undefined> =>
  frame.whileAlive(readCookies(cdp), COOKIES_MS, 'reading cookies').catch(() => undefined);

async function visit(tab: OpenTab, request: VisitRequest): Promise<Visit> {
  const clock = startVisitClock(request.budgetMs);
  const before = tab.frame.shown.documents;
  const progress: Progress = { stage: 'did not answer', endWaiting: watchWaiting(request), outcomes: noOutcomes() };
  try {
    let result = await visitOnce(tab, request, clock, progress).catch((error: unknown) => failureOf(tab, error, clock, progress));
    // How such a visit ends depends on the moment; that the page reloads itself does not.
    if (tab.frame.shown.documents - before > MAX_HOPS + 1) result = failedVisit(tab, clock, KEEPS_REDIRECTING, { broken: result.broken });
    return { ...result, outcomes: { ...progress.outcomes, answered: tab.traffic.requests.answered() } };
  } finally {
    progress.endWaiting();
    tab.traffic.hold();
  }
}

async function visitOnce(tab: OpenTab, request: VisitRequest, clock: VisitClock, progress: Progress): Promise<Visit> {
  await navigate(tab, request, clock);
  return stoppedVisit(tab, clock) ?? (await testPage(tab, request, clock, progress));
}

async function failureOf(tab: OpenTab, error: unknown, clock: VisitClock, { stage, outcomes }: Progress): Promise<FailedVisit> {
  const { frame, traffic } = tab;
  const stopped = stoppedVisit(tab, clock);
  if (stopped !== null) return stopped;
  // A command fails with the tab, possibly before the event that says why.
  if (!(error instanceof VisitEnded || error instanceof TimeLimitExceeded)) await tab.changes.waitFor(() => frame.lost() !== null, LOST_MS);
  const lost = frame.lost();
  if (error instanceof HungOnScroll) outcomes.hangsOnScroll = true;
  if (error instanceof VisitEnded) return failedVisit(tab, clock, error, { broken: error.broken || lost !== null });
  if (lost !== null) return failedVisit(tab, clock, { reason: 'crashed', message: lost }, { broken: true });
  const wrong: WrongPage =
    error instanceof TimeLimitExceeded
      ? {
          reason: 'timeout',
          message: outOfTime(stage, clock.budgetMs, traffic.requests.open()),
        }
      : { reason: 'test_failed', message: `The page could not be tested: ${errorMessage(error).slice(0, 300)}` };
  return failedVisit(tab, clock, wrong, { broken: true, lacksFiles: !frame.shown.parsed && traffic.requests.holdParser() });
}

/** Reports a page that waits for its site. Returns the function to call when the page is displayed, or the visit ends. */
function watchWaiting({ onWaiting }: VisitRequest): () => void {
  const timer = setTimeout(() => onWaiting?.('site'), WAITING_MS);
  return () => {
    clearTimeout(timer);
    onWaiting?.(null);
  };
}

interface Progress {
  /** Completes the message of a timeout. */
  stage: Stage;
  /** Must be called when the visit does not wait for its site any more. */
  endWaiting(): void;
  outcomes: WaitOutcomes;
}

/** Tests the page that the tab has navigated to, as soon as it seems at rest and again while it changes: the last look counts. */
async function testPage(tab: OpenTab, request: VisitRequest, clock: VisitClock, progress: Progress): Promise<Visit> {
  const { deps, traffic } = tab;
  progress.stage = 'did not finish loading';
  const arrival = await arrive({ ...tab, plan: request.plan, outcomes: progress.outcomes }, clock);
  // The displayed document redirected to one that may not be displayed.
  const stopped = stoppedVisit(tab, clock);
  if (stopped !== null) return stopped;
  progress.stage = 'was not tested';
  progress.endWaiting();
  const { world, signals } = arrival;
  const lookNow = (): Promise<Look | WrongLook> => look(tab, request, { world, clock });
  let first = await lookNow();
  if ('wrong' in first && first.wrong.reason === 'not_rendered' && signals.ran) {
    await restOnce(tab, request, { world, clock });
    first = await lookNow();
  }
  if ('wrong' in first) return failedVisit(tab, clock, first.wrong, { finalUrl: first.finalUrl });
  const { last, caveats, wrong, broken } = await lookAgain(tab, request, {
    arrival,
    first,
    clock,
    outcomes: progress.outcomes,
    look: lookNow,
  });
  if (wrong !== undefined) return failedVisit(tab, clock, wrong.wrong, { finalUrl: wrong.finalUrl });
  const { facts, tested } = last;
  const findings = tested === null ? null : toPageFindings(tested.results);
  const durationMs = clock.spent();
  const tests = findings !== null && !broken && deps.states !== undefined && request.testsStates?.() === true;
  const states = tests ? await testStates(tab, deps.states!, { world, findings, facts, clock }) : undefined;
  // Last, because scrolling may change the page.
  const isUsable = findings !== null && !broken && states?.broken !== true;
  const all = findings !== null && states !== undefined ? withStates(findings, states.found, true) : undefined;
  const taken = await takePictures(
    deps.pictures,
    isUsable ? { url: request.url.href, world, findings, ...(all && { all }), size: facts.size, clock } : null,
  );
  const opens = states !== undefined && deps.states!.kinds.includes('opened');
  // Before anything is activated, because that must not change the session.
  const cookies = opens && request.session !== undefined ? await readSession(tab) : undefined;
  const isSaved = request.session === undefined || cookies !== undefined;
  const usable = isUsable && !taken.stopped && isSaved;
  const connected = signals.connected || traffic.requests.connected();
  const isSealed =
    opens &&
    (await testOpened(
      tab,
      deps.states!,
      { world, findings: findings!, facts, clock, usable, connected, knowsPart: request.knowsPart ?? (() => false) },
      states.found,
    ));
  return {
    loaded: true,
    ...(cookies && { cookies }),
    finalUrl: new URL(last.finalUrl),
    status: traffic.answer()?.status ?? 200,
    facts,
    findings,
    framesUntested: tested?.framesUntested ?? [],
    caveats: [...withoutRepeats([...arrival.caveats, ...caveats]), ...last.caveats, ...redirectCaveats(tab)],
    ...(states && { states: states.found }),
    pictures: taken.pictures,
    durationMs,
    broken: broken || states?.broken === true || taken.stopped || isSealed,
  };
}

const withoutRepeats = (caveats: readonly PageCaveat[]): PageCaveat[] => [
  ...new Map(caveats.map((caveat) => [caveat.kind, caveat])).values(),
];

/** Reads the page and tests it. */
async function look(
  tab: OpenTab,
  request: VisitRequest,
  { world, clock }: { world: IsolatedWorld; clock: VisitClock },
): Promise<Look | WrongLook> {
  const { deps, target, frame, traffic } = tab;
  const beganAt = clock.spent();
  const readFacts = async (): Promise<PageFacts> =>
    JSON.parse(
      await frame.whileAlive(
        evaluate<string>(world, `curbcut.still(1000).then(() => (curbcut.remember(), curbcut.facts(${deps.hasRoutes})))`),
        clock.left(),
        'reading the page',
      ),
    ) as PageFacts;
  const closed = await frame.whileAlive(openClosedRoots(world, frame.shown.loaderId), clock.left(), 'opening shadow roots');
  const facts = await readFacts();
  clock.budgetMs = Math.max(clock.budgetMs, budgetFor(request, facts.elements));
  const finalUrl = frame.shown.url;
  const wrong = checkDisplayed(tab, request, facts) ?? (await missingMarker(frame, { world, marker: request.marker }, clock));
  if (wrong !== null) return { wrong, finalUrl };
  const before = [...renderedCaveats(tab, facts), ...closedRoots(closed)];
  // The links of frames are known only after their test.
  if (!request.test && !facts.hasFrames)
    return { finalUrl, facts, tested: null, frames: [], caveats: before, tookMs: clock.spent() - beganAt };
  const { sheetText } = traffic.requests;
  // The others have a caveat of their own.
  const sheets = readsSheets(deps.options) ? facts.foreignSheets.filter(({ href }) => !tab.faults.lacksStyles(href)) : [];
  const unread = await frame.whileAlive(readForeignSheets(world, sheetText, sheets), clock.left(), 'reading style sheets');
  const testing = testDocument(target, world, deps, { msLeft: clock.left, sheetText });
  const { frames, ...found } = await frame.whileAlive(testing, clock.left(), 'testing');
  const [, ...inFrames] =
    frames.length === 0 ? [] : await askAll<FrameFacts>(tab, [world, ...frames], `curbcut.frameFacts(${deps.hasRoutes})`, clock);
  facts.frames = inFrames.filter((answer) => answer !== null);
  const tested = deps.redact?.(found) ?? found;
  const left =
    checkBlockedNavigation(tab, request) ?? (frame.shown.url === finalUrl ? null : checkDisplayed(tab, request, await readFacts()));
  if (left !== null) return { wrong: left, finalUrl: frame.shown.url };
  const caveats = [
    ...renderedCaveats(tab, facts),
    ...unreadSheets(unread + tested.unreadSheets),
    ...tested.caveats,
    ...closedRoots(closed + tested.closedRoots),
  ];
  return { finalUrl, facts, tested: request.test ? tested : null, frames, caveats, tookMs: clock.spent() - beganAt };
}

function failedVisit({ frame, traffic }: OpenTab, clock: VisitClock, wrong: WrongPage, more: Partial<FailedVisit> = {}): FailedVisit {
  return {
    loaded: false,
    reason: wrong.reason,
    message: wrong.message,
    ...(wrong.mediaType !== undefined && { mediaType: wrong.mediaType }),
    finalUrl: traffic.answer()?.url ?? null,
    status: traffic.answer()?.status || null,
    retryAfterMs: null,
    broken: frame.lost() !== null,
    durationMs: clock.spent(),
    ...more,
  };
}

/** Returns the failure of a visit whose document was stopped before it was displayed, or null. */
function stoppedVisit(tab: OpenTab, clock: VisitClock): FailedVisit | null {
  const stop = tab.traffic.stopped();
  if (stop === null) return null;
  return failedVisit(tab, clock, stop, { finalUrl: stop.url, status: stop.status, retryAfterMs: stop.retryAfterMs });
}
