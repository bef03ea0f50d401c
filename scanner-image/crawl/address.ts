/** Which URLs are the same page, which belong to the site, and which belong to the scan. Pure. */
import type { CrawlRules } from '../../core/scan/options.ts';
import { compileGlob, matchesGlob } from './glob.ts';

/** Query parameters that track visitors and do not change the page. */
const TRACKING =
  /^(utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|igshid|mc_cid|mc_eid|_ga|_gl|_hsenc|_hsmi|mkt_tok)$/i;

/** File extensions that are never pages. Links to them are not followed, to save requests. */
const NOT_A_PAGE =
  /\.(?:pdf|zip|gz|tgz|bz2|xz|7z|rar|exe|msi|dmg|pkg|deb|rpm|apk|iso|jar|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub|csv|ics|vcf|png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|mp3|m4a|ogg|oga|wav|flac|mp4|m4v|webm|ogv|mov|avi|mkv|woff2?|ttf|otf|eot|css|m?js|json|xml|rss|atom|txt|md|wasm)$/i;

/** Links that sign out. A signed-in crawl must not follow them. */
const SIGN_OUT = /(?:^|[/_-])(?:log|sign)[-_]?(?:out|off)(?:$|[/._-])/i;

/** The URL to load: without fragment, credentials and tracking parameters. */
export function cleanUrl(url: URL): URL {
  const clean = new URL(url);
  clean.hash = '';
  clean.username = '';
  clean.password = '';
  const tracking = [...clean.searchParams.keys()].filter((name) => TRACKING.test(name));
  for (const name of tracking) clean.searchParams.delete(name);
  if (clean.search === '' || clean.href.endsWith('?')) clean.search = '';
  return clean;
}

/** The key of a page, equal for all its URLs: sorted parameters, no trailing slash, normalised host, no scheme. */
export function pageKey(url: URL): string {
  const clean = cleanUrl(url);
  const parameters = [...clean.searchParams].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0));
  const query = new URLSearchParams(parameters).toString();
  const path = clean.pathname.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase()).replace(/(?<=.)\/+$/, '');
  return `${bareHost(clean)}${path}${query === '' ? '' : `?${query}`}`;
}

/** The host without `www.` and final dot, with its port unless it is the scheme's default. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^www\./, '').replace(/\.$/, '') + (url.port === '' ? '' : `:${url.port}`);
}

/** Whether two URLs belong to one site: the same host and port, regardless of `www.` and the scheme. */
export function sameSite(a: URL, b: URL): boolean {
  return bareHost(a) === bareHost(b);
}

/** Whether the first page may redirect here: to the same site, or to a parent or child domain (example.org, shop.example.org). */
export function movedWithin(from: URL, to: URL): boolean {
  if (sameSite(from, to)) return true;
  const [a, b] = [from.hostname.replace(/^www\./, ''), to.hostname.replace(/^www\./, '')];
  if (a === b) return true; // another port or scheme of the same host
  return (a.includes('.') && b.endsWith(`.${a}`)) || (b.includes('.') && a.endsWith(`.${b}`));
}

/** Returns the URL to load for a link, on the site's origin, or null if the link does not lead to a page of the site. */
export function pageOfSite(link: string, site: URL, signedIn = false): URL | null {
  if (link.length > 2048 || !URL.canParse(link)) return null;
  const url = new URL(link);
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || !sameSite(url, site)) return null;
  if (NOT_A_PAGE.test(url.pathname)) return null;
  if (signedIn && SIGN_OUT.test(url.pathname)) return null;
  const page = cleanUrl(url);
  page.protocol = site.protocol;
  page.host = site.host;
  return page;
}

/**
 * Returns a function that checks whether the path and query of a URL belong to the scan. A glob without `?` matches the path
 * with any query.
 */
export function scopeOf(rules: Pick<CrawlRules, 'include' | 'exclude'>): (url: URL) => boolean {
  const include = rules.include.map(matcher);
  const exclude = rules.exclude.map(matcher);
  return (url) => (include.length === 0 || include.some((matches) => matches(url))) && !exclude.some((matches) => matches(url));
}

function matcher(text: string): (url: URL) => boolean {
  const glob = compileGlob(text.startsWith('/') || text.startsWith('*') ? text : `/${text}`);
  const ignoresQuery = !text.includes('?');
  return (url) => matchesGlob(glob, url.pathname + url.search) || (ignoresQuery && matchesGlob(glob, url.pathname));
}
