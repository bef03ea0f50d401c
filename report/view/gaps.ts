/**
 * What was not tested, or not completely: pages, frames, parts of pages, and addresses. Which gaps a report has, in which order, and
 * what formats without translations say of them. Pure.
 */
import { coverageOf } from '../../core/scan/counts.ts';
import { DISCOVERY_NOTE } from '../../core/scan/thresholds.ts';
import { isAttempted } from '../results/score.ts';
import { type PageCaveat, type TestedPage, testedPages, type UntestedFrame, type UntestedPage } from '../schema/page.ts';
import type { OtherHost, Report, ReportDiscovery } from '../schema/report.ts';
import { capitalized, type ReportWords, wordsIn } from '../words/words.ts';
import { consentSentence, partialSentence } from './sentences.ts';

export interface Gaps {
  untested: UntestedPage[];
  same: UntestedPage[];
  frames: { page: TestedPage; frame: UntestedFrame }[];
  caveats: { page: TestedPage; caveat: PageCaveat }[];
  addressesLeft: number;
  discovery: ReportDiscovery;
}

/** Collects the gaps of a report. Attempted pages come before the others. */
export function gapsOf({ pages, addresses_left: addressesLeft, discovery }: Report): Gaps {
  const tested = testedPages(pages);
  const untested = pages.filter((page): page is UntestedPage => !page.tested);
  const rank = ({ reason }: UntestedPage): number => (isAttempted(reason) ? 0 : 1);
  return {
    untested: untested.filter(({ reason }) => reason !== 'same_as').sort((left, right) => rank(left) - rank(right)),
    same: untested.filter(({ reason }) => reason === 'same_as'),
    frames: tested.flatMap((page) => page.frames_untested.map((frame) => ({ page, frame }))),
    caveats: tested.flatMap((page) => page.caveats.map((caveat) => ({ page, caveat }))),
    addressesLeft,
    discovery,
  };
}

/** One line about what was not tested, such as `Coverage 85% · 2 pages not tested`; empty if all was tested. */
export function gapsLine(report: Report, { texts, count, format }: ReportWords): string {
  const { untested, frames, caveats, addressesLeft } = gapsOf(report);
  const { pages_tested: tested, pages_attempted: attempted } = report.score;
  const numbers: [number, Parameters<ReportWords['count']>[0]][] = [
    [untested.filter(({ reason }) => reason !== 'document').length, texts.pagesUntested],
    [frames.length, texts.framesUntested],
    [new Set(caveats.map(({ page }) => page)).size, texts.pagesWithCaveats],
    [addressesLeft, texts.addressesLeft],
  ];
  const parts = numbers.flatMap(([n, forms]) => (n > 0 ? [count(forms, n)] : []));
  if (parts.length === 0) return '';
  return [format(texts.coverage, { percent: coverageOf({ scanned: tested, failed: attempted - tested }) }), ...parts].join('  ·  ');
}

/** What links and sitemaps name that has no row. */
export function leftLines(
  { addressesLeft: left, discovery }: Pick<Gaps, 'addressesLeft' | 'discovery'>,
  { texts, count, format, number, locale }: ReportWords,
  mayAddHosts: boolean,
): string[] {
  const {
    other_hosts: hosts,
    other_hosts_left: others,
    hash_links: hash,
    hosts_unnamed: unnamed = [],
    documents_total: documents = 0,
  } = discovery;
  const named = [...hosts.map((host) => `${host.host} (${host.links + host.sitemap_entries})`), ...(others > 0 ? [`… (${others})`] : [])];
  return [
    ...(left > 0 ? [`${capitalized(count(texts.addressesLeft, left), locale)}. ${texts.addressesLeftIntro}`] : []),
    ...(hash > 0 ? [format(texts.hashLinks, { n: hash })] : []),
    ...(unnamed.length > 0 ? [format(texts.hostsUnnamed, { hosts: unnamed.join(', ') })] : []),
    ...(documents > 0 ? [format(texts.documents.linked, { n: number(documents) })] : []),
    ...(hosts.length > 0 ? [format(texts.otherHosts, { hosts: named.join(', ') }) + (mayAddHosts ? ` ${texts.otherHostsToDo}` : '')] : []),
  ];
}

/** Whether something on a tested page may have been missed. */
export const isIncomplete = ({ frames_untested, caveats }: Pick<TestedPage, 'frames_untested' | 'caveats'>): boolean =>
  frames_untested.length > 0 || caveats.length > 0;

/** What is incomplete about the test of a page: frames that were not tested, and caveats. */
export function pageGaps(page: TestedPage): { kind: string; message: string }[] {
  return [
    ...page.frames_untested.map(({ path, url, reason, message }) => ({
      kind: `frame_${reason}`,
      message: `The frame ${path.join(' >>> ')} (${url}) was not tested. ${message}`,
    })),
    ...page.caveats,
  ];
}

/** Why a page was not tested, what covers it, and where it is linked from. */
export function untestedMessage({ reason, message, same_as, linked_from = [] }: UntestedPage): string {
  const same = same_as === undefined ? [] : [`(${same_as})`];
  const from = linked_from.length === 0 ? [] : [`Linked from ${linked_from.join(', ')}`];
  return [message || reason, ...same, ...from].join(' ');
}

/** The kind of the note of a partial report. */
export const PARTIAL = 'partial_report';

/** What else the reader of a report must know about the scan. */
export function scanNotes(
  report: Pick<Report, 'addresses_left' | 'consent' | 'discovery' | 'partial' | 'pictures_left'>,
): { kind: string; message: string }[] {
  const { consent, partial = false, pictures_left: pictures } = report;
  const left = leftMessage(report);
  const i18n = wordsIn('en', 'report');
  return [
    ...(partial ? [{ kind: PARTIAL, message: partialSentence('en') }] : []),
    ...(consent === undefined ? [] : [{ kind: `consent_${consent.outcome}`, message: consentSentence(consent, 'en') }]),
    ...(left === null ? [] : [{ kind: 'addresses_left', message: left }]),
    ...(pictures === undefined ? [] : [{ kind: 'pictures_left', message: i18n.count(i18n.texts.picturesLeft, pictures) }]),
    ...discoveryNotes(report.discovery),
  ];
}

/** The sentence for addresses that were found but left out; null if there are none. */
const leftMessage = ({ addresses_left: left }: Pick<Report, 'addresses_left'>): string | null =>
  left === 0
    ? null
    : `${left.toLocaleString('en')} more ${left === 1 ? 'address was' : 'addresses were'} found and not tested, because enough pages were tested, the time was up, the scan was canceled, the rules of the scan leave ${left === 1 ? 'it out, or it is' : 'them out, or they are'} too long.`;

const plural = (n: number, one: string, other: string): string => `${n.toLocaleString('en')} ${n === 1 ? one : other}`;

const namesOf = ({ links, sitemap_entries: entries }: Pick<OtherHost, 'links' | 'sitemap_entries'>): string => {
  const named = [links > 0 && plural(links, 'link', 'links'), entries > 0 && plural(entries, 'sitemap entry', 'sitemap entries')];
  return named.filter(Boolean).join(' and ');
};

const TO_DO_FOR_VIEWS = 'To test them as views of an application, set crawl.hashRoutes: all (--hash-routes all).';

const TO_DO_FOR_HOSTS =
  'To test one with this site, set crawl.hosts (--host); if this site is a preview of it, set crawl.rewriteHost (--rewrite-host).';

/** What links and sitemaps name beside the pages of the scan. */
export function discoveryNotes(found: ReportDiscovery): { kind: string; message: string }[] {
  const { other_hosts: hosts, other_hosts_left: left, hash_links: hash, sitemaps_cut: cut, hosts_unnamed: unnamed = [] } = found;
  const { texts, format } = wordsIn('en', 'report');
  const named = [...hosts.map((host) => `${host.host} (${namesOf(host)})`), ...(left > 0 ? [`more hosts (${left} addresses)`] : [])];
  const notes: [count: number, kind: string, message: string][] = [
    [hosts.length, 'other_hosts', `Not part of the scan: ${named.join(', ')}. ${TO_DO_FOR_HOSTS}`],
    [unnamed.length, 'hosts_unnamed', format(texts.hostsUnnamed, { hosts: unnamed.join(', ') })],
    [hash, 'hash_links', `${plural(hash, 'link leads', 'links lead')} to fragments that name no element. ${TO_DO_FOR_VIEWS}`],
    [cut, 'sitemaps_cut', `${plural(cut, 'sitemap was', 'sitemaps were')} not read to the end, because enough pages were found before.`],
  ];
  return notes.flatMap(([count, kind, message]) => (count === 0 ? [] : [{ kind, message }]));
}

/**
 * What the message of a verdict says about a scan that may have missed the site. It tested a single page although there are links, or
 * most links lead to another host. Null if there is nothing to say.
 */
export function discoveryNote(
  { links: addresses, hash_links: hash, other_hosts: hosts }: ReportDiscovery,
  { tested, maxPages, passed }: { tested: number; maxPages: number; passed: boolean | null },
): string | null {
  if (maxPages === 1) return null;
  const [single, links] = [tested === 1, addresses + hash];
  const host = passed === false ? undefined : hosts.find((one) => single || 2 * one.links > addresses || one.sitemap_entries > tested);
  const parts = single && links > 0 ? [`only one page was tested although ${plural(links, 'link was', 'links were')} found`] : [];
  if (host !== undefined)
    parts.push(
      `${host.host} is not part of the scan, but named by ${namesOf(host)}: to test it too, set crawl.hosts (--host) or scan it; if this site is a preview of it, set crawl.rewriteHost (--rewrite-host)`,
    );
  if (single && hash > 0 && passed !== false) parts.push(`${plural(hash, 'link leads', 'links lead')} to fragments that name no element`);
  const toDo = single && hash > 0 && passed !== false ? ` ${TO_DO_FOR_VIEWS}` : '';
  return parts.length === 0 ? null : `${DISCOVERY_NOTE} ${parts.join('; ')}.${toDo}`;
}
