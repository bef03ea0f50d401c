/** Reads robots.txt (RFC 9309). */
import robotsParser from 'robots-parser';
import { FetchRefused, type GuardedFetch } from '../egress/fetch.ts';

/** The user agent in robots.txt files. */
export const ROBOTS_NAME = 'Curbcut';

export interface Robots {
  /** Why the page must not be crawled, or null. */
  refusal(url: URL): string | null;
  /** Seconds between the starts of two pages. */
  crawlDelay: number;
  sitemaps: URL[];
}

/** The package's types assume CommonJS, and the default import has no type without this cast. */
const parse = robotsParser as unknown as (
  url: string,
  text: string,
) => {
  isAllowed(url: string, name: string): boolean | undefined;
  getMatchingLineNumber(url: string, name: string): number;
  getCrawlDelay(name: string): number | undefined;
  getSitemaps(): string[];
};

const MAX_BYTES = 512 * 1024;
const MAX_DELAY_SECONDS = 5;

/** Rules that allow everything. */
export const NO_ROBOTS: Robots = { refusal: () => null, crawlDelay: 0, sitemaps: [] };

/** Parses a robots.txt. Pure. */
export function parseRobots(location: URL, text: string): Robots {
  const parsed = parse(location.href, text);
  return {
    refusal(url) {
      if (parsed.isAllowed(url.href, ROBOTS_NAME) !== false) return null;
      const line = parsed.getMatchingLineNumber(url.href, ROBOTS_NAME);
      return `${location.href} disallows ${url.pathname}${line > 0 ? ` (line ${line})` : ''}.`;
    },
    crawlDelay: Math.min(MAX_DELAY_SECONDS, Math.max(0, parsed.getCrawlDelay(ROBOTS_NAME) ?? 0)),
    sitemaps: parsed.getSitemaps().flatMap((text) => (URL.canParse(text, location.href) ? [new URL(text, location)] : [])),
  };
}

/**
 * Fetches the robots.txt of a site. A missing file (4xx) allows all pages; a server error disallows all pages (RFC 9309,
 * 2.3.1). If the site is unreachable all pages are allowed, because the first page then reports the reason.
 */
export async function fetchRobots(site: URL, files: GuardedFetch, headersFor?: (url: URL) => Record<string, string>): Promise<Robots> {
  const location = new URL('/robots.txt', site);
  try {
    const { status, body } = await files.get(location, { maxBytes: MAX_BYTES, timeoutMs: 10_000, headersFor });
    if (status >= 500)
      return {
        ...NO_ROBOTS,
        refusal: () => `${location.href} responded with status ${status}, which disallows all pages (RFC 9309, 2.3.1.4).`,
      };
    if (status < 200 || status >= 300) return NO_ROBOTS;
    return parseRobots(location, new TextDecoder().decode(body));
  } catch (error) {
    if (error instanceof FetchRefused) return NO_ROBOTS;
    throw error;
  }
}
