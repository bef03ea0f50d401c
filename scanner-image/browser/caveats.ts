/** Sentences about what may be missing on a tested page. Pure. */
import type { PageCaveat } from '../../core/report/schema.ts';

/** The number of addresses that a sentence names. */
const NAMED_MAX = 3;
const URL_MAX = 200;

const seconds = (ms: number): string => `${Math.max(0.1, ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;

export const notQuiet = (limitMs: number): PageCaveat => ({
  kind: 'not_quiet',
  message: `The page was still changing after ${seconds(limitMs)}. It was tested as it was then. If content is missing, raise crawl.settleMs or name an element in crawl.waitFor.`,
});

export const notScrolled = (screens: number): PageCaveat => ({
  kind: 'not_scrolled',
  message: `The page shows more content the further it is scrolled. It was scrolled through ${screens} screens, and content beyond them was not tested.`,
});

export const HANGS_ON_SCROLL: PageCaveat = {
  kind: 'not_scrolled',
  message:
    'The page, or one like it, stopped responding when it was scrolled. It was tested without scrolling, and content that appears only on scrolling was not tested. Look for a script that handles scrolling and does not return.',
};

/** @param matched false, or the browser's message if the selector is invalid */
export const waitForMissing = (selector: string, matched: boolean | string): PageCaveat => ({
  kind: 'wait_for_missing',
  message:
    typeof matched === 'string'
      ? `crawl.waitFor is not a valid CSS selector (${selector}). The page was tested without it.`
      : `No element matched crawl.waitFor (${selector}) in time. The page was tested without it.`,
});

/**
 * @param open URLs without a complete response, for which the page has waited
 * @param blocked URLs that were not requested, because they or their hosts did not answer on an earlier page
 */
export function requestCaveats(open: readonly string[], blocked: readonly string[]): PageCaveat[] {
  const sentences: string[] = [];
  if (open.length > 0) sentences.push(`No complete response arrived in time from ${namesOf(open)}.`);
  if (blocked.length > 0)
    sentences.push(`Not requested, because this scan has waited for the same host or file in vain before: ${namesOf(blocked)}.`);
  if (sentences.length === 0) return [];
  return [{ kind: 'requests_unanswered', message: `${sentences.join(' ')} The page was tested without what they show.` }];
}

function namesOf(urls: readonly string[]): string {
  const names = [...new Set(urls.map(withoutQuery))];
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A query may contain personal data, and it is long. */
const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '').slice(0, URL_MAX);
