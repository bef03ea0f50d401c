/** The list of addresses that a scan tests instead of following links (`crawl.urls`). Pure. */
import { bareHost, isOnHost, sameSite } from './site.ts';

/** The most addresses of a list. */
export const URLS_MAX = 500;
/** The most characters of all addresses: the body of a request has at most 64 KiB, and the resource of the scan is kept in etcd. */
export const URLS_CHARACTERS_MAX = 50_000;
/** What an address of a list begins with: that of a page, or a path on the host of the scan. */
export const LISTED_PATTERN = '^([hH][tT][tT][pP][sS]?://|/)';
const LISTED = new RegExp(LISTED_PATTERN);

/** The options of a scan that decide what its list names. */
export interface ListRules {
  urls: readonly string[];
  hosts: readonly string[];
  rewriteHost: string;
  hashRoutes: string;
}

/**
 * Reads a list that a person typed or exported: one address per line, or CSV with a heading. Of CSV the column is read that has an
 * address in its first row. Empty lines, and those that begin with `#`, are left out. Nothing else is checked.
 */
export function readAddressList(text: string): string[] {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/[\r\n]+/)
    .map((line) => line.trim());
  const stated = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const [heading = '', first] = stated;
  // What has a full stop or a slash is an address without a scheme, and no heading: leaving it out would be silent.
  if (first === undefined || /[./]/.test(heading)) return stated;
  const separator = /[;,\t]/.exec(heading)?.[0] ?? ',';
  const column = Math.max(
    0,
    cellsOf(first, separator).findIndex((cell) => LISTED.test(cell)),
  );
  return stated.slice(1).map((line) => cellsOf(line, separator)[column] ?? '');
}

/** The cells of a line of CSV. */
function cellsOf(line: string, separator: string): string[] {
  const cells = line.matchAll(new RegExp(`(?:^|${separator})(?:"((?:[^"]|"")*)"|([^${separator}]*))`, 'g'));
  return [...cells].map(([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
}

const resolve = (text: string, url: string): URL | null => (LISTED.test(text) ? URL.parse(text, url) : null);

/** Equal for spellings of one address that differ in the scheme, `www.`, a final slash or a fragment that is no route. */
function keyOf(url: URL, { hashRoutes }: ListRules): string {
  const route = hashRoutes === 'all' || /^#[/!]/.test(url.hash) ? url.hash : '';
  return bareHost(url) + url.pathname.replace(/\/+$/, '') + url.search + route;
}

/** Returns the addresses of a list in its order, each once. @param url that of the scan, to which paths are relative */
export function listedUrls(rules: ListRules, url: string): URL[] {
  const listed = new Map<string, URL>();
  for (const text of rules.urls) {
    const one = resolve(text, url);
    if (one !== null && !listed.has(keyOf(one, rules))) listed.set(keyOf(one, rules), one);
  }
  return [...listed.values()];
}

/** @property index that of the address; absent if the list as a whole is wrong */
export interface ListMistake {
  type: 'urls.invalid' | 'urls.other_host' | 'urls.too_many';
  index?: number;
  message: string;
}

/** Returns what is wrong with the list of a scan, or null. */
export function addressListMistake({ url, maxPages, crawl }: { url: string; maxPages: number; crawl: ListRules }): ListMistake | null {
  const { urls, hosts, rewriteHost } = crawl;
  const own = new URL(url);
  for (const [index, text] of urls.entries()) {
    const one = resolve(text, url);
    const named = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    if (one === null || /\s/.test(text) || one.username + one.password !== '')
      return { type: 'urls.invalid', index, message: `"${named}" is not an http or https address, nor a path that begins with a slash.` };
    if (!sameSite(one, own) && ![...hosts, rewriteHost].some((host) => isOnHost(one, host)))
      return {
        type: 'urls.other_host',
        index,
        message: `${named} is not on the host of the scan, ${own.host}. Leave it out, or name ${one.host} in crawl.hosts.`,
      };
  }
  const count = listedUrls(crawl, url).length;
  if (count > maxPages)
    return { type: 'urls.too_many', message: `The list has ${count} addresses, more than the maximum number of pages, ${maxPages}.` };
  const characters = urls.reduce((sum, text) => sum + text.length, 0);
  if (urls.length <= URLS_MAX && characters <= URLS_CHARACTERS_MAX) return null;
  const bounds = `${URLS_MAX} addresses, or ${URLS_CHARACTERS_MAX} characters in all`;
  return { type: 'urls.too_many', message: `The list has more than ${bounds}; paths are shorter than addresses.` };
}
