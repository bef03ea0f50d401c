/** The site of a scan: its origin, its robots.txt and its sitemaps. All three change if the first page redirects to another host. */
import type { PodInput } from '../../core/protocol/pod-messages.ts';
import type { GuardedFetch } from '../egress/fetch.ts';
import type { Session } from '../page/session/session.ts';
import { ScanFailed } from '../pod/failure.ts';
import { listedUrls } from '../../core/scan/address-list.ts';
import { bareHost, movedWithin, sameSite } from '../../core/scan/site.ts';
import { addressOf, rewritten, scopeOf, targetOf, type AddressParts, type LinkTarget, type PageAddress } from './address.ts';
import { destructiveRule, type DestructiveWord } from './destructive.ts';
import { createFurtherHosts, disallowed } from './further-hosts.ts';
import { createDiscovery, type Discovery } from './listing.ts';
import type { WrongPage } from './page-checks.ts';
import { NO_ROBOTS, fetchRobots, parseRobots, type Robots, type RobotsFile } from './robots.ts';
import { collectSitemaps } from './sitemaps.ts';

type SiteInput = Pick<PodInput, 'options' | 'pagesReserved'>;

export interface SiteDeps {
  start: URL;
  signedIn: boolean;
  /** Is prepared when robots.txt allows the first page, before the sitemaps are read. Null: the scan has none. */
  session: Pick<Session, 'headersFor' | 'prepare'> | null;
  files: GuardedFetch;
  signal?: AbortSignal;
  /** The time after which no page is started, in milliseconds since the epoch. */
  softDeadline: number;
}

export interface Site {
  /** The URL of the first page. */
  start: URL;
  /** Whether the scan signs in. */
  signedIn: boolean;
  origin(): URL;
  /** Returns where a link of a page leads. */
  targetOf(link: string): LinkTarget | null;
  /** Whether a page is on the scan's own host, which alone gets its sign-in and its prepared state. */
  isOwn(url: URL): boolean;
  /** Reads robots.txt of a further host before its first page is requested. Returns why a page of it must not be, or null. */
  admit(url: URL): Promise<WrongPage | null>;
  /** The further hosts of the scan, as in `CrawlRules`. */
  hosts: readonly string[];
  /** Whether all fragments of addresses are routes. */
  hasRoutes: boolean;
  /** The distance between the starts of two pages of the host of a URL, in milliseconds. */
  crawlDelayMs(url: URL): number;
  /** Why a page is not part of the scan, by include, exclude, robots.txt of the own host and what its address does; null if it is. */
  exclusionOf(url: AddressParts & { href: string }): WrongPage | null;
  /** Whether the first page is tested. If not, only its links are read. */
  startInScope: boolean;
  /** Returns the addresses that are tested instead of what links and sitemaps name; null if the scan has no list of them. */
  listed(): PageAddress[] | null;
  /** Why a page may not redirect to a URL, or null. @param from the requested URL; null for the first page */
  refusal(url: URL, from: URL | null): WrongPage | null;
  /** What `refusal` needs for the pages after the first, in a pod that has not read robots.txt. */
  rules(): SiteRules;
  /** Uses the origin to which the first page redirected. @throws ScanFailed if its robots.txt disallows the page, or cannot be read */
  moveTo(finalUrl: URL): Promise<void>;
  sitemapPages(): Promise<SitemapPages>;
}

/** What decides where a page of a site may lead, as data for another pod. Only for scans that do not sign in. */
export interface SiteRules {
  start: string;
  origin: string;
  /** The robots.txt of the own host. Null: none, or it is not respected. */
  own: RobotsFile | null;
  further: readonly (readonly [host: string, file: RobotsFile])[];
}

/** `Site.refusal` by rules that another pod has read. */
export function refusalBy(options: Pick<PodInput['options'], 'crawl'>, rules: SiteRules): Site['refusal'] {
  const [start, origin] = [new URL(rules.start), new URL(rules.origin)];
  const robotsOf = (file: RobotsFile | null | undefined): Robots => (file ? parseRobots(new URL(file.location), file.text) : NO_ROBOTS);
  const own = robotsOf(rules.own);
  const further = new Map(rules.further.map(([host, file]) => [host, robotsOf(file)]));
  return createRefusal({
    start,
    targetIn: (link) => targetOf(link, origin, { ...options.crawl, hasRoutes: options.crawl.hashRoutes === 'all' }),
    destructiveWordOf: () => null,
    robotsFor: (url) => (sameSite(origin, url) ? own : (further.get(bareHost(url)) ?? NO_ROBOTS)),
  });
}

interface RefusalDeps {
  start: URL;
  targetIn: (link: string) => LinkTarget | null;
  destructiveWordOf: (url: AddressParts) => DestructiveWord | null;
  robotsFor: (url: URL) => Robots;
}

const createRefusal =
  ({ start, targetIn, destructiveWordOf, robotsFor }: RefusalDeps): Site['refusal'] =>
  (url, from) => {
    if (from === null ? !movedWithin(start, url) : !sameSite(from, url)) {
      const target = from === null ? null : targetIn(url.href);
      if (target?.kind === 'page' && target.page.key !== addressOf(from!).key)
        return { reason: 'excluded', message: `The page redirects to ${url.href}, which is an address of its own in this scan.` };
      return { reason: 'redirected_away', message: `The page redirects to another site, ${url.origin}.` };
    }
    const destructive = destructiveWordOf(url);
    if (destructive !== null) return destructiveRedirect(url, destructive);
    return from === null ? null : disallowed(robotsFor(url), url);
  };

/** What the sitemaps of a site list. */
export interface SitemapPages {
  pages: { page: PageAddress; sitemap: string }[];
  /** Addresses that are not part of the scan, with their sitemap, and sitemaps that were not read to their end. */
  left: { page: PageAddress; why: WrongPage; sitemap?: string }[];
  /** The number of addresses that are too long, or not part of the scan and not in `left`. */
  beyond: number;
  /** Their entries of other hosts, and files. */
  named: Discovery;
  /** The number of sitemaps of which only the beginning was read, because they list enough pages. */
  cut: number;
}

const NOT_INCLUDED: WrongPage = { reason: 'excluded', message: 'The include and exclude rules of the scan leave out this address.' };

/** The time limit for all sitemaps of a scan, in milliseconds. */
export const SITEMAPS_MS = 20_000;
/** The number of addresses in sitemaps that are kept although they are not part of the scan. More would not be listed. */
const LEFT_MAX = 1000;

/** @throws ScanFailed if robots.txt disallows the first page, or cannot be read */
export async function openSite(input: SiteInput, deps: SiteDeps): Promise<Site> {
  const { crawl } = input.options;
  const { start, files, session, signedIn } = deps;
  const scope = scopeOf(crawl);
  const further = createFurtherHosts(crawl, deps);
  const hasRoutes = crawl.hashRoutes === 'all';
  const isOwn = (url: URL): boolean => sameSite(origin, url);
  const targetIn = (link: string): LinkTarget | null => targetOf(link, origin, { ...crawl, hasRoutes });
  const destructiveIn = signedIn ? destructiveRule(crawl.include) : () => null;
  let origin = start;
  let robots = await robotsOf(start);
  refuseDisallowed(robots, start);
  await session?.prepare();
  let sitemapPages = readSitemaps();

  async function robotsOf(site: URL): Promise<Robots> {
    if (!crawl.respectRobots) return NO_ROBOTS;
    const answer = await fetchRobots(site, { files, headersFor: session?.headersFor, signal: deps.signal });
    if (!answer.ok) throw new ScanFailed('target_unreachable', answer.message);
    return answer.robots;
  }
  const robotsFor = (url: URL): Robots => (isOwn(url) ? robots : further.robots(url));

  function destructiveWordOf(url: AddressParts): DestructiveWord | null {
    const destructive = destructiveIn(url);
    // The start address was asked for, whatever it does.
    return destructive !== null && isStart(url, start) ? null : destructive;
  }
  function exclusionOf(url: AddressParts & { href: string }): WrongPage | null {
    const destructive = destructiveWordOf(url);
    if (destructive !== null) return { reason: 'excluded', message: destructiveMessage(destructive) };
    if (!scope(url)) return NOT_INCLUDED;
    // What another host disallows is known when its first page is visited: the result must not depend on when that is.
    return isOwn(new URL(url.href)) ? disallowed(robots, url) : null;
  }
  /** Where the site has moved to, as the addresses of links that name it. */
  function listed(): PageAddress[] {
    return listedUrls(crawl, start.href).flatMap((url) => {
      const target = targetIn(sameSite(url, start) ? new URL(url.pathname + url.search + url.hash, origin).href : url.href);
      return target?.kind === 'page' || target?.kind === 'file' ? [target.page] : [];
    });
  }
  function readSitemaps(): Promise<SitemapPages> {
    const pages = collectPages(input, deps, { origin, sitemaps: robots.sitemaps, exclusionOf, targetOf: targetIn });
    // Its errors are those of `sitemapPages`, which is called after the first page was loaded.
    pages.catch(() => undefined);
    return pages;
  }

  return {
    start,
    signedIn,
    origin: () => origin,
    hosts: crawl.hosts,
    hasRoutes,
    targetOf: targetIn,
    isOwn,
    admit: async (url) => (isOwn(url) ? null : further.admit(url)),
    crawlDelayMs: (url) => robotsFor(url).crawlDelay * 1000,
    exclusionOf,
    startInScope: scope(start) && (crawl.urls.length === 0 || listed().some(({ key }) => key === addressOf(start).key)),
    listed: () => (crawl.urls.length === 0 ? null : listed()),
    refusal: createRefusal({ start, targetIn, destructiveWordOf, robotsFor }),
    rules: () => ({ start: start.href, origin: origin.href, own: robots.source, further: further.files() }),
    async moveTo(finalUrl) {
      origin = new URL(finalUrl.origin);
      if (finalUrl.origin === start.origin) return;
      await sitemapPages;
      robots = await robotsOf(origin);
      refuseDisallowed(robots, finalUrl);
      sitemapPages = readSitemaps();
    },
    sitemapPages: () => sitemapPages,
  };
}

/** Reads the sitemaps of a site: those that robots.txt names, or the usual one. */
async function collectPages(
  { options: { crawl }, pagesReserved }: SiteInput,
  { files, session, softDeadline }: SiteDeps,
  { origin, sitemaps, exclusionOf, targetOf: targetIn }: Pick<Site, 'exclusionOf' | 'targetOf'> & { origin: URL; sitemaps: URL[] },
): Promise<SitemapPages> {
  const named = createDiscovery();
  if (!crawl.sitemap || pagesReserved === 1 || crawl.urls.length > 0) return { pages: [], left: [], beyond: 0, named, cut: 0 };
  const left: SitemapPages['left'] = [];
  /** The first sitemap that lists a page, by the key of the page. */
  const listedIn = new Map<string, string>();
  let beyond = 0;
  const isDefault = sitemaps.length === 0;
  const found = await collectSitemaps(isDefault ? [new URL('/sitemap.xml', origin)] : sitemaps, files, {
    isDefault,
    locate: (url) => rewritten(url, origin, crawl),
    enough: pagesReserved * 2 + 20,
    take(text, { href: sitemap }) {
      const target = targetIn(text);
      if (target?.kind === 'other') named.countHost(target.host, 'sitemap_entries');
      if (target?.kind === 'too_long') beyond += 1;
      if (target?.kind === 'file') {
        named.name('files', target.page.key);
        named.nameDocument(target.page, sitemap);
      }
      if (target?.kind !== 'page') return null;
      const { page } = target;
      const why = exclusionOf(page);
      if (why === null) {
        if (!listedIn.has(page.key)) listedIn.set(page.key, sitemap);
        return page;
      }
      if (left.length < LEFT_MAX) left.push({ page, why, sitemap });
      else beyond += 1;
      return null;
    },
    deadline: Math.min(Date.now() + SITEMAPS_MS, softDeadline),
    headersFor: (url) => (sameSite(url, origin) ? (session?.headersFor(url) ?? {}) : {}),
  });
  const unread = found.unread.map(({ url, message }) => ({
    page: addressOf(url),
    why: { reason: 'excluded' as const, message: `${message} Pages that only this sitemap lists are not part of the scan.` },
  }));
  const pages = found.pages.map((page) => ({ page, sitemap: listedIn.get(page.key)! }));
  return { pages, left: [...unread, ...left], beyond, named, cut: found.cut };
}

/** Whether an address is the one that the scan was started with, on whatever host. The browser requests it without its hash route. */
const isStart = (url: AddressParts, start: AddressParts): boolean =>
  pathOf(url) === pathOf(start) && (url.hash === '' || url.hash === start.hash);
const pathOf = ({ pathname, search }: AddressParts): string => pathname.replace(/\/+$/, '') + search;

const destructiveMessage = ({ word }: DestructiveWord): string =>
  `The address contains "${word}". A scan that signs in does not request such an address, because that may delete, cancel, buy or end something. To allow it, add a glob that contains the word to crawl.include.`;

/** A site redirects to its sign-out when a session has ended, so another sign-in may help. */
function destructiveRedirect(url: URL, destructive: DestructiveWord): WrongPage {
  const target = url.origin + url.pathname;
  if (destructive.signsOut)
    return { reason: 'sign_in_lost', message: `The page is not signed in: it redirects to ${target}, which signs out.` };
  return { reason: 'excluded', message: `The page redirects to ${target}. ${destructiveMessage(destructive)}` };
}

function refuseDisallowed(robots: Robots, url: URL): void {
  const message = robots.refusal(url);
  if (message !== null)
    throw new ScanFailed(
      'robots_disallowed',
      `${message} Allow the user agent Curbcut in robots.txt, or scan without it (respectRobots: false).`,
    );
}
