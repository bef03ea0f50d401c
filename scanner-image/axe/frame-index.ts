/** Finds the frames of a page in the processes that own them. */
import type { CDPSession, Page } from 'playwright-core';
import { withTimeLimit } from '../../platform/time-limits.ts';

/** A frame with a document, and the CDP session of the process that owns it. */
export interface FoundFrame {
  cdp: CDPSession;
  url: string;
  /** The browser displays an error page instead of the document. */
  unreachable: boolean;
}

/** A frame in the browser's own list. */
export interface ListedFrame {
  id: string;
  /** The ID of the frame that contains it; null if the browser does not say it. */
  parentId: string | null;
  url: string;
  contentType: string;
}

export interface FrameIndex {
  /** Finds a frame by its ID, in the process of its parent or in a process of its own. Null: it has no document. */
  find(parent: CDPSession, frameId: string): Promise<FoundFrame | null>;
  /** The ID of the main frame. */
  main(): Promise<string>;
  /** All frames of the page except the main frame. Frames within a frame whose process does not answer are missing. */
  all(): Promise<ListedFrame[]>;
  /** Closes the sessions. A frame that hangs closes its own when the page is left, so nothing waits for that. */
  close(): void;
}

interface FrameTree {
  frame: { id: string; url: string; unreachableUrl?: string; mimeType: string };
  childFrames?: FrameTree[];
}

/** A process whose thread hangs does not answer. Measured in milliseconds. */
const ANSWER_MS = 3000;

/** Creates an index of the frames of a page. `top` is the session of the tab. Sessions of other processes are opened when the first one is needed. */
export function createFrameIndex(page: Page, top: CDPSession): FrameIndex {
  const trees = new Map<CDPSession, Promise<FrameTree>>();
  let others: Promise<Map<string, OtherProcess>> | null = null;

  function treeOf(cdp: CDPSession): Promise<FrameTree> {
    let tree = trees.get(cdp);
    if (tree === undefined) {
      const asked = cdp.send('Page.getFrameTree').then(({ frameTree }) => frameTree as FrameTree);
      tree = withTimeLimit(asked, ANSWER_MS, 'reading the frames');
      trees.set(cdp, tree);
    }
    return tree;
  }

  return {
    async find(parent, frameId) {
      const own = findIn(await treeOf(parent), frameId);
      if (own !== null) return { cdp: parent, ...own };
      const cdp = (await (others ??= openSessions(page))).get(frameId)?.session;
      if (cdp === undefined) return null;
      const other = findIn(await treeOf(cdp), frameId);
      return other === null ? null : { cdp, ...other };
    },
    main: async () => (await treeOf(top)).frame.id,
    async all() {
      const processes = await (others ??= openSessions(page));
      const listed = new Map<string, ListedFrame>();
      // Its process may not answer.
      for (const [id, { url, parentId }] of processes) listed.set(id, { id, parentId, url, contentType: 'text/html' });
      const answers = await Promise.allSettled([top, ...[...processes.values()].map(({ session }) => session)].map(treeOf));
      for (const answer of answers)
        if (answer.status === 'fulfilled') list(answer.value, listed.get(answer.value.frame.id)?.parentId ?? null, listed);
      const main = await treeOf(top);
      listed.delete(main.frame.id);
      return [...listed.values()];
    },
    close() {
      void others?.then((sessions) => {
        for (const { session } of sessions.values()) void session.detach().catch(() => undefined);
      });
    },
  };
}

/** A frame with a process of its own. */
interface OtherProcess {
  session: CDPSession;
  url: string;
  parentId: string | null;
}

/** Opens the sessions of all frames in processes of their own, by frame ID. Only the browser's main process answers here. */
async function openSessions(page: Page): Promise<Map<string, OtherProcess>> {
  const sessions = new Map<string, OtherProcess>();
  const open = async (frame: ReturnType<Page['frames']>[number]): Promise<void> => {
    const session = await page.context().newCDPSession(frame);
    const { targetId, parentFrameId = null } = (await session.send('Target.getTargetInfo')).targetInfo;
    sessions.set(targetId, { session, url: frame.url(), parentId: parentFrameId });
  };
  // Fails for every frame that shares the process of its parent.
  await Promise.allSettled(page.frames().slice(1).map(open));
  return sessions;
}

function findIn(tree: FrameTree, frameId: string): Omit<FoundFrame, 'cdp'> | null {
  if (tree.frame.id === frameId) {
    const { url, unreachableUrl } = tree.frame;
    return { url: unreachableUrl ?? url, unreachable: unreachableUrl !== undefined };
  }
  for (const child of tree.childFrames ?? []) {
    const found = findIn(child, frameId);
    if (found !== null) return found;
  }
  return null;
}

function list({ frame, childFrames = [] }: FrameTree, parentId: string | null, listed: Map<string, ListedFrame>): void {
  const { id, url, unreachableUrl, mimeType } = frame;
  listed.set(id, { id, parentId, url: unreachableUrl ?? url, contentType: mimeType });
  for (const child of childFrames) list(child, id, listed);
}
