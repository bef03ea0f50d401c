/** Tests the frames of a page side by side, within limits, and records those that could not be tested. */
import type { Cdp } from '../browser/cdp.ts';
import type { FrameFailureReason, PageCaveat, UntestedFrame } from '../../../report/schema/page.ts';
import { errorMessage } from '../../../platform/errors.ts';
import { createSemaphore } from '../../../platform/concurrency/semaphore.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { isHtml, notWellFormed } from '../../crawl/page-checks.ts';
import { QUIET_MS } from '../visit/settling.ts';
import type { PageFacts } from '../visit/visit.ts';
import { type ForeignSheet, openClosedRoots, readForeignSheets, readsSheets, type SheetText } from './hidden-content.ts';
import type { EnteredDocument, FoundFrame, FrameIndex } from './frame-index.ts';
import { PIERCE } from './results.ts';
import {
  type AxeScript,
  evaluate,
  evaluationFailed,
  EvaluationFailed,
  type IsolatedWorld,
  isolatedWorldOf,
  WORLD,
} from '../scripts/source.ts';

/** The maximum number of frames of a page that are tested, with nested frames. */
export const FRAMES_MAX = 50;
/** The maximum number of untested frames of a page that are listed. */
export const FRAMES_LISTED_MAX = 50;
/** The number of frames that are tested at the same time. They are often in different processes. */
const SIDE_BY_SIDE = 4;
/** The time limit of one frame, in milliseconds. */
const FRAME_MS = 8000;
/** The share of the page's remaining time that its frames may take together. */
const FRAMES_SHARE = 0.7;
/** The maximum depth of nested frames. */
const DEPTH_MAX = 10;
/** The time that a frame gets to load and become quiet, in milliseconds; and the time for its fonts. */
const SETTLE_MS = 4000;
const FONTS_MS = 1000;

/** A frame element, as the script in its document reports it. */
interface FrameElement {
  /** Its selector; a list of selectors through shadow roots. */
  selector: (string | string[])[];
  /** The context of its document for axe-core. */
  context: unknown;
  /** Where its document is displayed in the page. */
  place: unknown;
  /** The address in its attribute. */
  url: string;
}

/** What the frames of a page share with it. */
export interface FrameLimits {
  /** Returns the rest of the page's budget. */
  msLeft: () => number;
  sheetText: SheetText;
}

export function createFrameRun(script: AxeScript, index: FrameIndex, { msLeft, sheetText }: FrameLimits) {
  const skipped: UntestedFrame[] = [];
  let total = 0;
  let taken = 0;
  const slots = createSemaphore({ held: { total: SIDE_BY_SIDE, perKey: SIDE_BY_SIDE } });
  const reserveMs = msLeft() * (1 - FRAMES_SHARE);
  return {
    sheetText,
    script,
    options: JSON.stringify(script.options),
    index,
    /** Returns the time limit of the next frame, in milliseconds. */
    limitMs: (): number => Math.max(0, Math.min(FRAME_MS, msLeft() - reserveMs)),
    /** Takes one frame from the number that is still to be tested. Returns false if it is used up. */
    take: (): boolean => ++taken <= FRAMES_MAX,
    sideBySide: <T>(work: () => Promise<T>): Promise<T> => slots.run('', work),
    /** The number of closed shadow roots that were not opened. */
    closedRoots: 0,
    /** The number of style sheets of other origins that were not read. */
    unreadSheets: 0,
    /** Names of form fields because of which the content of a form was not tested. */
    hidden: new Set<string>(),
    /** IDs of frames that were tested or listed. */
    known: new Set<string>(),
    /** The documents that were tested, with the paths of their frames. */
    documents: [] as EnteredDocument[],
    skip(frame: UntestedFrame): void {
      total += 1;
      if (skipped.length < FRAMES_LISTED_MAX) skipped.push(frame);
    },
    /** Counts untested frames that are not listed. */
    count: (frames: number): void => void (total += frames),
    untested: (): { framesUntested: UntestedFrame[]; caveats: PageCaveat[] } => ({
      framesUntested: skipped,
      caveats: total > skipped.length ? [framesLimited(total)] : [],
    }),
  };
}

export type FrameRun = ReturnType<typeof createFrameRun>;

const framesLimited = (total: number): PageCaveat => ({
  kind: 'frames_limited',
  message: `${total} frames of the page were not tested. The first ${FRAMES_LISTED_MAX} are listed.`,
});

/**
 * The partial results of a page and its frames as JSON, depth first, which is the order that axe-core merges; `null` for a
 * frame that was not tested.
 * @throws EvaluationFailed if the page itself cannot be tested
 */
export async function collectPartials(run: FrameRun, top: IsolatedWorld): Promise<string[]> {
  const { partial, frames } = await testPartially(run, top, { context: null, place: null });
  run.documents.push({ frameId: null, world: top, path: [] });
  return [partial, ...(await collectFrames(run, top, frames, []))];
}

interface PartialResults {
  /** Partial results of axe-core as JSON. */
  partial: string;
  hidden: string[];
  frames: FrameElement[];
}

async function testPartially(
  { script, options, hidden }: FrameRun,
  world: IsolatedWorld,
  { context, place }: Pick<FrameElement, 'context' | 'place'>,
): Promise<PartialResults> {
  const expression = `curbcut.partial(${JSON.stringify({ context, place })}, ${options}, ${script.htmlTotal})`;
  const tested = JSON.parse(await evaluate<string>(world, expression)) as PartialResults;
  for (const name of tested.hidden) hidden.add(name);
  return tested;
}

async function collectFrames(run: FrameRun, parent: IsolatedWorld, frames: FrameElement[], path: string[]): Promise<string[]> {
  const partials = await Promise.all(frames.map((frame, at) => collectFrame(run, parent, { frame, at, path: [...path, pathOf(frame)] })));
  return partials.flat();
}

const pathOf = ({ selector }: FrameElement): string => [selector.at(-1) ?? 'iframe'].flat().join(PIERCE);

/** A frame, and its place among the frames of its document. */
interface FrameAt {
  frame: FrameElement;
  at: number;
  path: string[];
}

async function collectFrame(run: FrameRun, parent: IsolatedWorld, { frame, at, path }: FrameAt): Promise<string[]> {
  const skip = (reason: FrameFailureReason, message: string, url = frame.url): string[] => {
    run.skip({ path, url, reason, message });
    return ['null'];
  };
  if (!run.take()) return skip('too_many', `Only ${FRAMES_MAX} frames per page are tested.`);
  if (path.length > DEPTH_MAX) return skip('too_many', `Only ${DEPTH_MAX} levels of nested frames are tested.`);
  const outcome = await run.sideBySide(() => testFrame(run, parent, frame, at));
  if (!outcome.ok) return skip(outcome.reason, outcome.message, outcome.url);
  run.documents.push({ frameId: outcome.frameId, world: outcome.world, path });
  return [outcome.partial, ...(await collectFrames(run, outcome.world, outcome.frames, path))];
}

interface SkippedFrame {
  ok: false;
  reason: FrameFailureReason;
  message: string;
  url?: string;
}

interface EnteredFrame {
  ok: true;
  frameId: string;
  world: IsolatedWorld;
}

async function testFrame(
  run: FrameRun,
  parent: IsolatedWorld,
  frame: FrameElement,
  at: number,
): Promise<(EnteredFrame & PartialResults) | SkippedFrame> {
  const limitMs = run.limitMs();
  if (limitMs === 0) return { ok: false, reason: 'timeout', message: 'No time was left for this frame.' };
  const test = async (): Promise<(EnteredFrame & PartialResults) | SkippedFrame> => {
    const entered = await enterFrame(run, parent, at);
    if (!entered.ok) return entered;
    return { ...entered, ...(await testPartially(run, entered.world, frame)) };
  };
  try {
    return await withTimeLimit(test(), limitMs, 'testing a frame');
  } catch (error) {
    if (error instanceof TimeLimitExceeded)
      return { ok: false, reason: 'timeout', message: `The frame did not respond within ${(error.limitMs / 1000).toFixed(1)} s.` };
    if (!(error instanceof EvaluationFailed)) throw error;
    const gone = await withTimeLimit(isGone(parent, at), limitMs, 'looking for a frame').catch(() => false);
    return gone
      ? { ok: false, reason: 'removed', message: 'The page removed or replaced the frame during the test.' }
      : { ok: false, reason: 'test_failed', message: `The frame could not be tested: ${errorMessage(error).slice(0, 300)}` };
  }
}

/** The isolated world of the n-th frame of a document, after its scripts have become quiet. */
async function enterFrame(run: FrameRun, parent: IsolatedWorld, at: number): Promise<EnteredFrame | SkippedFrame> {
  const { script, index, known } = run;
  const frameId = await frameIdOf(parent, at);
  if (frameId !== null) known.add(frameId);
  const found = frameId === null ? null : await index.find(parent.cdp, frameId);
  if (frameId === null || found === null || found.url === '')
    return { ok: false, reason: 'not_loaded', message: 'The frame had not loaded a document when the page was tested.' };
  const unreachable = checkFrame(found, script);
  if (unreachable !== null) return unreachable;
  const world = await openWorld(found.cdp, frameId, script.source);
  const options = JSON.stringify({ quietMs: QUIET_MS, capMs: SETTLE_MS, load: true });
  const { contentType, parserError } = await evaluate<Pick<PageFacts, 'contentType' | 'parserError'>>(
    world,
    `curbcut.settle(${options}).then(() => curbcut.still(${FONTS_MS})).then(curbcut.documentKind)`,
  );
  if (!isHtml(contentType))
    return { ok: false, reason: 'not_html', message: `The frame shows ${contentType}, not a web page.`, url: found.url };
  if (parserError !== null) return { ok: false, reason: 'test_failed', message: notWellFormed(parserError), url: found.url };
  run.closedRoots += await openClosedRoots(world, found.loaderId);
  if (readsSheets(script.options))
    run.unreadSheets += await readForeignSheets(
      world,
      run.sheetText,
      await evaluate<ForeignSheet[]>(world, 'curbcutSheets.foreign(curbcutSeen.roots())'),
    );
  return { ok: true, frameId, world };
}

/** Returns why the document of a frame was not displayed, or null. */
function checkFrame({ url, unreachable }: FoundFrame, { egressFailureOf }: AxeScript): SkippedFrame | null {
  const failure = /^https?:/.test(url) ? egressFailureOf(new URL(url)) : undefined;
  if (failure !== undefined)
    return { ok: false, reason: failure.kind === 'refused' ? 'refused' : 'not_loaded', message: failure.message, url };
  if (!unreachable) return null;
  return { ok: false, reason: 'not_loaded', message: 'The browser could not load the frame, or its site does not allow to embed it.', url };
}

/** How a world stands to our scripts. An element with the ID `curbcut` is a property of the global object too, but not an own one. */
const STATE = "!Object.hasOwn(globalThis, 'curbcut') ? 'new' : curbcut.document === document ? 'ready' : 'replaced'";

/**
 * The isolated world of a frame. In the process of the tab it exists since the document was created. A document that a `javascript:` URL
 * made has the worlds of the one before it, in which axe-core would look for elements: it gets another one.
 */
async function openWorld(cdp: Cdp, frameId: string, source: string): Promise<IsolatedWorld> {
  for (let name = WORLD; ; name += ' again') {
    const world = await isolatedWorldOf(cdp, frameId, name);
    const state = await evaluate<'new' | 'ready' | 'replaced'>(world, STATE);
    if (state === 'new') await evaluate(world, `${source};0`);
    if (state !== 'replaced') return world;
  }
}

/** The ID of the n-th frame of a document, or null if it has no document. */
async function frameIdOf({ cdp, contextId }: IsolatedWorld, at: number): Promise<string | null> {
  const { result } = await cdp.send('Runtime.evaluate', { expression: `curbcut.frameElement(${at})`, contextId }).catch(evaluationFailed);
  if (result.objectId === undefined) return null;
  const { node } = await cdp.send('DOM.describeNode', { objectId: result.objectId }).catch(evaluationFailed);
  return node.frameId ?? null;
}

/** Whether the n-th frame of a document was removed. */
const isGone = (world: IsolatedWorld, at: number): Promise<boolean> => evaluate(world, `!curbcut.frameElement(${at}).isConnected`);
