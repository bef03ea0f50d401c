/** Which URLs are the same page, which belong to the site, and which belong to the scan. Pure. */
import type { CrawlRules } from '../../core/scan/options.ts';
import { bareHost, movedWithin, sameSite } from '../../core/scan/site.ts';
import { compileGlob, matchesGlob } from './glob.ts';

/** Query parameters that track visitors and do not change the page. */
const TRACKING =
  /^(utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok)$/i;

/** Query parameters that hold a session ID: every visit gets another one, because it starts without cookies. */
const SESSION = /^(jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|cfid|cftoken|oscsid|xtcsid|zenid|mscssid)$/i;
/** Names that may also mean something else, such as a story or a session of a conference. Only long random values are removed. */
const PERHAPS_SESSION = /^(?:s|sid|ssid|sess|sess_?id|session|session_?id)$/i;
/** The beginnings of all names above. Most queries have none of them, and are not parsed. */
const PERHAPS_NOISE =
  /[?&](?:utm_|gcl|gbr|wbr|dcl|fbc|msc|ycl|twc|ttc|igs|mc_|_ga|_gl|_hs|mkt|jse|phps|s=|s?sid|sess|asp|cf|osc|xtc|zen|[^=&]*%)/i;
const RANDOM_VALUE = /^(?=\D*\d)(?=[^a-z]*[a-z])\w{16,}$|^[0-9a-f-]{36}$/i;
/** Session IDs in the path: `/a;jsessionid=1F3A`, and ASP.NET's `/(S(lit3py55))/a`. */
const SESSION_IN_PATH = /;(?:jsessionid|phpsessid|sid|session_?id|cfid|cftoken)=[^/;]*|(?<=\/)\((?:[ASFX]\([\w-]*\))+\)\//gi;

/** File extensions that are never pages. Links to them are not followed, to save requests. */
const NOT_A_PAGE =
  /\.(?:pdf|zip|gz|tgz|bz2|xz|7z|rar|exe|msi|dmg|pkg|deb|rpm|apk|iso|jar|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub|csv|ics|vcf|png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|mp3|m4a|ogg|oga|wav|flac|mp4|m4v|webm|ogv|mov|avi|mkv|woff2?|ttf|otf|eot|css|mjs|min\.js|map|rss|atom|wasm)$/i;
/** Wikis describe a file on a page such as `/wiki/File:Plan.png`. */
const PAGE_ABOUT_FILE = /(?:^|\/)[^/:]+:[^/]+$/;
/** File extensions that pages have too, such as `/wiki/Node.js` and `README.md`. The content type decides. */
const PERHAPS_A_FILE = /\.(?:js|json|xml|txt|md)$/i;

/** A fragment that is not a hash route (`#/…`, `#!…`) names a place on the page. `#!` alone is a link without a target. */
const ANCHOR = /#(?![/!]).*$|#!?$/s;
/** The route of the start page of an application. */
const START_ROUTE = /^(?:#!?\/?)?$/;

/** Removes the fragment of an address, unless it is a hash route. */
export function withoutAnchor(href: string): string {
  return href.replace(ANCHOR, '');
}

/** The parts of an address that the rules of a scan are about. */
export type AddressParts = Readonly<Pick<URL, 'pathname' | 'search' | 'hash'>>;

/** The address of a page, read once: a page may link to thousands, and the getters of a `URL` take time. */
export interface PageAddress extends AddressParts {
  readonly href: string;
  /** See `pageKey`. */
  readonly key: string;
}

export function addressOf(url: URL): PageAddress {
  return addressWith(pageKey(url), url.href, url);
}

const addressWith = (key: string, href: string, { pathname, search, hash }: AddressParts): PageAddress => ({
  href,
  pathname,
  search,
  hash,
  key,
});

/** The URL to load: without anchor, credentials, tracking parameters and session IDs. */
export function cleanUrl(url: URL): URL {
  return clean(new URL(url));
}

/** Whether `clean` changes nothing: most addresses of a site, so that they are not parsed again. */
function isClean({ href, search, hash }: URL): boolean {
  if (/[@;(]/.test(href) || (search === '' ? href.includes('?') : PERHAPS_NOISE.test(search))) return false;
  return !href.includes('#') || (hash !== '' && withoutAnchor(hash) === hash);
}

function clean(url: URL): URL {
  if (isClean(url)) return url;
  if (url.href.includes('#')) url.hash = withoutAnchor(url.hash);
  if (url.username !== '') url.username = '';
  if (url.password !== '') url.password = '';
  const path = url.pathname;
  if (path.includes(';') || path.includes('(')) url.pathname = path.replace(SESSION_IN_PATH, '');
  const search = withoutNoise(url.search);
  if (search !== url.search || (search === '' && url.href.includes('?'))) url.search = search;
  return url;
}

/** A query without the parameters that do not change the page. Other queries are not changed. */
function withoutNoise(search: string): string {
  if (!PERHAPS_NOISE.test(search)) return search;
  const isPlain = PLAIN_QUERY.test(search);
  const parameters = isPlain ? plainParameters(search) : [...new URLSearchParams(search)];
  const kept = parameters.filter(([name, value]) => !isNoise(name, value));
  if (kept.length === parameters.length) return search;
  if (kept.length === 0) return '';
  return `?${isPlain ? kept.map((parameter) => parameter.join('=')).join('&') : new URLSearchParams(kept).toString()}`;
}

function plainParameters(search: string): [name: string, value: string][] {
  return search
    .slice(1)
    .split('&')
    .map((parameter) => {
      const at = parameter.indexOf('=');
      return [parameter.slice(0, at), parameter.slice(at + 1)];
    });
}

function isNoise(name: string, value: string): boolean {
  return TRACKING.test(name) || SESSION.test(name) || (PERHAPS_SESSION.test(name) && RANDOM_VALUE.test(value));
}

/** The key of a page, equal for all its URLs: sorted parameters, no trailing slash, normalised host, no scheme. */
export function pageKey(url: URL): string {
  const page = isClean(url) ? url : cleanUrl(url);
  return keyOf(bareHost(page), page);
}

function keyOf(host: string, { pathname, search, hash }: AddressParts): string {
  const route = hash === '' || START_ROUTE.test(hash) ? '' : withoutFinalSlash(hash.replace(/^#!?\/?/, '#/'));
  return `${host}${withoutFinalSlash(upperEscapes(pathname))}${sortedQuery(search)}${route}`;
}

/** A path whose escapes are written in one way: `%C3`, not `%c3`. */
export function upperEscapes(path: string): string {
  return path.includes('%') ? path.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase()) : path;
}

const withoutFinalSlash = (path: string): string => (path.endsWith('/') ? path.replace(/(?<=.)\/+$/, '') : path);

/** A query that is written as `URLSearchParams` would write it. Plain queries need no parser, which pages with thousands of links notice. */
const PLAIN_QUERY = /^\?[\w.*-]+=[\w.*-]*(?:&[\w.*-]+=[\w.*-]*)*$/;

/** A query as `URLSearchParams` writes it, with its parameters in one order. */
function sortedQuery(search: string): string {
  if (search === '') return '';
  const written = PLAIN_QUERY.test(search) ? search : `?${new URLSearchParams(search).toString()}`;
  return isSorted(written) ? written : `?${written.slice(1).split('&').sort().join('&')}`;
}

function isSorted(query: string): boolean {
  let last = '';
  for (let at = 1, end = 0; end >= 0; at = end + 1) {
    end = query.indexOf('&', at);
    const parameter = query.slice(at, end < 0 ? undefined : end);
    if (parameter < last) return false;
    last = parameter;
  }
  return true;
}

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

/** An address that is longer is not followed, in characters. Links that are cut have one more (axe/facts.js). */
export const ADDRESS_MAX = 2048;

/** The path and query of most links. A parser would not change them, and they have no fragment and no session ID in the path. */
const PLAIN = /^(?:\/(?!\.|%2[eE])[\w.~%!$'*+,:=&-]*)+(?:\?[\w.~%!$*+,:=&/?@;()|-]+)?$/;

/**
 * Returns the function that reads links. It returns the address to load, on the site's origin, or null if the link does not
 * lead to a page of the site.
 */
export function pagesOf(site: URL): (link: string) => PageAddress | null {
  const { origin } = site;
  const host = bareHost(site);

  function plainPage(link: string): PageAddress | null {
    const at = link.indexOf('?');
    const query = at < 0 ? '' : link.slice(at);
    const pathname = link.slice(origin.length, at < 0 ? undefined : at);
    if (isFile(pathname)) return null;
    const search = query === '' ? '' : withoutNoise(query);
    const parts = { pathname, search, hash: '' };
    return addressWith(keyOf(host, parts), search === query ? link : `${origin}${pathname}${search}`, parts);
  }

  return (link) => {
    if (link.length > ADDRESS_MAX) return null;
    if (link.startsWith(origin) && PLAIN.test(link.slice(origin.length))) return plainPage(link);
    const url = URL.parse(link);
    if (url === null || !leadsTo(url, site) || isFile(url.pathname)) return null;
    const page = clean(url);
    if (page.protocol !== site.protocol) page.protocol = site.protocol;
    if (page.host !== site.host) page.host = site.host;
    return addressOf(page);
  };
}

/** Whether a link leads to the site and is too long to be followed. */
export function isTooLong(link: string, site: URL): boolean {
  const url = link.length > ADDRESS_MAX ? URL.parse(link) : null;
  return url !== null && leadsTo(url, site);
}

const leadsTo = (url: URL, site: URL): boolean => (url.protocol === 'http:' || url.protocol === 'https:') && sameSite(url, site);

function isFile(path: string): boolean {
  return path.includes('.') && NOT_A_PAGE.test(path) && !PAGE_ABOUT_FILE.test(path);
}

/** Whether the path ends like a file that is not a page, so that an answer which is not HTML is no fault of the site. */
export function looksLikeFile(url: URL): boolean {
  return PERHAPS_A_FILE.test(url.pathname);
}

/** A path deeper than this is not one that people made. */
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
