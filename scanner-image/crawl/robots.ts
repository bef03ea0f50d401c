/** What a site's robots.txt allows (RFC 9309). */
import robotsParser from 'robots-parser';
import { FetchRefused, type GuardedFetch } from '../egress/fetch.ts';

/** The name that robots.txt files know us by. */
export const ROBOTS_NAME = 'Curbcut';

export interface Robots {
  /** Null where the page may be crawled, else why not. */
  forbids(url: URL): string | null;
  /** Seconds to leave between two pages. */
  crawlDelay: number;
  sitemaps: URL[];
}

/** The parser's own types are made for CommonJS and are lost on the way. */
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
export const NO_ROBOTS: Robots = { forbids: () => null, crawlDelay: 0, sitemaps: [] };

/** Reads the text of a robots.txt. Pure. */
export function parseRobots(location: URL, text: string): Robots {
  const parsed = parse(location.href, text);
  return {
    forbids(url) {
      if (parsed.isAllowed(url.href, ROBOTS_NAME) !== false) return null;
      const line = parsed.getMatchingLineNumber(url.href, ROBOTS_NAME);
      return `${location.href} forbids ${url.pathname}${line > 0 ? ` (line ${line})` : ''}.`;
    },
    crawlDelay: Math.min(MAX_DELAY_SECONDS, Math.max(0, parsed.getCrawlDelay(ROBOTS_NAME) ?? 0)),
    sitemaps: parsed.getSitemaps().flatMap((text) => (URL.canParse(text, location.href) ? [new URL(text, location)] : [])),
  };
}

/**
 * Fetches the robots.txt of a site. None (4xx) allows all, an error of the server forbids all (RFC 9309, 2.3.1); a site
 * that cannot be reached at all allows all here, for the page itself will tell.
 */
export async function fetchRobots(site: URL, files: GuardedFetch, headersFor?: (url: URL) => Record<string, string>): Promise<Robots> {
  const location = new URL('/robots.txt', site);
  try {
    const { status, body } = await files.get(location, { maxBytes: MAX_BYTES, timeoutMs: 10_000, headersFor });
    if (status >= 500)
      return { ...NO_ROBOTS, forbids: () => `${location.href} answers ${status}, so nothing may be crawled (RFC 9309, 2.3.1.4).` };
    if (status < 200 || status >= 300) return NO_ROBOTS;
    return parseRobots(location, new TextDecoder().decode(body));
  } catch (error) {
    if (error instanceof FetchRefused) return NO_ROBOTS;
    throw error;
  }
}
