/** Reduces an export to what a comparison needs: digests of its elements instead of their HTML. Pure. */
import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { type StateKind, STATES_VERSION, statesOf } from '../../core/scan/states.ts';
import { pathOnSite } from '../../core/scan/site.ts';
import { uncounted } from '../results/cap-nodes.ts';
import { type ReportNode, type ReportPage, type ReportViolation, type TestedPage, testedPages } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { isParseable } from '../schema/export-size.ts';
import { knownMatcher, type KnownMatcher, NONE_KNOWN } from '../causes/known-matcher.ts';
import { rootCauseFingerprint } from '../causes/root-causes.ts';
import { isGenerated, steadyClasses, steadyFile, steadyName } from '../causes/generated.ts';

export interface ReducedElement {
  fingerprint: string;
  /** The index in `IMPACTS`. */
  impact: number;
  identity: HtmlIdentity;
  /** Digest of the paths to the element. */
  location: string;
  selector: string;
  frame_path: string[];
  shadow_path: string[];
  /** Whether it is a known issue. */
  known: boolean;
  /** The state in which it was found; undefined: at rest. */
  state?: StateKind;
}

/** Elements of one root cause that the export counts and does not describe. */
export interface UndescribedElements {
  elements: number;
  /** The index in `IMPACTS`. */
  impact: number;
  known: boolean;
}

export interface ReducedPage {
  url: string;
  /** The failing elements by rule, in the order of the export. */
  rules: Map<string, ReducedElement[]>;
  /** The other failing elements, by rule and fingerprint. */
  undescribed: Map<string, Map<string, UndescribedElements>>;
  /** The numbers of elements that rules could not decide about at rest. */
  review: Map<string, number>;
  /** What was not tested, or may have been missed: frames by their path, and kinds of caveats. */
  gaps: string[];
  /** The states in which it was tested and whose violations count, of this version. */
  states: Set<StateKind>;
}

/** How a scan was made. */
export interface ScanFacts extends Pick<Report['scan'], 'url' | 'options'> {
  tools: Report['tools'];
  scoreVersion: number;
  fingerprintVersion: number;
  /** The scan was canceled before all pages were tested. */
  partial: boolean;
  /** It counts by root causes what is new. */
  countsCauses: boolean;
  /** The number of failing elements that the export neither describes nor counts by root cause. */
  uncounted: number;
}

export interface ReducedReport {
  about: ScanFacts;
  /** The tested pages by their key, which does not depend on the site's origin. */
  pages: Map<string, ReducedPage>;
  /** The keys of pages that were not tested, because they are the same as a tested page, with the key of that page. */
  same: Map<string, string>;
  /** What is said about each rule, in the language of the scan. */
  rules: Map<string, Pick<ReportViolation, 'wcag' | 'help' | 'help_url'>>;
  fingerprints: Set<string>;
  /** The hosts whose pages are compared by their path alone. */
  hosts: ReadonlySet<string>;
  /** The states that are in `states` of any page. */
  states: Set<StateKind>;
  /** The root causes of faults that people have confirmed, and of elements that need review or were found fine. */
  confirmed: Set<string>;
  undecided: Set<string>;
  /** The root causes of elements that people have found fine. */
  fine: Set<string>;
}

/** What is read of an export. */
export type ComparableReport = Pick<Report, 'tools' | 'pages'> & {
  scan: Pick<Report['scan'], 'url' | 'options'>;
  score: Pick<Report['score'], 'score_version'>;
  fingerprint_version: number;
  partial?: true;
  states?: Pick<NonNullable<Report['states']>, 'version'>;
  baseline?: Pick<NonNullable<Report['baseline']>, 'count'>;
};

/** Longer selectors of hostile pages are cut off in the result. */
const SELECTOR_MAX = 1000;

/**
 * Reduces the bytes of a stored export, with the known issues that it lists. It was verified, but maybe by another version. Returns null
 * if it cannot be read.
 */
export function reduceExport(bytes: Uint8Array): ReducedReport | null {
  if (!isParseable(bytes)) return null;
  try {
    const report = JSON.parse(new TextDecoder().decode(bytes)) as Report;
    const known = report.known_issues?.issues ?? [];
    return reduceReport(report, known.length === 0 ? NONE_KNOWN : knownMatcher(known));
  } catch {
    return null;
  }
}

/**
 * Reduces an export. It is not referenced afterwards, so that its memory can be used again.
 * @param known says which elements are known issues
 * @param hosts whose pages are compared by their path alone. Default: those of the site
 */
export function reduceReport(
  report: ComparableReport,
  known: KnownMatcher = NONE_KNOWN,
  hosts: ReadonlySet<string> = hostsOf(report),
): ReducedReport {
  const reduced: ReducedReport = {
    about: {
      url: report.scan.url,
      options: report.scan.options,
      tools: report.tools,
      scoreVersion: report.score.score_version,
      fingerprintVersion: report.fingerprint_version,
      partial: report.partial === true,
      countsCauses: report.baseline?.count === 'causes',
      uncounted: 0,
    },
    pages: new Map(),
    same: new Map(),
    rules: new Map(),
    fingerprints: new Set(),
    hosts,
    states: new Set(),
    confirmed: new Set(),
    undecided: new Set(),
    fine: new Set(),
  };
  const countsStates = report.states?.version === STATES_VERSION && statesOf(report.scan.options).counted;
  const keyOf = pageKeys(hosts);
  const elementOf = elementReader(known);
  // Sorted, because the order of the pages differs from scan to scan.
  for (const page of testedPages(report.pages).sort((a, b) => (a.url < b.url ? -1 : 1))) {
    const key = keyOf(page);
    const reducedPage: ReducedPage = reduced.pages.get(key) ?? newPage(page);
    reduced.pages.set(key, reducedPage);
    for (const { kind, result } of countsStates ? (page.states ?? []) : [])
      if (result !== 'skipped') for (const { states } of [reduced, reducedPage]) states.add(kind);
    for (const violation of page.violations) {
      const { rule, wcag, help, help_url } = violation;
      if (!reduced.rules.has(rule)) reduced.rules.set(rule, { wcag, help, help_url });
      const elements = reducedPage.rules.get(rule) ?? [];
      reducedPage.rules.set(rule, elements);
      for (const node of violation.nodes) {
        const element = elementOf(violation, node);
        elements.push(element);
        reduced.fingerprints.add(element.fingerprint);
        if (node.confirmed) reduced.confirmed.add(element.fingerprint);
      }
      addUndescribed(reducedPage, violation, known);
      reduced.about.uncounted += Math.max(0, uncounted(violation) || 0);
    }
    for (const { rule, nodes } of [...page.needs_review, ...(page.reviewed ?? [])])
      for (const node of nodes) reduced.undecided.add(rootCauseFingerprint(rule, node));
    for (const { rule, nodes } of page.reviewed ?? []) for (const node of nodes) reduced.fine.add(rootCauseFingerprint(rule, node));
  }
  addSamePages(reduced, report.pages, keyOf);
  return reduced;
}

const newPage = ({ url, needs_review, frames_untested, caveats }: TestedPage): ReducedPage => ({
  ...{ url, rules: new Map(), undescribed: new Map(), states: new Set() },
  review: new Map(needs_review.map(({ rule, nodes, nodes_total: all }) => [rule, all - nodes.filter(({ state }) => state).length])),
  gaps: [...frames_untested.map(({ path }) => path.map(shortened).join(' ')), ...caveats.map(({ kind }) => kind)],
});

function addUndescribed({ undescribed }: ReducedPage, { rule, impact, nodes_beyond = [] }: ReportViolation, known: KnownMatcher): void {
  if (nodes_beyond.length === 0) return;
  const causes = undescribed.get(rule) ?? new Map<string, UndescribedElements>();
  undescribed.set(rule, causes);
  for (const { fingerprint, elements } of nodes_beyond) {
    const before = causes.get(fingerprint)?.elements ?? 0;
    causes.set(fingerprint, {
      elements: before + elements,
      impact: IMPACTS.indexOf(impact),
      known: known.ofCause(fingerprint) !== undefined,
    });
  }
}

function addSamePages({ pages, same }: ReducedReport, all: readonly ReportPage[], keyOf: PageKey): void {
  const tested = new Map(testedPages(all).map((page) => [page.url, keyOf(page)]));
  for (const page of all) {
    if (page.tested || page.same_as === undefined) continue;
    const [key, other] = [keyOf({ final_url: page.final_url ?? page.url }), tested.get(page.same_as)];
    if (other !== undefined && !pages.has(key)) same.set(key, other);
  }
}

/** Reads elements. What follows from rule and HTML is computed once, because components repeat on many pages. */
export function elementReader(known: KnownMatcher = NONE_KNOWN): (violation: ReportViolation, node: ReportNode) => ReducedElement {
  const identities = new Map<string, HtmlIdentity>();
  const fingerprints = new Map<string, string>();
  return (violation, node) => {
    const identity = identities.get(node.html) ?? identifyHtml(node.html);
    identities.set(node.html, identity);
    const { landmark, contrast, html, related, failure_summary } = node;
    const cause = JSON.stringify([violation.rule, landmark, contrast?.foreground, contrast?.background, html, related, failure_summary]);
    const fingerprint = fingerprints.get(cause) ?? rootCauseFingerprint(violation.rule, node);
    fingerprints.set(cause, fingerprint);
    const place = [...node.frame_path, '', ...node.shadow_path, '', node.selector];
    const location = digest(...place);
    return {
      fingerprint,
      impact: IMPACTS.indexOf(violation.impact),
      identity,
      location,
      selector: shortened(node.selector),
      frame_path: node.frame_path.map(shortened),
      shadow_path: node.shadow_path.map(shortened),
      known: known.of(violation.rule, node) !== undefined,
      ...(node.state && { state: node.state.kind }),
    };
  };
}

/** A cut text would keep the whole one in memory, unless it is copied. */
const shortened = (text: string): string =>
  text.length <= SELECTOR_MAX ? text : `${Buffer.from(text.slice(0, SELECTOR_MAX)).toString()}…`;

type PageKey = (page: Pick<TestedPage, 'final_url'>) => string;

/** The hosts of the scanned site: that of its address, and the one that its first page leads to. */
function hostsOf({ scan, pages }: ComparableReport): ReadonlySet<string> {
  const path = pathOnSite(scan.url, scan.url);
  const start = pages.find((page): page is TestedPage => page.tested && path !== null && pathOnSite(page.url, scan.url) === path);
  return new Set(
    [scan.url, start?.url, start?.final_url].flatMap((url) => (url !== undefined && URL.canParse(url) ? [hostOf(new URL(url))] : [])),
  );
}

/**
 * Returns the key of a page: its final address, with sorted parameters and without a trailing slash. It lacks the origin of the
 * scanned site, so that a preview can be compared with the production site.
 */
function pageKeys(own: ReadonlySet<string>): PageKey {
  return ({ final_url }) => {
    if (!URL.canParse(final_url)) return final_url;
    const url = new URL(final_url);
    url.searchParams.sort();
    const path = url.pathname.replace(/(?<=.)\/+$/, '');
    return `${own.has(hostOf(url)) ? '' : hostOf(url)}${path}${url.search}${url.hash}`;
  };
}

const hostOf = ({ host }: URL): string => host.replace(/^www\./, '');

/** The identity of an element by its HTML. Elements with the same HTML have the same identity. */
interface HtmlIdentity {
  /** Digest of the HTML as it is. */
  html: string;
  tag: string;
  /** Digest of tag and anchor attribute; null if it has no such attribute, or only a generated one. */
  anchor: string | null;
  /** Digest of role and name; null if it has no name. */
  name: string | null;
  /** Digest of the HTML without the hashes that a build puts into classes and names of files. */
  shape: string;
}

/** Attributes that name one element of a page, best first. */
const ANCHORS = ['data-testid', 'data-test', 'data-cy', 'id', 'name', 'href', 'src', 'for', 'action'];
/** Their values are addresses, in which numbers are not counters. */
const ADDRESSES = new Set(['href', 'src', 'action']);
/** Attributes that name an element for users, best first. Without any of them, its text does. */
const NAMES = ['aria-label', 'alt', 'title', 'placeholder', 'value'];

/** Attributes with names that tools generate. */
const NAMED = / (class|id|for|name|src|href|srcset|poster)="([^"]*)"/g;

/** The HTML without what a build may change although nobody changed the component. */
const withoutBuild = (html: string): string =>
  html.replace(NAMED, (_, attribute: string, value: string) => {
    const steady = attribute === 'class' ? steadyClasses : /^(?:id|for|name)$/.test(attribute) ? steadyName : steadyFile;
    return ` ${attribute}="${steady(value)}"`;
  });

/** The first 16 characters of SHA-256 in base64url, 96 bits. */
function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 16);
}

/** Reads the start tag and the text of an element's HTML, which may be cut off. */
function identifyHtml(html: string): HtmlIdentity {
  let tag = '';
  let attributes: Record<string, string> = {};
  let text = '';
  const parser = new Parser({
    onopentag(name, found) {
      if (tag === '') [tag, attributes] = [name, found];
      else if (name === 'img') text += ` ${found.alt ?? ''} `;
    },
    ontext: (data) => void (text += data),
  });
  parser.write(html);
  parser.end();
  const anchor = ANCHORS.find((name) => isAnchor(name, attributes[name]));
  const name = [...NAMES.map((attribute) => attributes[attribute] ?? ''), text].map(words).find((value) => value !== '');
  return {
    html: digest(html),
    tag,
    anchor: anchor === undefined ? null : digest(tag, anchor, attributes[anchor]!),
    name: name === undefined ? null : digest(attributes.role ?? tag, attributes.type ?? '', name),
    shape: digest(withoutBuild(html)),
  };
}

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

function isAnchor(name: string, value: string | undefined): boolean {
  if (value === undefined || value === '' || value === '#') return false;
  return ADDRESSES.has(name) ? !value.startsWith('data:') : !isGenerated(value);
}
