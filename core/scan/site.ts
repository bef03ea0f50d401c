/** Returns the host of a URL in lower case, with its port if it is not the default one; empty if the text is not a URL. */
export function siteOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}

/** The host without `www.` and final dot, with its port unless it is the scheme's default. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^www\./, '').replace(/\.$/, '') + (url.port === '' ? '' : `:${url.port}`);
}

/**
 * Returns the path of a page of a site, with its query and fragment. The page has the same host and port, over http or https,
 * because a scan may fall back to http. The default port of one scheme is not that of the other. Null if it is another site, or no
 * such URL.
 */
export function pathOnSite(page: string, site: string): string | null {
  const [url, own] = [URL.parse(page), URL.parse(site)];
  if (url === null || own === null || !['http:', 'https:'].includes(url.protocol)) return null;
  own.protocol = url.protocol;
  return own.host === url.host ? url.pathname + url.search + url.hash : null;
}

/** Whether two URLs belong to one site: the same host and port, regardless of `www.` and the scheme. */
export function sameSite(a: URL, b: URL): boolean {
  return a.host === b.host || bareHost(a) === bareHost(b);
}

/** Whether a URL is on a host: `example.org`, also with `www.`, or any name below `*.example.org`; each with its port. */
export function isOnHost(url: URL, pattern: string): boolean {
  const isDomain = pattern.startsWith('*.');
  const wanted = URL.parse(`${url.protocol}//${isDomain ? pattern.slice(2) : pattern}`);
  if (wanted === null) return false;
  return isDomain ? url.port === wanted.port && url.hostname.endsWith(`.${wanted.hostname}`) : sameSite(url, wanted);
}

/** Whether the first page may redirect here: to the same site, or to a parent or child domain (example.org, shop.example.org). */
export function movedWithin(from: URL, to: URL): boolean {
  if (sameSite(from, to)) return true;
  const [a, b] = [from.hostname.replace(/^www\./, ''), to.hostname.replace(/^www\./, '')];
  if (a === b) return true; // another port or scheme of the same host
  return (a.includes('.') && b.endsWith(`.${a}`)) || (b.includes('.') && a.endsWith(`.${b}`));
}

/** Addresses as users type them. The REST API and manifests take complete URLs only. Pure. */
const HTTPS = 'https://';

/** A scheme, and neither a host with a port nor a user with a password; an e-mail address has one, too. */
const SCHEME = /^mailto:|^[a-z][a-z0-9+.-]*:(?!\d|[^/]*@)/i;

/**
 * Reads an address that a person typed. Without a scheme it gets `https://`, as in a browser, and the scan may fall back to
 * `http://`. Nothing else is checked.
 */
export function readAddress(typed: string): { url: string; httpFallback?: boolean } {
  return typed === '' || SCHEME.test(typed) ? { url: typed } : { url: HTTPS + typed, httpFallback: true };
}

/** Returns an address to type so that `readAddress` reads the options of an earlier scan again. */
export function addressToType({ url, httpFallback }: { url: string; httpFallback: boolean }): string {
  return httpFallback && url.startsWith(HTTPS) ? url.slice(HTTPS.length) : url;
}

// Which pages probably have the same template, judged by their addresses.

/** A locale as the first segment of a path, such as `de` or `pt-br`. */
const LOCALE = /^[a-z]{2}(?:[-_][a-z]{2})?$/i;
/** A first segment longer than this names one document, in characters. */
const LONG_NAME = 24;
/** A number, or more than two words. */
const VARIABLE = /\d|(?:[-_+]|%20).*(?:[-_+]|%20)/;
const EXTENSION = /\.[a-z][a-z0-9]{0,4}$/i;

/**
 * Returns the key of a page's template: the shape of its path, the names of its query parameters, and the shape of its hash
 * route. Segments that name one document are `*`: IDs, dates, slugs, locales, and the last segment below a folder.
 * For example, `/products/17/reviews/4?page=2` has the key `/products/{}/reviews/{}?page`, with an asterisk for each `{}`.
 */
export function templateOf({ pathname, search, hash }: Pick<URL, 'pathname' | 'search' | 'hash'>): string {
  const parameters = namesOf(search);
  const route = hash === '' ? undefined : hash.replace(/^#!?\/?/, '/');
  return `${shapeOf(pathname)}${parameters === '' ? '' : `?${parameters}`}${route === undefined ? '' : `#${shapeOf(route)}`}`;
}

/** The names of query parameters, sorted. */
const namesOf = (search: string): string => [...new Set([...new URLSearchParams(search).keys()].map(encodeURIComponent))].sort().join('&');

function shapeOf(path: string): string {
  const segments = path.split('/');
  const last = segments.findLastIndex((segment) => segment !== '');
  let shape = '';
  let count = 0;
  for (let at = 0; at <= last; at += 1) {
    const segment = segments[at]!;
    if (segment === '') continue;
    shape += isVariable(segment, count, at === last) ? `/*${extensionOf(segment)}` : `/${segment}`;
    count += 1;
  }
  return shape === '' ? '/' : shape;
}

function isVariable(segment: string, at: number, isLast: boolean): boolean {
  if (at > 0 && isLast) return true;
  if (at === 0 && segment.length < 6 && LOCALE.test(segment)) return true;
  return segment.length > LONG_NAME || VARIABLE.test(segment);
}

const extensionOf = (segment: string): string => (segment.includes('.') ? (EXTENSION.exec(segment)?.[0].toLowerCase() ?? '') : '');
