/** Finds the frames of a page in the processes that own them. */
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { Cdp, Commands } from '../browser/cdp.ts';
import type { Target } from '../browser/target.ts';

/** A frame with a document, and the CDP session of the process that owns it. */
export interface FoundFrame {
  cdp: Cdp;
  url: string;
  /** The browser displays an error page instead of the document. */
  unreachable: boolean;
}

export interface ListedFrame {
  id: string;
  /** The ID of the frame that contains it; null if the browser does not say it. */
  parentId: string | null;
  url: string;
  contentType: string;
}

export interface FrameIndex {
  /** Finds a frame by its ID, in the process of its parent or in a process of its own. Null: it has no document. */
  find(parent: Cdp, frameId: string): Promise<FoundFrame | null>;
  /** The ID of the main frame. */
  main(): Promise<string>;
  /** All frames of the page except the main frame. Frames within a frame whose process does not answer are missing. */
  all(): Promise<ListedFrame[]>;
}

type FrameTree = Commands['Page.getFrameTree']['returnType']['frameTree'];

/** A process whose thread hangs does not answer. Measured in milliseconds. */
const ANSWER_MS = 3000;

export type FrameSource = Pick<Target, 'cdp' | 'frameProcesses' | 'describe'>;

/** Whether a page has a frame, also one that scripts cannot see. */
export async function hasFrames({ cdp, frameProcesses }: FrameSource): Promise<boolean> {
  if (frameProcesses().length > 0) return true;
  const { childFrames = [] } = (await cdp.send('Page.getFrameTree')).frameTree;
  return childFrames.length > 0;
}

export function createFrameIndex(page: FrameSource): FrameIndex {
  const top = page.cdp;
  const trees = new Map<Cdp, Promise<FrameTree>>();

  function treeOf(cdp: Cdp): Promise<FrameTree> {
    let tree = trees.get(cdp);
    if (tree === undefined) {
      const asked = cdp.send('Page.getFrameTree').then(({ frameTree }) => frameTree);
      trees.set(cdp, (tree = withTimeLimit(asked, ANSWER_MS, 'reading the frames')));
    }
    return tree;
  }

  return {
    async find(parent, frameId) {
      const own = findIn(await treeOf(parent), frameId);
      if (own !== null) return { cdp: parent, ...own };
      const cdp = page.frameProcesses().find(({ id }) => id === frameId)?.session;
      if (cdp === undefined) return null;
      const other = findIn(await treeOf(cdp), frameId);
      return other === null ? null : { cdp, ...other };
    },
    main: async () => (await treeOf(top)).frame.id,
    async all() {
      const processes = page.frameProcesses();
      const listed = new Map<string, ListedFrame>();
      const describing = processes.map(async (frame) => {
        // The process of the frame may not answer, but the browser does, unless the frame is gone.
        const known = await page.describe(frame).catch(() => null);
        if (known !== null) listed.set(frame.id, { id: frame.id, ...known, contentType: 'text/html' });
      });
      await Promise.all(describing);
      const answers = await Promise.allSettled([top, ...processes.map(({ session }) => session)].map(treeOf));
      for (const answer of answers)
        if (answer.status === 'fulfilled') list(answer.value, listed.get(answer.value.frame.id)?.parentId ?? null, listed);
      const main = await treeOf(top);
      listed.delete(main.frame.id);
      return [...listed.values()];
    },
  };
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
