/** What the visits and sitemaps of a site teach, taken in the frontier's order: the pages to list, duplicates, and further addresses. */
import { createHash } from 'node:crypto';
import { TIMER_PENDING } from '../page/visit/caveats.ts';
import { isOnHost, sameSite, templateOf } from '../../core/scan/site.ts';
import type { WantedStates } from '../../core/scan/states.ts';
import { countViolations, isAttempted, pageScore, roundScore } from '../../report/results/score.ts';
import { positionsOf } from '../../report/results/rule-outcomes.ts';
import { isOwnRule } from '../../report/schema/engines.ts';
import type { PageCaveatKind, PageState, ReportPage, ReportViolation, TestedPage, UntestedPage } from '../../report/schema/page.ts';
import type { ReportDiscovery } from '../../report/schema/report.ts';
import { mergeFindings, type PageFindings, rulesWithoutFinding } from '../page/axe/results.ts';
import { takeOpened } from '../page/visit/opened.ts';
import { withStates } from '../page/visit/states.ts';
import type { FailedVisit, Links, PageFacts, Visit } from '../page/visit/visit.ts';
import { type PageAddress, repeatsItself } from './address.ts';
import {
  arrivalOf,
  createDiscovery,
  createExclusions,
  createReferrers,
  type Discovery,
  type Exclusions,
  listRedirectTargets,
  loadedKey,
  maybeDocument,
  type Referrers,
} from './listing.ts';
import type { Candidate, Frontier, Outcome } from './frontier.ts';
import { untestedPage, type WrongPage } from './page-checks.ts';
import { CHAIN_MAX } from './queue.ts';
import type { Site, SitemapPages } from './site.ts';

type LoadedVisit = Extract<Visit, { loaded: true }>;

const ENDLESS: WrongPage = {
  reason: 'excluded',
  message: `The site seems to lead from one such address to the next without end, so the scan follows at most ${CHAIN_MAX} links in a row. To test this page, start a scan at its address.`,
};

const LINKS_ONLY = 'The rules of the scan leave out this page. Only its links were read.';
const NOT_LISTED = 'The list of addresses of the scan does not name this page. It was loaded first, because the scan begins there.';

/** A page that still loads or works may look like another one that does. */
const UNSETTLED: ReadonlySet<PageCaveatKind> = new Set(['not_quiet', 'still_busy', 'still_loading']);

/** What a visit led to. Null: the page is not listed. */
export interface Taken {
  outcome: Outcome;
  page: ReportPage | null;
}

/** What a report lists. */
export interface Listing {
  /** Tested and untested pages in the scan's order, then the addresses that are not part of the scan. */
  pages: ReportPage[];
  /** The addresses of redirect targets, by the `url` under which their pages were tested. */
  redirectTargets: ReadonlyMap<string, string>;
  /** The number of addresses that were found and are not listed. */
  addressesLeft: number;
  discovery: ReportDiscovery;
}

/** The parts of a site that the pages of a crawl need. */
type CrawledSite = Pick<Site, 'start' | 'targetOf' | 'hosts' | 'hasRoutes' | 'exclusionOf' | 'listed'>;

/** The number of pages of a template that are tested in states. */
const STATE_PAGES = 3;

export function createCrawledPages(frontier: Frontier, site: CrawledSite, states: WantedStates) {
  const exclusions = createExclusions();
  const referrers = createReferrers();
  const duplicates = createDuplicates();
  const discovery = createDiscovery();
  const stateTemplates = createStateTemplates();
  let sitemapsCut = 0;
  /** The further hosts of which no link and no sitemap named a page until now. */
  const hostsUnnamed = new Set(site.hosts);
  const isListed = site.listed() !== null;
  function nameHost({ href }: PageAddress): void {
    for (const host of hostsUnnamed) if (isOnHost(new URL(href), host)) hostsUnnamed.delete(host);
  }
  const { queueLinks, queueLink } = createLinkQueue(frontier, site, { exclusions, referrers, discovery, nameHost, isListed });
  /** The `url` of the page whose test covers an address, by the address's key. */
  const coveredBy = new Map<string, string>();
  /** The spelling in which an address was tested, by its key. */
  const testedAs = new Map<string, string>();
  referrers.follow(loadedKey(site.start));

  function cover(keys: readonly string[], url: string): void {
    for (const key of keys) {
      frontier.cover(key);
      coveredBy.set(key, url);
    }
  }

  function takeLoaded(candidate: Candidate, visit: LoadedVisit): Taken {
    const { url } = candidate;
    const keys = [candidate.key, loadedKey(visit.finalUrl)] as const;
    const isMoved = keys[0] !== keys[1];
    const arrival = isMoved ? loadedKey(arrivalOf(url, visit.finalUrl)) : keys[1];
    const redirectsTo = isMoved ? (coveredBy.get(keys[1]) ?? coveredBy.get(arrival)) : undefined;
    if (redirectsTo !== undefined) return sameAs(candidate, visit, redirectsTo, `It redirects to ${visit.finalUrl.href}, which is tested.`);
    const canonical = canonicalOf(visit, keys[1], site);
    const compared = {
      key: keys[1],
      canonicalKey: canonical?.key ?? null,
      content: contentOf(visit.facts),
      findings: visit.findings,
    };
    const isComparable = visit.facts.visible.own && !visit.caveats.some((caveat) => caveat !== TIMER_PENDING && UNSETTLED.has(caveat.kind));
    const same = isComparable ? duplicates.find(compared) : null;
    if (same !== null) {
      cover(keys, same.url);
      return sameAs(candidate, visit, same.url, sameMessage(same, canonical ?? visit.finalUrl));
    }
    queueLinks(visit.facts, candidate);
    if (visit.findings === null) return { outcome: 'passed_through', page: leftOut(candidate, visit, isListed ? NOT_LISTED : LINKS_ONLY) };
    const wrong = candidate.depth > 0 && isMoved ? site.exclusionOf(visit.finalUrl) : null;
    if (wrong !== null)
      return { outcome: 'left_out', page: leftOut(candidate, visit, `The page redirects to ${visit.finalUrl.href}. ${wrong.message}`) };
    cover([...keys, arrival], url.href);
    testedAs.set(keys[1], visit.finalUrl.href).set(keys[0], url.href);
    if (isComparable) duplicates.add(url.href, compared);
    const { findings, withDialog } = visit;
    const atRest = withDialog === undefined ? findings : mergeFindings(withDialog, findings);
    const template = stateTemplates.take(url);
    const visited = template && visit.states ? takeOpened(visit.states, atRest, states.counted, template.parts) : undefined;
    const found = visited === undefined ? atRest : withStates(atRest, visited, states.counted);
    const pageStates = visited?.states ?? states.kinds.map((kind): PageState => ({ kind, result: 'skipped', reason: 'template' }));
    return { outcome: 'tested', page: { ...testedPage(url, visit, found), ...(pageStates.length > 0 && { states: pageStates }) } };
  }

  /**
   * Lists missing addresses as the same as another spelling that is tested. Without one, it lists the spelling that failed in another
   * way, or else the first.
   */
  function withSpellings(pages: readonly ReportPage[]): ReportPage[] {
    const failed = pages.filter((page) => !page.tested && isAttempted(page.reason) && !isMissing(page));
    const listed = new Set(failed.map(({ url }) => loadedKey(new URL(url))));
    return pages.flatMap((page) => {
      if (page.tested || !isMissing(page)) return [page];
      const key = loadedKey(new URL(page.url));
      const [url, spelling] = [coveredBy.get(key), testedAs.get(key)];
      if (url !== undefined && spelling !== undefined && spelling !== page.url)
        return [{ ...page, reason: 'same_as', same_as: url, message: `${page.message} Its other spelling ${spelling} is tested.` }];
      if (listed.has(key)) return [];
      listed.add(key);
      return [page];
    });
  }

  return {
    /** Whether to test a page in states, as far as the pages before it are known. What is tested in vain is not taken. */
    testsStates: (url: URL): boolean => states.kinds.length > 0 && stateTemplates.wants(url),
    knowsPart: (url: URL, signature: string): boolean => stateTemplates.knowsPart(url, signature),
    /** Takes a visit: recognises duplicates, and queues the links of the page. Must be called in the order of `index`. */
    take(candidate: Candidate, visit: Visit): Taken {
      if (frontier.covered(candidate.key) || frontier.spent()) return { outcome: 'skipped', page: null };
      if (visit.loaded) return takeLoaded(candidate, visit);
      if (leadsElsewhere(candidate, visit)) queueLink(visit.finalUrl, candidate);
      const page = untestedPage(candidate.url.href, visit, visit);
      if (visit.reason === 'document') return { outcome: 'document', page };
      if (isAttempted(visit.reason)) return { outcome: 'failed', page };
      return { outcome: visit.finalUrl === null || leadsElsewhere(candidate, visit) ? 'left_out' : 'disallowed', page };
    },
    /** Queues the addresses of the scan's list. */
    takeListed(pages: readonly PageAddress[]): void {
      for (const page of pages) {
        let wrong: WrongPage | null = null;
        frontier.add(page, 1, () => (wrong = site.exclusionOf(page)) !== null);
        if (wrong !== null) exclusions.add(page, wrong);
        nameHost(page);
      }
    },
    takeSitemaps({ pages, left, beyond, named, cut }: SitemapPages): void {
      for (const { page, sitemap } of pages) {
        frontier.add(page, 1);
        nameHost(page);
        referrers.follow(page.key, sitemap);
      }
      for (const { page, why, sitemap } of left) if (exclusions.add(page, why)) referrers.follow(page.key, sitemap);
      exclusions.count(beyond);
      discovery.addSitemaps(named);
      sitemapsCut = cut;
    },
    /** @param pages those of all visits, in the scan's order */
    list(pages: readonly ReportPage[]): Listing {
      const listed = listRedirectTargets(withSpellings(pages), (key) => frontier.named(key));
      const all = referrers.addTo([...listed.pages, ...exclusions.pages()]);
      for (const page of all) if (!page.tested) discovery.nameAnswered(page);
      return {
        pages: all,
        redirectTargets: listed.redirectTargets,
        addressesLeft: exclusions.beyond() + frontier.left(),
        discovery: {
          ...discovery.found(),
          sitemaps_cut: sitemapsCut,
          ...(hostsUnnamed.size > 0 && { hosts_unnamed: [...hostsUnnamed] }),
        },
      };
    },
  };
}

/** The tested pages of each template, as far as they are tested in states. */
function createStateTemplates() {
  const taken = new Map<string, { pages: number; parts: Set<string> }>();
  const find = (url: URL): { pages: number; parts: Set<string> } => taken.get(url.host + templateOf(url)) ?? { pages: 0, parts: new Set() };
  const wants = (url: URL): boolean => find(url).pages < STATE_PAGES;
  return {
    wants,
    knowsPart: (url: URL, signature: string): boolean => find(url).parts.has(signature),
    /** @returns the signatures of the parts that were opened on its pages; null if this page is not tested in states */
    take(url: URL): { parts: Set<string> } | null {
      if (!wants(url)) return null;
      const { pages, parts } = find(url);
      taken.set(url.host + templateOf(url), { pages: pages + 1, parts });
      return { parts };
    },
  };
}

/** Whether the site answers an address with a status that says that it leads nowhere. */
export const isMissing = (page: ReportPage): boolean =>
  !page.tested && page.reason === 'http_error' && page.http_status !== null && page.http_status >= 400 && page.http_status < 500;

/** The number of links whose page is remembered. Most links of a page are those of the page before. */
const LINKS_REMEMBERED = 20_000;

/** Whether a page redirects to one of another host of the scan, which is visited as an address of its own. */
const leadsElsewhere = ({ url }: Candidate, visit: FailedVisit): visit is FailedVisit & { finalUrl: string } =>
  visit.reason === 'excluded' && visit.finalUrl !== null && !sameSite(url, new URL(visit.finalUrl));

/** Returns the functions that add the links of a page, or one, to the frontier, or to what is listed or counted. */
function createLinkQueue(
  frontier: Frontier,
  site: CrawledSite,
  known: { exclusions: Exclusions; referrers: Referrers; discovery: Discovery; nameHost: (page: PageAddress) => void; isListed: boolean },
) {
  const { exclusions, referrers, discovery, nameHost } = known;
  /** The keys of pages by processed links; null for a link that is no page. */
  const processed = new Map<string, string | null>();

  /** @returns the key of a page of the site */
  function take(link: string, on: Candidate, isFile: boolean): string | null {
    const target = site.targetOf(link);
    if (target?.kind === 'too_long') exclusions.count(1);
    else if (target?.kind === 'other' && discovery.name('links', target.href)) discovery.countHost(target.host, 'links');
    else if (target?.kind === 'file' || (target?.kind === 'page' && isFile)) discovery.name('files', target.page.key);
    if (target?.kind !== 'page' || isFile) return null;
    const { page } = target;
    nameHost(page);
    let wrong: WrongPage | null = null;
    const exclusionOf = (address: PageAddress): WrongPage | null => site.exclusionOf(address) ?? (repeatsItself(address) ? ENDLESS : null);
    const added = frontier.add(page, on.depth + 1, () => (wrong = exclusionOf(page)) !== null);
    const { asLinked } = target;
    if (asLinked !== null && (added === 'queued' || added === 'known'))
      frontier.add(asLinked, on.depth + 1, () => exclusionOf(asLinked) !== null);
    if (added === 'endless') wrong = ENDLESS;
    const isListed = wrong !== null && exclusions.add(page, wrong);
    if (added === 'queued' || isListed) referrers.follow(page.key);
    return page.key;
  }

  function takeLinks({ links, files, hashLinks, anchors, linksBeyond }: Links, on: Candidate): void {
    const from = { url: on.url.href, key: on.key };
    for (const link of [...links, ...files].filter(maybeDocument)) {
      const target = site.targetOf(link);
      if (target?.kind === 'file') discovery.nameDocument(target.page, from.url);
    }
    if (known.isListed) return;
    for (const link of site.hasRoutes ? [...links, ...hashLinks, ...anchors] : links) {
      const known = processed.get(link);
      const key = known === undefined ? take(link, on, false) : known;
      if (known === undefined && processed.size < LINKS_REMEMBERED) processed.set(link, key);
      if (key === null) continue;
      if (key !== on.key) discovery.name('links', key);
      referrers.link(key, from);
    }
    for (const link of files) take(link, on, true);
    if (!site.hasRoutes) for (const link of hashLinks) discovery.name('hash_links', link);
    exclusions.count(linksBeyond);
  }

  return {
    queueLinks(facts: PageFacts, on: Candidate): void {
      takeLinks(facts, on);
      // What a frame of another site shows is tested with the page, but where it leads is that site's.
      for (const frame of facts.frames) if (site.targetOf(frame.url)?.kind !== 'other') takeLinks(frame, on);
    },
    queueLink(link: string, on: Candidate): void {
      const key = take(link, on, false);
      if (key !== null) referrers.link(key, { url: on.url.href, key: on.key });
    },
  };
}

function sameMessage({ url, by }: SamePage, canonical: Pick<URL, 'href'>): string {
  return by === 'content'
    ? `It displays the same as ${url}, which is tested.`
    : `Its main content is that of ${url}, which is tested, and both have the canonical address ${canonical.href}.`;
}

/** Returns the canonical address of a page if it is another page of the site. */
function canonicalOf(visit: LoadedVisit, key: string, site: CrawledSite): PageAddress | null {
  const { canonical } = visit.facts;
  if (canonical === null) return null;
  const target = site.targetOf(canonical);
  return target?.kind !== 'page' || target.page.key === key ? null : target.page;
}

function testedPage(url: URL, visit: LoadedVisit, findings: PageFindings): TestedPage {
  return {
    url: url.href,
    final_url: visit.finalUrl.href,
    http_status: visit.status,
    title: visit.facts.title,
    language: visit.facts.language,
    size: visit.facts.size,
    tested: true,
    score: roundScore(pageScore(findings.rules), countViolations(findings.violations).total),
    rules: findings.rules,
    duration_ms: visit.durationMs,
    violations: findings.violations,
    needs_review: reviewedBeside(findings),
    advice: findings.advice,
    ...positionsOf(rulesWithoutFinding(findings)),
    frames_untested: visit.framesUntested,
    caveats: visit.caveats,
  };
}

/** What needs review, with the rules that count as passed. Those of ours never do. */
function reviewedBeside({ needsReview, passes, violations }: PageFindings): ReportViolation[] {
  const passed = new Set(passes.map(({ id }) => id)).difference(new Set(violations.map(({ rule }) => rule)));
  return needsReview.map((finding) => (passed.has(finding.rule) && !isOwnRule(finding.rule) ? { ...finding, passed: true } : finding));
}

function sameAs(candidate: Candidate, visit: LoadedVisit, url: string, message: string): Taken {
  return { outcome: 'left_out', page: { ...leftOut(candidate, visit, message), reason: 'same_as', same_as: url } };
}

/** A page that was loaded and is not tested, because it is not part of the scan or the same as another. */
const leftOut = (candidate: Candidate, visit: LoadedVisit, message: string): UntestedPage =>
  untestedPage(candidate.url.href, { reason: 'excluded', message }, { ...visit, finalUrl: visit.finalUrl.href });

/*
 * Recognises a page that was already tested under another address: it displays the same, or it names the same canonical
 * address and has the same main content. A canonical link alone is not trusted, because many sites name their start page as
 * the canonical address of every page. Pages with different findings are never the same.
 */

interface ComparedPage {
  /** The key of its address. */
  key: string;
  /** The key of its canonical address, if it is another page of the site. */
  canonicalKey: string | null;
  content: PageFacts['content'];
  /** Null if only the page's links were read. */
  findings: PageFindings | null;
}

/** A page that displays only frames is its frames. */
const contentOf = ({ isFrameset, content, frames }: PageFacts): PageFacts['content'] =>
  isFrameset && frames.length > 0
    ? { whole: frames.map((frame) => frame.content.whole).join(), main: frames.map((frame) => frame.content.main).join() }
    : content;

/** The page whose test covers another, and what made them equal. */
interface SamePage {
  url: string;
  by: 'content' | 'canonical';
}

function createDuplicates() {
  /** Tested pages by what they have in common with their duplicates. */
  const byContent = new Map<string, string>();
  const byCanonical = new Map<string, string>();
  const keysOf = ({ key, canonicalKey, content, findings }: ComparedPage): { content: string; canonical: string } => {
    const digest = digestOf(findings);
    return { content: `${content.whole} ${digest}`, canonical: `${canonicalKey ?? key} ${content.main} ${digest}` };
  };
  return {
    find(page: ComparedPage): SamePage | null {
      const keys = keysOf(page);
      const same = byContent.get(keys.content);
      if (same !== undefined) return { url: same, by: 'content' };
      const canonical = byCanonical.get(keys.canonical);
      return canonical === undefined ? null : { url: canonical, by: 'canonical' };
    },
    /** @param url the page's `url` in the report */
    add(url: string, page: ComparedPage): void {
      const keys = keysOf(page);
      byContent.set(keys.content, url);
      if (!byCanonical.has(keys.canonical)) byCanonical.set(keys.canonical, url);
    },
  };
}

/** A digest of the rules that failed or need review, and of the numbers of their elements. */
function digestOf(findings: PageFindings | null): string {
  if (findings === null) return 'untested';
  const numbers = [findings.violations, findings.needsReview].map((rules) =>
    rules.map(({ rule, nodes_total }) => `${rule} ${nodes_total}`).sort(),
  );
  return createHash('sha256').update(JSON.stringify(numbers)).digest('base64');
}
