/**
 * Hands to the isolated world what scripts cannot read and the browser's protocol can. These are style sheets of other origins, and
 * closed shadow roots, whose content is tested like that of open ones.
 */
import type { PageCaveat } from '../../../report/schema/page.ts';
import type { Cdp, Commands } from '../browser/cdp.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import { type AxeOptions, evaluate, evaluationFailed, type IsolatedWorld } from '../scripts/source.ts';

/** More closed roots of a document are not opened. */
const ROOTS_MAX = 500;
/** How HTML declares a closed root. */
const DECLARED = String.raw`shadowrootmode\s*=\s*["']?closed`;

type DescribedNode = Commands['DOM.describeNode']['returnType']['node'];

/**
 * Opens the closed roots of a document for our scripts.
 * @param loaderId the request of the document
 * @returns the number of closed roots that stay closed
 */
export async function openClosedRoots(world: IsolatedWorld, loaderId: string): Promise<number> {
  const [hosts, declares] = await Promise.all([hostsOf(world), declaresRoots(world.cdp, loaderId)]);
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

/**
 * Whether the HTML of a document declares closed roots, or cannot be searched. Commands of the domain `Page` that read resources
 * request all style sheets again, and wait for them.
 */
async function declaresRoots(cdp: Cdp, requestId: string): Promise<boolean> {
  return cdp.send('Network.searchInResponseBody', { requestId, query: DECLARED, isRegex: true }).then(
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

// Style sheets of other origins, for the check of locked orientations (orientation.js). No request to a host that our own program would
// have to make is needed.

/** More style sheets of other origins are not read, with those that they import. */
const SHEETS_MAX = 20;
/** Longer style sheets are not read, in characters. */
const LENGTH_MAX = 5_000_000;
/** The time limit for the style sheets of a document, in milliseconds. */
const READ_MS = 2000;
/** What a style sheet must mention to be read. */
const MENTIONS = /orientation\s*:|@import/i;
const IMPORTS = /@import\s+(?:url\(\s*)?["']?([^"')\s;]+)/gi;

/** A style sheet of another origin. */
export interface ForeignSheet {
  href: string;
  /** Whether all of its rules are for one orientation, because its link says so. */
  isOriented: boolean;
}

/** Whether the rule that reads style sheets runs: its criterion is of WCAG 2.1 AA. */
export const readsSheets = ({ runOnly }: AxeOptions): boolean => runOnly.values.includes('wcag21aa');

/** Returns the text of a style sheet that the page has loaded; null if the browser does not have it. */
export type SheetText = (url: string) => Promise<string | null>;

/** @returns the number of style sheets that were not read completely, within the limits and the time */
export async function readForeignSheets(world: IsolatedWorld, textOf: SheetText, sheets: readonly ForeignSheet[]): Promise<number> {
  if (sheets.length === 0) return 0;
  const unread = new Set(sheets);
  const reading = Promise.all(
    sheets.slice(0, SHEETS_MAX).map(async (sheet) => {
      const { texts, complete } = await textsOf(sheet, textOf);
      if (texts.length > 0) await evaluate(world, `curbcutSheets.add(${JSON.stringify(sheet.href)}, ${JSON.stringify(texts)})`);
      if (complete) unread.delete(sheet);
    }),
  );
  await withTimeLimit(reading, READ_MS, 'reading style sheets').catch((error: unknown) => {
    if (!(error instanceof TimeLimitExceeded)) throw error;
  });
  return unread.size;
}

/** The caveat of a page with style sheets that were not read. */
export function unreadSheets(count: number): PageCaveat[] {
  if (count === 0) return [];
  const message = `${count} style ${count === 1 ? 'sheet' : 'sheets'} of other origins could not be read completely, so css-orientation-lock may have missed that the page is locked to an orientation. Check it by hand.`;
  return [{ kind: 'rules_failed', message }];
}

/** The texts of a style sheet and of those that it imports, if they mention the orientation, and whether all of them were read. */
async function textsOf({ href, isOriented }: ForeignSheet, textOf: SheetText): Promise<{ texts: string[]; complete: boolean }> {
  const urls = new Set([href]);
  const texts: string[] = [];
  let complete = true;
  for (const url of urls) {
    if (urls.size > SHEETS_MAX) return { texts, complete: false };
    const text = await textOf(url);
    if (text === null || text.length > LENGTH_MAX) complete = false;
    else if (isOriented || MENTIONS.test(text)) {
      texts.push(text);
      for (const [, target] of text.matchAll(IMPORTS)) if (URL.canParse(target!, url)) urls.add(new URL(target!, url).href);
    }
  }
  return { texts, complete };
}

const DARK = /prefers-color-scheme|color-scheme\s*:[^;}]*\bdark\b/i;

/** Whether one of these style sheets has styles for a dark colour scheme. */
export async function readsDark(sheets: readonly ForeignSheet[], textOf: SheetText): Promise<boolean> {
  const texts = await Promise.all(sheets.slice(0, SHEETS_MAX).map(({ href }) => textOf(href)));
  return texts.some((text) => text !== null && text.length <= LENGTH_MAX && DARK.test(text));
}
