/** Runs axe-core on a page: in one step if it has no frames, otherwise frame by frame, with merged results. */
import type { CDPSession, Page } from 'playwright-core';
import { errorMessage } from '../../platform/errors.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';
import type { AxeResults } from './results.ts';
import { WORLD, type AxeOptions } from './source.ts';

/** The isolated world of a frame, in which our scripts run, and the CDP session of the process that owns the frame. */
export interface Place {
  cdp: CDPSession;
  contextId: number;
}

/** One of our scripts failed, or its document was replaced. */
export class EvaluationFailed extends Error {
  override readonly name = 'EvaluationFailed';
}

/** Evaluates an expression and returns its value; a promise is awaited. @throws EvaluationFailed */
export async function evaluate<T>(place: Place, expression: string): Promise<T> {
  const { result, exceptionDetails } = await place.cdp
    .send('Runtime.evaluate', { expression, contextId: place.contextId, awaitPromise: true, returnByValue: true })
    .catch(evaluationFailed);
  if (exceptionDetails !== undefined)
    throw new EvaluationFailed(exceptionDetails.exception?.description?.split('\n')[0] ?? exceptionDetails.text);
  return result.value as T;
}

function evaluationFailed(error: unknown): never {
  throw new EvaluationFailed(errorMessage(error));
}

/** Our isolated world of a frame. In the process of the tab it exists since the document was created. */
export async function placeOf(cdp: CDPSession, frameId: string): Promise<Place> {
  const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: WORLD }).catch(evaluationFailed);
  return { cdp, contextId: executionContextId };
}

/** The script that tests a document, and its arguments. */
export interface AxeScript {
  /** The script for our world, from `axeSource`. Frames in other processes do not get it automatically. */
  source: string;
  options: AxeOptions;
  /** From `htmlTotal`. */
  htmlTotal: number;
}

/** The time limit of one frame, in milliseconds. */
const FRAME_MS = 8000;

/**
 * Tests a page that is loaded and quiet.
 * @param msLeft returns the rest of the page's budget
 */
export async function testDocument(page: Page, top: Place, script: AxeScript, msLeft: () => number): Promise<AxeResults> {
  const { source, htmlTotal } = script;
  const json = JSON.stringify(script.options);
  if (page.frames().length === 1) return JSON.parse(await evaluate<string>(top, `curbcut.run(${json}, ${htmlTotal})`)) as AxeResults;
  const sessions = createSessions(page, top.cdp);
  try {
    const partials = await collectPartials({ sessions, source, json, htmlTotal, msLeft }, top, 'null');
    return JSON.parse(await evaluate<string>(top, `curbcut.finish([${partials.join(',')}], ${json})`)) as AxeResults;
  } finally {
    await sessions.close();
  }
}

interface FrameRun {
  sessions: FrameSessions;
  source: string;
  /** The options for axe-core as JSON. */
  json: string;
  htmlTotal: number;
  msLeft: () => number;
}

/** The partial results of a document and of its frames, depth first, which is the order that axe-core merges. */
async function collectPartials(run: FrameRun, place: Place, context: string): Promise<string[]> {
  const { partial, contexts } = JSON.parse(await evaluate<string>(place, `curbcut.partial(${context}, ${run.json}, ${run.htmlTotal})`)) as {
    partial: unknown;
    contexts: unknown[];
  };
  const partials = [JSON.stringify(partial)];
  for (const [index, frameContext] of contexts.entries()) {
    const inside = enterFrame(run, place, index).then((inner) =>
      inner === null ? ['null'] : collectPartials(run, inner, JSON.stringify(frameContext)),
    );
    // Skips a frame that is lazy, removed or too slow, as axe-core does. The findings of the page are still valid.
    const limitMs = Math.min(FRAME_MS, run.msLeft() / 2);
    partials.push(...(await withTimeLimit(inside, limitMs, 'testing a frame').catch(() => ['null'])));
  }
  return partials;
}

/** Our world of the n-th frame of a document; null if the frame has no document yet. */
async function enterFrame({ sessions, source }: FrameRun, place: Place, index: number): Promise<Place | null> {
  const expression = `curbcut.frameElement(${index})`;
  const { result } = await place.cdp.send('Runtime.evaluate', { expression, contextId: place.contextId });
  if (result.objectId === undefined) return null;
  const { node } = await place.cdp.send('DOM.describeNode', { objectId: result.objectId });
  if (node.frameId === undefined) return null;
  const found = await sessions.find(place.cdp, node.frameId);
  if (found === null || found.url === '') return null;
  const inner = await placeOf(found.cdp, node.frameId);
  if ((await evaluate<string>(inner, 'typeof curbcut')) === 'undefined') await evaluate(inner, `${source};0`);
  await evaluate(inner, 'curbcut.still(1000)');
  return inner;
}

interface FrameTree {
  frame: { id: string; url: string };
  childFrames?: FrameTree[];
}

interface FoundFrame {
  cdp: CDPSession;
  url: string;
}

interface FrameSessions {
  /** Finds a frame: in the session of its parent, or in its own if it is in another process. */
  find(parent: CDPSession, frameId: string): Promise<FoundFrame | null>;
  close(): Promise<void>;
}

function createSessions(page: Page, main: CDPSession): FrameSessions {
  /** Sessions of frames in other processes by frame; opened when the first one is needed. */
  let others: Map<string, CDPSession> | null = null;
  return {
    async find(parent, frameId) {
      const own = (await findIn(parent, frameId)) ?? (parent === main ? null : await findIn(main, frameId));
      if (own !== null) return own;
      if (others === null) {
        others = new Map();
        await openSessions(page, others);
      }
      const other = others.get(frameId);
      return other === undefined ? null : findIn(other, frameId);
    },
    async close() {
      await Promise.all([...(others?.values() ?? [])].map((session) => session.detach().catch(() => undefined)));
    },
  };
}

async function openSessions(page: Page, sessions: Map<string, CDPSession>): Promise<void> {
  for (const frame of page.frames().slice(1)) {
    // Fails for every frame that shares the process of its parent.
    const session = await page
      .context()
      .newCDPSession(frame)
      .catch(() => null);
    if (session !== null) sessions.set((await session.send('Page.getFrameTree')).frameTree.frame.id, session);
  }
}

async function findIn(cdp: CDPSession, frameId: string): Promise<FoundFrame | null> {
  const url = urlOf((await cdp.send('Page.getFrameTree')).frameTree, frameId);
  return url === null ? null : { cdp, url };
}

function urlOf(tree: FrameTree, frameId: string): string | null {
  if (tree.frame.id === frameId) return tree.frame.url;
  for (const child of tree.childFrames ?? []) {
    const url = urlOf(child, frameId);
    if (url !== null) return url;
  }
  return null;
}
