/** Which URLs are the same page, which belong to the site, and which belong to the scan. Pure. */
import type { CrawlRules } from '../../core/scan/options.ts';
import { HOST_MAX } from '../../report/schema/report.ts';
import { bareHost, isOnHost, movedWithin, sameSite } from '../../core/scan/site.ts';

/** Query parameters that track visitors and do not change the page. */
const TRACKING =
  /^(utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok)$/i;

/** Query parameters that hold a session ID: every visit gets another one, because it starts without cookies. */
const SESSION = /^(jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|cfid|cftoken|oscsid|xtcsid|zenid|mscssid)$/i;
/** Names that may also mean something else, such as a story or a session of a conference. Only long random values are removed. */
const PERHAPS_SESSION = /^(?:s|sid|ssid|sess|sess_?id|session|session_?id)$/i;
const RANDOM_VALUE = /^(?=\D*\d)(?=[^a-z]*[a-z])\w{16,}$|^[0-9a-f-]{36}$/i;
/** Session IDs in the path: `/a;jsessionid=1F3A`, and ASP.NET's `/(S(lit3py55))/a`. */
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid|session_?id|cfid|cftoken)=[^/;]*|(?<=\/)\((?:[ASFX]\([\w-]*\))+\)\//gi;

/** File extensions that are never pages. Links to them are not followed, to save requests. */
const NOT_A_PAGE =
  /\.(?:pdf|zip|gz|tgz|bz2|xz|7z|rar|exe|msi|dmg|pkg|deb|rpm|apk|iso|jar|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub|csv|ics|vcf|png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|mp3|m4a|ogg|oga|wav|flac|mp4|m4v|webm|ogv|mov|avi|mkv|woff2?|ttf|otf|eot|css|mjs|min\.js|map|rss|atom|wasm)$/i;
/** Wikis describe a file on a page such as `/wiki/File:Plan.png`. */
const PAGE_ABOUT_FILE = /(?:^|\/)[^/:]+:[^/]+$/;
/** A fragment that is not a hash route (`#/…`, `#!…`) names a place on the page. `#!` alone is a link without a target. */
const ANCHOR = /#(?![/!]).*$|#!?$/s;
/** What is no route even if all fragments are: the top of the page, and a text on it. */
const NEVER_ROUTE = /#(?:!|top|.*:~:.*)?$/is;
/** The route of the start page of an application. */
const START_ROUTE = /^(?:#!?\/?)?$/;

/**
 * Removes the fragment of an address, unless it is a hash route.
 * @param hasRoutes fragments are routes whatever they look like
 */
export function withoutAnchor(href: string, hasRoutes = false): string {
  return href.replace(hasRoutes ? NEVER_ROUTE : ANCHOR, '');
}

/** The parts of an address that the rules of a scan are about. */
export type AddressParts = Readonly<Pick<URL, 'pathname' | 'search' | 'hash'>>;

/** The address of a page, read once: a page may link to thousands, and the getters of a `URL` take time. */
export interface PageAddress extends AddressParts {
  readonly href: string;
  /** See `pageKey`. */
  readonly key: string;
}

/** @param url as the scan loads it: a fragment is a route */
export function addressOf(url: URL): PageAddress {
  return partsOf(url, pageKey(url, true));
}

const partsOf = ({ href, pathname, search, hash }: URL, key: string): PageAddress => ({ href, pathname, search, hash, key });

/**
 * The URL to load: without anchor, credentials, tracking parameters and session IDs. Other queries are not changed.
 * @param hasRoutes as for `withoutAnchor`
 */
export function cleanUrl(url: URL, hasRoutes = false): URL {
  const page = new URL(url);
  page.hash = withoutAnchor(page.hash, hasRoutes);
  page.username = page.password = '';
  page.pathname = page.pathname.replace(SESSION_IN_PATH, '');
  page.search = withoutParameters(page.search, isNoise);
  return page;
}

/** Removes parameters of a query, and leaves the others as they are written: they need not be in UTF-8. */
export function withoutParameters(search: string, isRemoved: (name: string, value: string) => boolean): string {
  const parts = search.slice(1).split('&');
  const kept = parts.filter((part) => ![...new URLSearchParams(part)].some(([name, value]) => isRemoved(name, value)));
  return kept.length === parts.length ? search : kept.join('&');
}

function isNoise(name: string, value: string): boolean {
  return TRACKING.test(name) || SESSION.test(name) || (PERHAPS_SESSION.test(name) && RANDOM_VALUE.test(value));
}

/**
 * The key of a page, equal for all its URLs: sorted parameters, no trailing slash, normalised host, no scheme.
 * @param hasRoutes as for `withoutAnchor`
 */
export function pageKey(url: URL, hasRoutes = false): string {
  return keyOf(cleanUrl(url, hasRoutes));
}

function keyOf(page: URL): string {
  const { pathname, search, hash } = page;
  const parameters = search
    .slice(1)
    .split('&')
    .filter((part) => part !== '');
  const query = parameters.length === 0 ? '' : `?${parameters.map(parameterKey).sort().join('&')}`;
  const route = START_ROUTE.test(hash) ? '' : withoutFinalSlash(hash.replace(/^#!?\/?/, '#/'));
  return `${bareHost(page)}${withoutFinalSlash(upperEscapes(pathname))}${query}${route}`;
}

/** A parameter in one spelling. Its bytes stay as they are, because they need not be those of UTF-8. */
function parameterKey(part: string): string {
  const [name = '', ...value] = part.replaceAll('+', '%20').split('=');
  return [name, value.join('=')].map((text) => text.replace(/%[0-9a-f]{2}|[^\w.*%-]/gi, spelling)).join('=');
}

/** The character of an escape if it needs none, else the escape in capitals. */
function spelling(text: string): string {
  const code = text.length === 1 ? text.charCodeAt(0) : parseInt(text.slice(1), 16);
  const character = String.fromCharCode(code);
  return /[\w.*-]/.test(character) ? character : `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
}

/** A path whose escapes are written in one way: `%C3`, not `%c3`. */
export function upperEscapes(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase());
}

const withoutFinalSlash = (path: string): string => path.replace(/(?<=[^/]|^\/)\/+$/, '');

/** Domains below which organisations register theirs, such as `co.uk`. */
const SHARED_DOMAIN = /^(?:ac|co|com|edu|gob|gouv|gov|gv|mil|ne|net|nom|or|org)\.[a-z]{2}$/;

/** Whether two URLs probably belong to one organisation: one site, or hosts of one domain, such as api.example.org and www.example.org. */
export function sameFamily(a: URL, b: URL): boolean {
  if (movedWithin(a, b)) return true;
  const domain = domainOf(a.hostname);
  return domain !== null && domain === domainOf(b.hostname);
}

function domainOf(host: string): string | null {
  const labels = host.replace(/\.$/, '').split('.');
  if (!/[a-z]/.test(labels.at(-1) ?? '')) return null;
  const end = labels.slice(-2).join('.');
  const length = SHARED_DOMAIN.test(end) ? 3 : 2;
  return labels.length < length ? null : labels.slice(-length).join('.');
}

/** An address that is longer is not followed, in characters. Links that are cut have one more (scripts/facts.js). */
export const ADDRESS_MAX = 2048;

/**
 * Where a link leads: to a page or a file of the site, to another host, or to an address of the site that is too long. `asLinked` is the
 * address with its path and query as they are written, if that is another spelling.
 */
export type LinkTarget =
  | { kind: 'page' | 'file'; page: PageAddress; asLinked: PageAddress | null }
  | { kind: 'other'; host: string; href: string }
  | { kind: 'too_long' };

/** Which links belong to a scan. */
export interface LinkRules {
  /** Further hosts of the site, as in `CrawlRules`. */
  hosts: readonly string[];
  /** The host for which the site stands as a preview; empty: none. */
  rewriteHost: string;
  /** As for `withoutAnchor`. */
  hasRoutes: boolean;
}

/** Returns where a link leads; null if it is not on the web. Pages and files of the scan's own host get its origin. */
export function targetOf(link: string, site: URL, rules: Partial<LinkRules> = {}): LinkTarget | null {
  const { hosts = [], rewriteHost = '', hasRoutes = false } = rules;
  const url = URL.parse(link);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.host.length > HOST_MAX) return null;
  const isOwn = sameSite(url, site) || isOnHost(url, rewriteHost);
  if (!isOwn && !hosts.some((host) => isOnHost(url, host))) return { kind: 'other', host: url.host, href: withoutAnchor(url.href) };
  if (link.length > ADDRESS_MAX) return { kind: 'too_long' };
  if (isOwn) moveTo(site, url);
  const page = cleanUrl(url, hasRoutes);
  const address = addressOf(page);
  url.hash = page.hash;
  url.username = url.password = '';
  const asLinked = url.href === page.href ? null : partsOf(url, address.key);
  return { kind: isFile(url.pathname) ? 'file' : 'page', page: address, asLinked };
}

/** Gives a URL the origin of a site, in place. */
function moveTo({ protocol, hostname, port }: URL, url: URL): URL {
  return Object.assign(url, { protocol, hostname, port });
}

/** The URL on the site, if it is on the host for which the site stands as a preview. */
export const rewritten = (url: URL, site: URL, { rewriteHost }: Pick<LinkRules, 'rewriteHost'>): URL =>
  isOnHost(url, rewriteHost) ? moveTo(site, new URL(url)) : url;

function isFile(path: string): boolean {
  return NOT_A_PAGE.test(path) && !PAGE_ABOUT_FILE.test(path);
}

/** A path deeper than this is not one that an author made. */
const SEGMENTS_MAX = 30;
/** The same segments three times in a row, which relative links make at an address that answers everything. */
const REPEATED = /(?<=\/)((?:[^/]+\/){1,4})\1\1/;

/** Whether a site probably leads to ever longer addresses, such as `/a/b/a/b/a/b/`. */
export function repeatsItself({ pathname }: AddressParts): boolean {
  const segments = pathname.split('/').length;
  return segments > SEGMENTS_MAX || (segments > 3 && REPEATED.test(`${pathname}/`));
}

/**
 * Returns a function that checks whether the path, query and hash route of a URL belong to the scan. A glob without `?`
 * matches the path with any query, and a glob without `#` matches it with any route.
 */
export function scopeOf(rules: Pick<CrawlRules, 'include' | 'exclude'>): (url: AddressParts) => boolean {
  const include = rules.include.map(addressGlob);
  const exclude = rules.exclude.map(addressGlob);
  return (url) => (include.length === 0 || include.some((matches) => matches(url))) && !exclude.some((matches) => matches(url));
}

/** Returns a function that checks whether a glob of the scan matches an address. */
export function addressGlob(text: string): (url: AddressParts) => boolean {
  const encoded = text.toWellFormed().replace(/[^ -~]+/g, encodeURIComponent);
  const glob = compileGlob(text.startsWith('/') || text.startsWith('*') ? encoded : `/${encoded}`);
  const [ignoresQuery, ignoresRoute] = [!text.includes('?'), !text.includes('#')];
  return (url) => {
    const route = ignoresRoute ? '' : url.hash;
    return matchesGlob(glob, url.pathname + url.search + route) || (ignoresQuery && matchesGlob(glob, url.pathname + route));
  };
}

/*
 * Globs over the path and query of a URL: `*` matches within a path segment, `**` across segments, and every other
 * character matches itself.
 *
 * The glob comes from the caller and the paths come from the site, and a regular expression would backtrack: eight `*`
 * against 50 characters took 6.2 s. This matcher tracks all positions in parallel, so its time is bounded by the length of
 * the glob times the length of the text.
 */

/** A character code, or one of the wildcards below. */
type Token = number;
interface Glob {
  readonly tokens: readonly Token[];
  /** What is between the wildcards. */
  readonly parts: readonly string[];
}

/** `*`: any characters without a slash. */
const WITHIN_SEGMENT = -1;
/** `**`: any characters. */
const ACROSS_SEGMENTS = -2;
/** A double star with a slash is two tokens: nothing at all, or any characters that end with a slash. */
const OPTIONAL = -3;
const FOLDERS = -4;
const SLASH = '/'.charCodeAt(0);

export function compileGlob(glob: string): Glob {
  const parts = glob.split(/(\*\*\/?|\*)/);
  const tokens = parts.flatMap((part): Token[] => {
    if (part === '**/') return [OPTIONAL, FOLDERS];
    if (part === '**') return [ACROSS_SEGMENTS];
    if (part === '*') return [WITHIN_SEGMENT];
    return Array.from({ length: part.length }, (_, at) => part.charCodeAt(at));
  });
  return { tokens, parts: parts.filter((_part, at) => at % 2 === 0) };
}

/**
 * Returns true if a text has these parts in their order: the first one at its start, the last one at its end, the others
 * between them without overlaps. A single part must be the text.
 */
function hasParts(parts: readonly string[], text: string): boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return text === first;
  if (!text.startsWith(first)) return false;
  let end = first.length;
  for (let index = 1; index < parts.length - 1; index += 1) {
    const part = parts[index]!;
    const at = text.indexOf(part, end);
    if (at < 0) return false;
    end = at + part.length;
  }
  return text.length - last.length >= end && text.endsWith(last);
}

/**
 * Returns true if the glob matches the whole text.
 * @param onStep called once for each comparison of a token with a character, so that tests can count them
 */
export function matchesGlob(glob: Glob, text: string, onStep?: () => void): boolean {
  const { tokens, parts } = glob;
  // Most globs and addresses have nothing in common. A page of 20,000 links and 50 globs must not block the process.
  if (!hasParts(parts, text)) return false;
  /** Positions in the glob that the text may have reached. */
  const start = parts[0]?.length ?? 0;
  let positions = new Set([start]);
  for (let at = start; positions.size > 0; at += 1) {
    const code = text.charCodeAt(at); // NaN at the end, which equals no token
    const next = new Set<number>();
    // The set grows during the loop, because a wildcard may also match nothing.
    for (const position of positions) {
      onStep?.();
      const token = tokens[position];
      if (token === ACROSS_SEGMENTS && position === tokens.length - 1) return true;
      if (token === WITHIN_SEGMENT || token === ACROSS_SEGMENTS || token === OPTIONAL) positions.add(position + 1);
      if (token === OPTIONAL) positions.add(position + 2);
      if (token === ACROSS_SEGMENTS || token === FOLDERS || (token === WITHIN_SEGMENT && code !== SLASH)) next.add(position);
      if (token === code || (token === FOLDERS && code === SLASH)) next.add(position + 1);
    }
    if (at === text.length) return positions.has(tokens.length);
    positions = next;
  }
  return false;
}
