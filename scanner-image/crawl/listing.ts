/** What a report says about addresses that were not tested: where they were found, why they are left out, which redirect target they lead to. Pure. */
import { DOCUMENTS_MAX, type LinkedDocument, OTHER_HOSTS_MAX, type OtherHost, type ReportDiscovery } from '../../report/schema/report.ts';
import { LINKED_FROM_MAX, type ReportPage, type TestedPage, type UntestedPage } from '../../report/schema/page.ts';
import { cleanUrl, type PageAddress, pageKey, withoutParameters } from './address.ts';
import { untestedPage, type WrongPage } from './page-checks.ts';

/** The key of the address of a page, as the scan loads it: a fragment is a route. */
export const loadedKey = (url: URL): string => pageKey(url, true);

interface Found {
  pages: string[];
  sitemap?: string;
}

export function createReferrers() {
  const followed = new Map<string, Found>();
  return {
    /** Remembers from now on who links to an address. Only addresses that may be listed need it. @param sitemap lists the address */
    follow(key: string, sitemap?: string): void {
      const found = followed.get(key);
      if (found === undefined) followed.set(key, { pages: [], sitemap });
      else found.sitemap ??= sitemap;
    },
    /** Records that a page links to an address. Must be called in the order in which pages are processed. */
    link(key: string, page: { url: string; key: string }): void {
      const pages = followed.get(key)?.pages;
      if (pages === undefined || pages.length >= LINKED_FROM_MAX || key === page.key || pages.includes(page.url)) return;
      pages.push(page.url);
    },
    /** Adds to each untested page the first pages that link to it, or the sitemap if none does. */
    addTo: (pages: readonly ReportPage[]): ReportPage[] =>
      pages.map((page) => {
        const found = page.tested ? undefined : followed.get(loadedKey(new URL(page.url)));
        if (page.tested || found === undefined) return page;
        const linkedFrom = found.pages.length > 0 ? found.pages : found.sitemap === undefined ? [] : [found.sitemap];
        return linkedFrom.length === 0 ? page : { ...page, linked_from: linkedFrom };
      }),
  };
}

/** Where addresses were found, so that the report says which pages link to one that was not tested. Bounded. */
export type Referrers = ReturnType<typeof createReferrers>;

/** The number of listed addresses. The others are counted, because a site may have any number of them. */
export const EXCLUSIONS_MAX = 100;
/** The number of counted addresses, so that a scan cannot fill the memory. */
const COUNTED_MAX = 100_000;
const HOSTS_COUNTED_MAX = 10_000;
const DOCUMENTS_COUNTED_MAX = 10_000;

/** Files that people read, by the end of their path. */
const DOCUMENT = /\.(pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub)$/i;
/** What else says that a file is one, if its address does not. */
const DOCUMENT_TYPES: Readonly<Record<string, string>> = {
  ...{ 'application/pdf': 'pdf', 'application/msword': 'doc', 'application/vnd.ms-excel': 'xls', 'application/vnd.ms-powerpoint': 'ppt' },
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  ...{ 'application/vnd.oasis.opendocument.text': 'odt', 'application/rtf': 'rtf', 'application/epub+zip': 'epub' },
};
/** Whether a link may lead to one: faster than to parse each link. */
export const maybeDocument = (link: string): boolean => DOCUMENT.test(link.replace(/[?#].*$/s, ''));

export function createExclusions() {
  const listed = new Map<string, UntestedPage>();
  const counted = new Set<string>();
  let unread = 0;
  return {
    /** @returns whether the address is listed */
    add({ href, key }: PageAddress, why: WrongPage): boolean {
      if (!listed.has(key) && !counted.has(key)) {
        if (listed.size < EXCLUSIONS_MAX) listed.set(key, untestedPage(href, why));
        else if (counted.size < COUNTED_MAX) counted.add(key);
      }
      return listed.has(key);
    },
    /** Counts addresses that were not read, or not kept. */
    count(addresses: number): void {
      unread += addresses;
    },
    /** The listed addresses, in the order in which they were found. */
    pages: (): UntestedPage[] => [...listed.values()],
    /** The number of addresses that are not listed. */
    beyond: (): number => counted.size + unread,
  };
}

/** The addresses that were found and are not part of the scan. */
export type Exclusions = ReturnType<typeof createExclusions>;

/** Counts what links and sitemaps name. */
export function createDiscovery() {
  const seen = { links: new Set<string>(), files: new Set<string>(), hash_links: new Set<string>() };
  const hosts = new Map<string, OtherHost>();
  const documents = new Map<string, LinkedDocument>();
  let others = 0;
  /** @param from the page that links to it, or the sitemap that lists it */
  function nameDocument({ href, key, pathname }: PageAddress, from: string): void {
    const type = DOCUMENT.exec(pathname)?.[1]?.toLowerCase();
    const pages = documents.get(key)?.linked_from;
    if (type === undefined || pages?.includes(from)) return;
    if (pages !== undefined && pages.length < LINKED_FROM_MAX) pages.push(from);
    else if (pages === undefined && documents.size < DOCUMENTS_COUNTED_MAX) documents.set(key, { url: href, type, linked_from: [from] });
  }
  /** Adds what the site answered with a document although the address does not say so. */
  function nameAnswered({ url, media_type: mediaType = '', linked_from: from = [] }: UntestedPage): void {
    const [key, type] = [loadedKey(new URL(url)), DOCUMENT_TYPES[mediaType]];
    if (type !== undefined && !documents.has(key)) documents.set(key, { url, type, linked_from: from });
  }
  /** @returns whether the address is named for the first time */
  function name(kind: keyof typeof seen, address: string): boolean {
    if (seen[kind].has(address) || seen[kind].size === COUNTED_MAX) return false;
    seen[kind].add(address);
    return true;
  }
  function countHost(host: string, kind: 'links' | 'sitemap_entries', addresses = 1): void {
    const counts = hosts.get(host) ?? { host, links: 0, sitemap_entries: 0 };
    counts[kind] += addresses;
    if (hosts.has(host) || hosts.size < HOSTS_COUNTED_MAX) hosts.set(host, counts);
    else others += addresses;
  }
  return {
    ...{ seen, hosts, documents, name, nameDocument, nameAnswered, countHost },
    addSitemaps(named: NamedBySitemaps): void {
      for (const [key, document] of named.documents) if (!documents.has(key)) documents.set(key, document);
      for (const address of named.seen.files) name('files', address);
      for (const { host, sitemap_entries: entries } of named.hosts.values()) countHost(host, 'sitemap_entries', entries);
    },
    found(): Omit<ReportDiscovery, 'sitemaps_cut'> {
      const size = (host: OtherHost): number => host.links + host.sitemap_entries;
      const sorted = [...hosts.values()].sort((a, b) => size(b) - size(a));
      return {
        links: seen.links.size,
        files: seen.files.size,
        hash_links: seen.hash_links.size,
        other_hosts: sorted.slice(0, OTHER_HOSTS_MAX),
        ...(documents.size > 0 && { documents: [...documents.values()].slice(0, DOCUMENTS_MAX), documents_total: documents.size }),
        other_hosts_left: sorted.slice(OTHER_HOSTS_MAX).reduce((sum, host) => sum + size(host), others),
      };
    },
  };
}

interface NamedBySitemaps {
  seen: { files: ReadonlySet<string> };
  hosts: ReadonlyMap<string, OtherHost>;
  documents: ReadonlyMap<string, LinkedDocument>;
}

/** What links and sitemaps name. Bounded. */
export type Discovery = ReturnType<typeof createDiscovery>;

/*
 * A redirect target (`redirected_to_gate` in reports) is a page that the site shows instead of several requested ones, such as a
 * question for the age of a visitor. Addresses that lead there are not duplicates of it, because their own pages were not tested.
 */

/** The number of addresses that must end at one that no link names. One address alone may have moved. */
const ADDRESSES_MIN = 2;

/** Parameters that name the page to return to. */
const RETURN_PARAMETER =
  /^(?:return|redirect|redir|next|continue|target|goto|back|from|dest|destination|service|ref|referr?er|to|ret|url|uri)(?:[-_]?(?:to|url|uri|path|page))?$/i;

/** The address at which a redirect ended, without parameters that carry the requested address. */
export function arrivalOf(requested: URL, final: URL): URL {
  const arrival = cleanUrl(final, true);
  arrival.search = withoutParameters(arrival.search, (name, value) => RETURN_PARAMETER.test(name) && carries(value, requested));
  return arrival;
}

function carries(value: string, requested: URL): boolean {
  // Some sites encode it twice.
  const text = /^(?:%2f|https?%3a)/i.test(value) ? (new URLSearchParams(`x=${value}`).get('x') ?? '') : value;
  const url = /^(?:\/|https?:)/i.test(text) ? URL.parse(text, requested.href) : null;
  return url !== null && pageKey(url) === pageKey(requested);
}

/** A page that redirects, and where it ended. */
interface Arrived {
  page: TestedPage | UntestedPage;
  arrival: URL;
  /** Whether it shows that the site answers with something else than the page. */
  counts: boolean;
}

export interface ListedRedirectTargets {
  pages: ReportPage[];
  /** The addresses of redirect targets, by the `url` under which their pages were tested. */
  redirectTargets: ReadonlyMap<string, string>;
}

/**
 * Lists redirect targets by their own addresses, and the addresses that lead there as not tested.
 * @param pages in the scan's order
 * @param isNamed whether a link or a sitemap names the page with a key
 */
export function listRedirectTargets(pages: readonly ReportPage[], isNamed: (key: string) => boolean): ListedRedirectTargets {
  const groups = new Map<string, Arrived[]>();
  for (const page of pages) {
    const arrived = arrivedOf(page);
    if (arrived === null) continue;
    const key = loadedKey(arrived.arrival);
    groups.set(key, [...(groups.get(key) ?? []), arrived]);
  }
  const redirectTargets = new Map<string, string>();
  const targetOf = new Map<ReportPage, string>();
  for (const [key, group] of groups) {
    const tested = group.find(({ page }) => page.tested);
    if (tested === undefined || group.filter(({ counts }) => counts).length < ADDRESSES_MIN) continue;
    if (isNamed(key) || group.some(({ page }) => isNamed(loadedKey(new URL(page.final_url!))))) continue;
    redirectTargets.set(tested.page.url, tested.arrival.href);
    for (const { page } of group) targetOf.set(page, tested.arrival.href);
  }
  return { pages: pages.flatMap((page) => relisted(page, targetOf.get(page), redirectTargets)), redirectTargets };
}

function arrivedOf(page: ReportPage): Arrived | null {
  if (page.final_url === null || (!page.tested && page.reason !== 'same_as')) return null;
  const [requested, final] = [new URL(page.url), new URL(page.final_url)];
  if (loadedKey(requested) === loadedKey(final)) return null;
  const arrival = arrivalOf(requested, final);
  const returns = loadedKey(arrival) !== loadedKey(final);
  return { page, arrival, counts: returns || !(isStart(requested) || isSameThing(requested, arrival)) };
}

/** Whether an address is a start page, which often leads to that of a language. */
const isStart = ({ pathname, hash }: URL): boolean => /^\/(?:(?:index|default|home)(?:\.\w+)?\/?)?$/i.test(pathname) && hash === '';

/** Whether two paths have a number or a word of their last part in common: one is probably an old address of the other. */
function isSameThing(requested: URL, arrival: URL): boolean {
  const words = wordsOf(arrival);
  return [...wordsOf(requested)].some((word) => words.has(word));
}

function wordsOf({ pathname }: URL): Set<string> {
  const parts = pathname
    .toLowerCase()
    .replace(/\/(?:index(?:\.\w+)?)?$|\.\w+$/, '')
    .split('/');
  const split = (text: string): string[] => text.split(/[^\p{L}\p{N}]+/u);
  return new Set([
    ...split(parts.at(-1) ?? '').filter((word) => word.length > 2),
    ...parts.flatMap(split).filter((word) => /^\d+$/.test(word)),
  ]);
}

function relisted(page: ReportPage, target: string | undefined, redirectTargets: ReadonlyMap<string, string>): ReportPage[] {
  if (target === undefined) {
    const moved = page.tested ? undefined : redirectTargets.get(page.same_as ?? '');
    return [page.tested || moved === undefined ? page : { ...page, same_as: moved }];
  }
  const { url, final_url, http_status, duration_ms } = page;
  const message = `It redirects to ${target}, as other addresses do, and no link leads there. If it asks visitors for something, such as their age or region, answer it with crawl.prepare.`;
  const untested: UntestedPage = { url, final_url, http_status, tested: false, reason: 'redirected_to_gate', message, duration_ms };
  return page.tested ? [{ ...page, url: target }, untested] : [untested];
}
