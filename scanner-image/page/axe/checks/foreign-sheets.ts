/**
 * Hands style sheets of other origins to our world, for the check of locked orientations (orientation.js). Scripts cannot read them;
 * the browser's protocol can, without another request to a host that our own program would have to make.
 */
import type { PageCaveat } from '../../../../report/schema/schema.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../../platform/time-limits.ts';
import type { AxeOptions } from '../source.ts';
import { evaluate, type IsolatedWorld } from '../world.ts';

/** More style sheets of other origins are not read, with those that they import. */
const SHEETS_MAX = 20;
/** Longer style sheets are not read, in characters. */
const LENGTH_MAX = 5_000_000;
/** The time limit for the style sheets of a document, in milliseconds. */
const READ_MS = 2000;
/** What a style sheet must mention to be read. */
const MENTIONS = String.raw`orientation\s*:|@import`;
const IMPORTS = /@import\s+(?:url\(\s*)?["']?([^"')\s;]+)/gi;

/** A style sheet of another origin. */
export interface ForeignSheet {
  href: string;
  /** Whether all of its rules are for one orientation, because its link says so. */
  isOriented: boolean;
}

/** Whether the rule that reads style sheets runs: its criterion is of WCAG 2.1 AA. */
export const readsSheets = ({ runOnly }: AxeOptions): boolean => runOnly.values.includes('wcag21aa');

/** @returns the number of style sheets that were not read completely, within the limits and the time */
export async function readForeignSheets(world: IsolatedWorld, frameId: string, sheets: readonly ForeignSheet[]): Promise<number> {
  if (sheets.length === 0) return 0;
  const unread = new Set(sheets);
  const reading = Promise.all(
    sheets.slice(0, SHEETS_MAX).map(async (sheet) => {
      const { texts, complete } = await textsOf(world, frameId, sheet);
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
async function textsOf(
  world: IsolatedWorld,
  frameId: string,
  { href, isOriented }: ForeignSheet,
): Promise<{ texts: string[]; complete: boolean }> {
  const urls = new Set([href]);
  const texts: string[] = [];
  let complete = true;
  for (const url of urls) {
    if (urls.size > SHEETS_MAX) return { texts, complete: false };
    const text = await textOf(world, { frameId, url }, isOriented);
    if (text === null) complete = false;
    else if (text !== '') texts.push(text);
    for (const [, target] of (text ?? '').matchAll(IMPORTS)) if (URL.canParse(target!, url)) urls.add(new URL(target!, url).href);
  }
  return { texts, complete };
}

/** The text of a style sheet; empty if it does not mention the orientation, null if it cannot be read. */
async function textOf({ cdp }: IsolatedWorld, resource: { frameId: string; url: string }, isOriented: boolean): Promise<string | null> {
  try {
    if (!isOriented) {
      const { result } = await cdp.send('Page.searchInResource', { ...resource, query: MENTIONS, isRegex: true });
      if (result.length === 0) return '';
    }
    const { content, base64Encoded } = await cdp.send('Page.getResourceContent', resource);
    return base64Encoded || content.length > LENGTH_MAX ? null : content;
  } catch {
    return null;
  }
}
