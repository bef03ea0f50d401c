/** Runs axe-core over a page: at once where it has no frames, frame by frame and put together where it has. */
import type { CDPSession, Page } from 'playwright-core';
import { settledWithin } from '../browser/wait.ts';
import type { AxeResults } from './results.ts';
import { WORLD, type AxeOptions } from './source.ts';

/** Where scripts of ours are evaluated: one frame's world, in the session of the process that holds it. */
export interface Place {
  cdp: CDPSession;
  contextId: number;
}

/** A script of ours failed, or its document went away. */
export class EvaluationFailed extends Error {
  override readonly name = 'EvaluationFailed';
}

/** Evaluates an expression and gives its value, a promise's when it comes. @throws EvaluationFailed */
export async function evaluate<T>(place: Place, expression: string): Promise<T> {
  const { result, exceptionDetails } = await place.cdp
    .send('Runtime.evaluate', { expression, contextId: place.contextId, awaitPromise: true, returnByValue: true })
    .catch((error: unknown) => {
      throw new EvaluationFailed(error instanceof Error ? error.message : String(error));
    });
  if (exceptionDetails !== undefined)
    throw new EvaluationFailed(exceptionDetails.exception?.description?.split('\n')[0] ?? exceptionDetails.text);
  return result.value as T;
}

/** Our world of a frame; it is made with the document where the frame is of the tab's own process. */
export async function placeOf(cdp: CDPSession, frameId: string): Promise<Place> {
  const { executionContextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: WORLD }).catch((error: unknown) => {
    throw new EvaluationFailed(error instanceof Error ? error.message : String(error));
  });
  return { cdp, contextId: executionContextId };
}

/** The most that one frame may take, in milliseconds. */
const FRAME_MS = 8000;

/**
 * Tests a page that is loaded and still.
 * @param source the script of our world, for frames of other processes, where it is not put by itself
 * @param msLeft what is left of the page's budget
 */
export async function testDocument(page: Page, top: Place, source: string, options: AxeOptions, msLeft: () => number): Promise<AxeResults> {
  const json = JSON.stringify(options);
  if (page.frames().length === 1) return JSON.parse(await evaluate<string>(top, `curbcut.run(${json})`)) as AxeResults;
  const sessions = createSessions(page, top.cdp);
  try {
    const partials = await collect(top, 'null');
    return JSON.parse(await evaluate<string>(top, `curbcut.finish([${partials.join(',')}], ${json})`)) as AxeResults;

    /** The parts of a document and of its frames, depth first, as axe-core puts them together. */
    async function collect(place: Place, context: string): Promise<string[]> {
      const { partial, contexts } = JSON.parse(await evaluate<string>(place, `curbcut.partial(${context}, ${json})`)) as {
        partial: unknown;
        contexts: unknown[];
      };
      const parts = [JSON.stringify(partial)];
      for (const [index, frameContext] of contexts.entries()) {
        // A frame that is lazy, gone or too slow is left out, as axe-core leaves it out; the page's own findings stand.
        const inside = enter(place, index).then((inner) => (inner === null ? ['null'] : collect(inner, JSON.stringify(frameContext))));
        parts.push(...(await settledWithin(inside, Math.min(FRAME_MS, msLeft() / 2)).catch(() => ['null'])));
      }
      return parts;
    }

    /** The world of a document's n-th frame; null where the frame has no document of its own yet. */
    async function enter(place: Place, index: number): Promise<Place | null> {
      const { result } = await place.cdp.send('Runtime.evaluate', {
        expression: `curbcut.frameElement(${index})`,
        contextId: place.contextId,
      });
      if (result.objectId === undefined) return null;
      const { node } = await place.cdp.send('DOM.describeNode', { objectId: result.objectId });
      if (node.frameId === undefined) return null;
      const found = await sessions.of(place.cdp, node.frameId);
      if (found === null || found.url === '') return null;
      const inner = await placeOf(found.cdp, node.frameId);
      if ((await evaluate<string>(inner, 'typeof curbcut')) === 'undefined') await evaluate(inner, `${source};0`);
      await evaluate(inner, 'curbcut.still(1000)');
      return inner;
    }
  } finally {
    await sessions.close();
  }
}

interface FrameTree {
  frame: { id: string; url: string };
  childFrames?: FrameTree[];
}

/** Finds the session that holds a frame: its parent's, or its own where the frame lives in another process. */
function createSessions(
  page: Page,
  main: CDPSession,
): { of(parent: CDPSession, frameId: string): Promise<{ cdp: CDPSession; url: string } | null>; close(): Promise<void> } {
  let others: Map<string, CDPSession> | null = null;

  const urlIn = (tree: FrameTree, frameId: string): string | null => {
    if (tree.frame.id === frameId) return tree.frame.url;
    for (const child of tree.childFrames ?? []) {
      const url = urlIn(child, frameId);
      if (url !== null) return url;
    }
    return null;
  };
  const lookIn = async (cdp: CDPSession, frameId: string): Promise<{ cdp: CDPSession; url: string } | null> => {
    const url = urlIn((await cdp.send('Page.getFrameTree')).frameTree, frameId);
    return url === null ? null : { cdp, url };
  };

  return {
    async of(parent, frameId) {
      const own = (await lookIn(parent, frameId)) ?? (parent === main ? null : await lookIn(main, frameId));
      if (own !== null) return own;
      if (others === null) {
        others = new Map();
        for (const frame of page.frames().slice(1)) {
          // It throws for every frame that shares its parent's process.
          const session = await page
            .context()
            .newCDPSession(frame)
            .catch(() => null);
          if (session !== null) others.set((await session.send('Page.getFrameTree')).frameTree.frame.id, session);
        }
      }
      const other = others.get(frameId);
      return other === undefined ? null : lookIn(other, frameId);
    },
    async close() {
      await Promise.all([...(others?.values() ?? [])].map((session) => session.detach().catch(() => undefined)));
    },
  };
}
