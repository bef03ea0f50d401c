/**
 * Hands the closed shadow roots of a document to our world, so that their content is tested like that of open ones. Only the
 * browser's protocol finds them.
 */
import type { PageCaveat } from '../../../report/schema/schema.ts';
import type { Cdp, Commands } from '../browser/cdp.ts';
import { evaluationFailed, type IsolatedWorld } from './world.ts';

/** More closed roots of a document are not opened. */
const ROOTS_MAX = 500;
/** How HTML declares a closed root. */
const DECLARED = String.raw`shadowrootmode\s*=\s*["']?closed`;

type DescribedNode = Commands['DOM.describeNode']['returnType']['node'];

/**
 * Opens the closed roots of a document for our scripts.
 * @param url the address from which the document was loaded
 * @returns the number of closed roots that stay closed
 */
export async function openClosedRoots(world: IsolatedWorld, frameId: string, url: string): Promise<number> {
  const [hosts, declares] = await Promise.all([hostsOf(world), declaresRoots(world.cdp, frameId, url)]);
  if (hosts.length === 0 && !declares) return 0;
  const found = new Set<number>();
  let failed = 0;
  for (const objectId of declares ? [await documentOf(world)] : hosts) {
    // Fails for a tree that is too deep to be described.
    const described = await world.cdp.send('DOM.describeNode', { objectId, depth: -1, pierce: true }).catch(() => null);
    if (described === null) failed += 1;
    else collectClosed(described.node, found);
  }
  const opened = await open(world, [...found].slice(0, ROOTS_MAX));
  return failed + found.size - opened;
}

/** The objects in which closed roots are known to be. */
async function hostsOf({ cdp, contextId }: IsolatedWorld): Promise<string[]> {
  const expression = '((places) => (places.length > 0 ? places : null))(curbcutRoots.places())';
  const { result } = await cdp.send('Runtime.evaluate', { expression, contextId }).catch(evaluationFailed);
  const { objectId } = result;
  if (objectId === undefined) return [];
  const { result: items } = await cdp.send('Runtime.getProperties', { objectId, ownProperties: true }).catch(evaluationFailed);
  return items.flatMap(({ enumerable, value }) => (enumerable && value?.objectId !== undefined ? [value.objectId] : []));
}

/** Whether the HTML of a document declares closed roots, or cannot be searched. */
async function declaresRoots(cdp: Cdp, frameId: string, url: string): Promise<boolean> {
  return cdp.send('Page.searchInResource', { frameId, url, query: DECLARED, isRegex: true }).then(
    ({ result }) => result.length > 0,
    () => true,
  );
}

async function documentOf({ cdp, contextId }: IsolatedWorld): Promise<string> {
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'document', contextId }).catch(evaluationFailed);
  return result.objectId!;
}

/** Collects the closed roots of a tree, also those within others. The browser's own roots, such as those of inputs, are no content. */
function collectClosed(node: DescribedNode, found: Set<number>): void {
  const waiting = [node];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (at.shadowRootType === 'closed') found.add(at.backendNodeId);
    for (const child of [...(at.children ?? []), ...(at.shadowRoots ?? [])]) if (child.shadowRootType !== 'user-agent') waiting.push(child);
  }
}

/** @returns the number of roots that were opened */
async function open({ cdp, contextId }: IsolatedWorld, roots: readonly number[]): Promise<number> {
  const resolving = roots.map((backendNodeId) =>
    cdp.send('DOM.resolveNode', { backendNodeId, executionContextId: contextId }).then(
      ({ object }) => object.objectId,
      // The page removed it.
      () => undefined,
    ),
  );
  const objects = (await Promise.all(resolving)).filter((objectId) => objectId !== undefined);
  if (objects.length === 0) return roots.length;
  await cdp
    .send('Runtime.callFunctionOn', {
      executionContextId: contextId,
      functionDeclaration: 'function (...roots) { curbcutRoots.open(...roots); }',
      arguments: objects.map((objectId) => ({ objectId })),
    })
    .catch(evaluationFailed);
  return roots.length;
}

export function closedRoots(count: number): PageCaveat[] {
  if (count === 0) return [];
  const message = `The content of ${count} closed shadow ${count === 1 ? 'root' : 'roots'} could not be tested. Open them (mode: 'open') to have it tested.`;
  return [{ kind: 'closed_shadow_root', message }];
}
