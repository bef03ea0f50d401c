/** Finds the frames of a page in the processes that own them. */
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import type { Cdp, Commands } from '../browser/cdp.ts';
import type { Target } from '../browser/target.ts';
import type { UntestedFrame } from '../../../report/schema/page.ts';
import { isHtml } from '../../crawl/page-checks.ts';
import { PIERCE } from './results.ts';
import { evaluationFailed, type IsolatedWorld } from '../scripts/source.ts';

/** A frame with a document, and the CDP session of the process that owns it. */
export interface FoundFrame {
  cdp: Cdp;
  url: string;
  /** The request of the document. */
  loaderId: string;
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

export function createFrameIndex(page: FrameSource) {
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
    /** Finds a frame by its ID, in the process of its parent or in a process of its own. Null: it has no document. */
    async find(parent: Cdp, frameId: string): Promise<FoundFrame | null> {
      const own = findIn(await treeOf(parent), frameId);
      if (own !== null) return { cdp: parent, ...own };
      const cdp = page.frameProcesses().find(({ id }) => id === frameId)?.session;
      if (cdp === undefined) return null;
      const other = findIn(await treeOf(cdp), frameId);
      return other === null ? null : { cdp, ...other };
    },
    /** The ID of the main frame. */
    main: async (): Promise<string> => (await treeOf(top)).frame.id,
    /** All frames of the page except the main frame. Frames within a frame whose process does not answer are missing. */
    async all(): Promise<ListedFrame[]> {
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

export type FrameIndex = ReturnType<typeof createFrameIndex>;

function findIn(tree: FrameTree, frameId: string): Omit<FoundFrame, 'cdp'> | null {
  if (tree.frame.id === frameId) {
    const { url, loaderId, unreachableUrl } = tree.frame;
    return { url: unreachableUrl ?? url, loaderId, unreachable: unreachableUrl !== undefined };
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

/*
 * Finds the visible frames that axe-core does not know: documents in `<object>` and `<embed>` elements, and frames in closed
 * shadow roots. They are compared by the browser's own list of frames.
 */

/** A document that was tested, with the path of its frame; empty for the page itself. */
export interface EnteredDocument {
  /** The ID of its frame; null for the page itself. */
  frameId: string | null;
  world: IsolatedWorld;
  path: string[];
}

/** The maximum number of frames that are looked at. Most frames that axe-core does not list are invisible. */
const LOOKED_AT_MAX = 500;
/** The time limit for one frame, in milliseconds. The process of a document may hang by now. */
const ELEMENT_MS = 5000;

/** The element of a frame, as `curbcut.frameOwner` describes it. */
interface Owner {
  path: string[];
  name: string;
  inClosedRoot: boolean;
  url: string;
}

/**
 * The frames of tested documents that nothing else has tested or listed.
 * @param known IDs of frames that were tested or listed
 * @returns also the number of frames `beyond` the limit, which were not looked at
 */
export async function findUnlisted(
  index: FrameIndex,
  documents: EnteredDocument[],
  known: ReadonlySet<string>,
): Promise<{ frames: UntestedFrame[]; beyond: number }> {
  const unknown = (await index.all()).filter(({ id }) => !known.has(id));
  const main = await index.main();
  const parentsOf = ({ parentId }: ListedFrame): EnteredDocument[] =>
    documents.filter(({ frameId }) => parentId === null || (frameId ?? main) === parentId);
  const found = await Promise.all(unknown.slice(0, LOOKED_AT_MAX).map((frame) => describeInTime(frame, parentsOf(frame))));
  return { frames: found.filter((frame) => frame !== null), beyond: Math.max(0, unknown.length - LOOKED_AT_MAX) };
}

async function describeInTime(frame: ListedFrame, documents: EnteredDocument[]): Promise<UntestedFrame | null> {
  try {
    return await withTimeLimit(describe(frame, documents), ELEMENT_MS, 'looking for the element of a frame');
  } catch (error) {
    if (!(error instanceof TimeLimitExceeded)) throw error;
    const message = 'The browser could not tell in which element the frame is, because a document did not respond.';
    return { path: ['*'], url: frame.url, reason: 'timeout', message };
  }
}

async function describe(frame: ListedFrame, documents: EnteredDocument[]): Promise<UntestedFrame | null> {
  for (const cdp of new Set(documents.map(({ world }) => world.cdp))) {
    const node = await ownerOf(cdp, frame.id);
    if (node === null) continue;
    for (const { world, path } of documents) {
      const owner = world.cdp === cdp ? await read(world, node) : null;
      if (owner !== null) return toUntested(frame, owner, path);
    }
  }
  return null;
}

/** The element of a frame; null if another process owns it, or the frame was removed. */
async function ownerOf(cdp: Cdp, frameId: string): Promise<number | null> {
  return cdp.send('DOM.getFrameOwner', { frameId }).then(
    ({ backendNodeId }) => backendNodeId,
    () => null,
  );
}

async function read({ cdp, contextId }: IsolatedWorld, backendNodeId: number): Promise<Owner | null> {
  // Fails for an element of another document.
  const resolved = await cdp.send('DOM.resolveNode', { backendNodeId, executionContextId: contextId }).catch(() => null);
  const objectId = resolved?.object.objectId;
  if (objectId === undefined) return null;
  const { result, exceptionDetails } = await cdp
    .send('Runtime.callFunctionOn', { objectId, functionDeclaration: OWNER_FUNCTION, returnByValue: true })
    .catch(evaluationFailed);
  // The script is not in a document that was replaced.
  return exceptionDetails === undefined ? (JSON.parse(result.value as string) as Owner | null) : null;
}

const OWNER_FUNCTION = 'function () { return curbcut.frameOwner(this); }';

function toUntested({ url, contentType }: ListedFrame, owner: Owner, path: string[]): UntestedFrame | null {
  const isEmbedded = owner.name === 'object' || owner.name === 'embed';
  // A picture is tested as such: by its alternative text.
  if (isEmbedded && (contentType.startsWith('image/') || url === '' || url === 'about:blank')) return null;
  const untested = { path: [...path, owner.path.join(PIERCE)], url: url === '' ? owner.url : url };
  if (!isHtml(contentType)) return { ...untested, reason: 'not_html', message: `The frame shows ${contentType}, not a web page.` };
  const advice = 'To test its document, start a scan at its address.';
  if (isEmbedded)
    return { ...untested, reason: 'unsupported', message: `axe-core does not test documents in <${owner.name}> elements. ${advice}` };
  if (owner.inClosedRoot)
    return { ...untested, reason: 'unsupported', message: `The frame is in a closed shadow root, where axe-core does not look. ${advice}` };
  return { ...untested, reason: 'not_loaded', message: 'The page added the frame while it was tested.' };
}
