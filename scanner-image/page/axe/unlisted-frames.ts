/**
 * Finds the visible frames that axe-core does not know: documents in `<object>` and `<embed>` elements, and frames in closed
 * shadow roots. They are compared by the browser's own list of frames.
 */
import type { Cdp } from '../browser/cdp.ts';
import type { UntestedFrame } from '../../../report/schema/schema.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { isHtml } from '../../crawl/page-checks.ts';
import type { FrameIndex, ListedFrame } from './frame-index.ts';
import { PIERCE } from './results.ts';
import { evaluationFailed, type IsolatedWorld } from './world.ts';

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
const ANSWER_MS = 5000;

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
    return await withTimeLimit(describe(frame, documents), ANSWER_MS, 'looking for the element of a frame');
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
