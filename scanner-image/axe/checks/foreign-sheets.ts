/**
 * Hands style sheets of other origins to our world, for the check of locked orientations (orientation.js). Scripts cannot read them;
 * the browser's protocol can, without another request to a host that our own program would have to make.
 */
import { TimeLimitExceeded, withTimeLimit } from '../../../platform/time-limits.ts';
import type { AxeOptions } from '../source.ts';
import { evaluate, type Place } from '../world.ts';

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

/** Reads style sheets. What cannot be read in time is left out: the rule then does not see it, as before. */
export async function readForeignSheets(place: Place, frameId: string, sheets: readonly ForeignSheet[]): Promise<void> {
  if (sheets.length === 0) return;
  const reading = Promise.all(
    sheets.slice(0, SHEETS_MAX).map(async (sheet) => {
      const texts = await textsOf(place, frameId, sheet);
      if (texts.length > 0) await evaluate(place, `curbcutSheets.add(${JSON.stringify(sheet.href)}, ${JSON.stringify(texts)})`);
    }),
  );
  await withTimeLimit(reading, READ_MS, 'reading style sheets').catch((error: unknown) => {
    if (!(error instanceof TimeLimitExceeded)) throw error;
  });
}

/** The texts of a style sheet and of those that it imports, if they mention the orientation. */
async function textsOf({ cdp }: Place, frameId: string, { href, isOriented }: ForeignSheet): Promise<string[]> {
  const urls = new Set([href]);
  const texts: string[] = [];
  for (const url of urls) {
    if (urls.size > SHEETS_MAX) break;
    const text = await mentioning(url);
    if (text === null || text.length > LENGTH_MAX) continue;
    texts.push(text);
    for (const [, target] of text.matchAll(IMPORTS)) if (URL.canParse(target!, url)) urls.add(new URL(target!, url).href);
  }
  return texts;

  async function mentioning(url: string): Promise<string | null> {
    const resource = { frameId, url };
    if (!isOriented) {
      const found = await cdp.send('Page.searchInResource', { ...resource, query: MENTIONS, isRegex: true }).catch(() => null);
      if (found === null || found.result.length === 0) return null;
    }
    const content = await cdp.send('Page.getResourceContent', resource).catch(() => null);
    return content === null || content.base64Encoded ? null : content.content;
  }
}
