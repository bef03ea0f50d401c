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
