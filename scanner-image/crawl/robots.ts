/** Reads robots.txt (RFC 9309), and finds by it the address that a scan starts at. */
import { setTimeout as sleep } from 'node:timers/promises';
import { TextDecoder } from 'node:util';
import robotsParser from 'robots-parser';
import { type Fetched, type FetchRefusal, FetchRefused, type GuardedFetch } from '../egress/fetch.ts';
import { EGRESS_LIMITS } from '../egress/target-guard.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { type AddressParts, withoutAnchor } from './address.ts';
import { retryAfterMs } from './page-checks.ts';

/**
 * Returns the decoder of a text by its byte order mark, the charset of its header or its XML declaration; else UTF-8. A name that no
 * decoder has counts as none.
 * @param start the first bytes, of which UTF-16 without a mark has zeros
 */
export function decoderFor(start: Uint8Array, contentType: string): TextDecoder {
  const [a, b] = start;
  const text = new TextDecoder('latin1').decode(start.subarray(0, 200));
  const marked = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : a === 0xef && b === 0xbb ? 'utf-8' : null;
  const zeros = b === 0 && a !== 0 ? 'utf-16le' : a === 0 && b !== 0 ? 'utf-16be' : null;
  const named = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)/.exec(text)?.[1];
  try {
    // A file that can be read as ASCII is not in UTF-16, whatever it says.
    return new TextDecoder(marked ?? zeros ?? named?.replace(/^utf-?16.*/i, 'utf-8') ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}

/** The user agent in robots.txt files. */
export const ROBOTS_NAME = 'Curbcut';

export interface Robots {
  /** Why the page must not be crawled, or null. */
  refusal(url: AddressParts): string | null;
  /** Seconds between the starts of two pages. */
  crawlDelay: number;
  sitemaps: URL[];
  /** What the rules were read from. Null: they allow everything. */
  source: RobotsFile | null;
}

/** A robots.txt that was read. */
export interface RobotsFile {
  location: string;
  text: string;
}

/** `unreachable`: all pages are disallowed until the file can be read (RFC 9309, 2.3.1.4). `refused`: by the rules for targets. */
export type RobotsAnswer = { ok: true; robots: Robots } | { ok: false; reason: 'unreachable' | 'refused'; message: string };

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

/** The part of the file that is read, in bytes. RFC 9309 (2.5) asks for 500 KiB at least. */
export const ROBOTS_MAX_BYTES = 512 * 1024;
const MAX_DELAY_SECONDS = 5;
/** More than the egress proxy takes to connect, so that a server that is down is not mistaken for one that is slow. */
export const TIMEOUT_MS = EGRESS_LIMITS.dialMs + 2000;
/** The delays before the second and third try, in milliseconds, and the longest that a server may ask for. */
export const RETRY_MS = [1000, 3000] as const;
const RETRY_MAX_MS = 10_000;
/** The failures after which another try may succeed. */
export const TEMPORARY: readonly FetchRefusal[] = ['unreachable', 'network'];

/** Rules that allow everything. */
export const NO_ROBOTS: Robots = { refusal: () => null, crawlDelay: 0, sitemaps: [], source: null };

/** Parses a robots.txt. Its rules hold for every address of the site: with and without `www.`, over http and https. Pure. */
export function parseRobots(location: URL, text: string): Robots {
  const parsed = parse(location.href, text);
  return {
    refusal({ pathname, search }) {
      const href = location.origin + pathname + search;
      if (parsed.isAllowed(href, ROBOTS_NAME) !== false) return null;
      const line = parsed.getMatchingLineNumber(href, ROBOTS_NAME);
      return `${location.href} disallows ${pathname}${search}${line > 0 ? ` (line ${line})` : ''}.`;
    },
    crawlDelay: Math.min(MAX_DELAY_SECONDS, Math.max(0, parsed.getCrawlDelay(ROBOTS_NAME) ?? 0)),
    sitemaps: parsed.getSitemaps().flatMap((text) => (URL.canParse(text, location.href) ? [new URL(text, location)] : [])),
    source: { location: location.href, text },
  };
}

export interface RobotsDeps {
  files: Pick<GuardedFetch, 'get'>;
  headersFor?: (url: URL) => Record<string, string>;
  /** Ends the wait before another try. */
  signal?: AbortSignal;
  clock?: { now: () => Date; sleep(ms: number): Promise<unknown> };
}

/**
 * Fetches the robots.txt of a site. A missing file (4xx, or more than five redirects) allows all pages (RFC 9309, 2.3.1.3).
 * Server errors, 429 and network errors are tried again; after three tries the file is unreachable.
 * @throws the reason of the signal of `files`
 */
export async function fetchRobots(site: URL, deps: RobotsDeps): Promise<RobotsAnswer> {
  const clock = clockOf(deps);
  const location = new URL('/robots.txt', site);
  for (let tries = 0; ; tries++) {
    const answer = await tryRobots(location, deps, clock.now());
    if (answer.ok || !answer.temporary || tries >= RETRY_MS.length)
      return answer.ok
        ? answer
        : {
            ok: false,
            reason: answer.refused === true ? 'refused' : 'unreachable',
            message: unreachableMessage(location, answer, tries + 1),
          };
    await clock.sleep(Math.min(RETRY_MAX_MS, answer.waitMs ?? RETRY_MS[tries] ?? 0));
  }
}

/** The clock of tries, whose waits end with the scan. */
export function clockOf({ clock, signal }: Pick<RobotsDeps, 'clock' | 'signal'>): NonNullable<RobotsDeps['clock']> {
  return clock ?? { now: () => new Date(), sleep: (ms) => sleep(ms, undefined, { signal }) };
}

/** `down`: the site itself cannot be reached. `temporary`: another try may succeed. */
type Attempt =
  { ok: true; robots: Robots } | { ok: false; why: string; down: boolean; refused?: boolean; temporary: boolean; waitMs: number | null };

async function tryRobots(location: URL, { files, headersFor }: RobotsDeps, now: Date): Promise<Attempt> {
  let fetched: Fetched;
  try {
    fetched = await files.get(location, { maxBytes: ROBOTS_MAX_BYTES, timeoutMs: TIMEOUT_MS, headersFor });
  } catch (error) {
    if (!(error instanceof FetchRefused)) throw error;
    if (error.kind === 'redirects') return { ok: true, robots: NO_ROBOTS };
    const down = error.kind === 'unreachable' || error.kind === 'certificate';
    return {
      ok: false,
      why: error.message,
      down,
      refused: error.kind === 'refused',
      temporary: TEMPORARY.includes(error.kind),
      waitMs: null,
    };
  }
  const { status, body, cut, retryAfter } = fetched;
  if (status >= 500 || status === 429)
    return { ok: false, why: `It responded with status ${status}.`, down: false, temporary: true, waitMs: retryAfterMs(retryAfter, now) };
  if (status < 200 || status >= 300) return { ok: true, robots: NO_ROBOTS };
  const text = decoderFor(body, fetched.contentType).decode(body);
  // The last line of a cut file is not complete.
  return {
    ok: true,
    robots: parseRobots(location, cut ? text.slice(0, Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1) : text),
  };
}

function unreachableMessage(location: URL, { why, down }: Extract<Attempt, { ok: false }>, tries: number): string {
  const often = tries === 1 ? '' : ` in ${tries} tries`;
  if (down) return `${location.origin} could not be reached${often}, so no page was loaded. ${why}`;
  return `${location.href} could not be read${often}. ${why} While robots.txt is unreachable, no page may be loaded (RFC 9309, 2.3.1.4). Make the site respond with the file, or with status 404 if it has none, or scan without it (respectRobots: false).`;
}

/** `files` judges both addresses as every request of the scan. */
type StartOptions = Pick<ScanOptions, 'url' | 'httpFallback'> & { hasRoutes?: boolean };
type StartDeps = Pick<RobotsDeps, 'files' | 'signal' | 'clock'>;

/**
 * Returns the URL of the options. With `httpFallback`, returns that of plain http if the host does not answer over https and
 * answers over http. A certificate that is not accepted is an answer: the page then fails to load, and says why. Both are tried as often as
 * robots.txt, so that one lost connection does not decide where the scan starts.
 * @throws the reason of the signal of `files`
 */
export async function startOf({ url, httpFallback, hasRoutes = false }: StartOptions, deps: StartDeps): Promise<URL> {
  const start = new URL(withoutAnchor(url, hasRoutes));
  if (!httpFallback || start.protocol !== 'https:' || (await answers(start, deps))) return start;
  const plain = new URL(start);
  plain.protocol = 'http:';
  return (await answers(plain, deps)) ? plain : start;
}

/** Asks for robots.txt, which the scan reads anyway, because each page is loaded once only. */
async function answers(start: URL, deps: StartDeps): Promise<boolean> {
  const clock = clockOf(deps);
  for (let tries = 0; ; tries++) {
    try {
      await deps.files.get(new URL('/robots.txt', start), { maxBytes: 1, timeoutMs: TIMEOUT_MS });
      return true;
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      if (!TEMPORARY.includes(error.kind)) return error.kind !== 'refused';
    }
    const wait = RETRY_MS[tries];
    if (wait === undefined) return false;
    await clock.sleep(wait);
  }
}
