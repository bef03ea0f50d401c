/**
 * The view of a report: what pages and mails show of it. The operator derives it from the verified export and stores it
 * beside the export, so that a page is served without reading an export of many megabytes. Pure.
 */
import { IMPACTS } from '../../core/scan/impacts.ts';
import { leadingCauses } from './leading-causes.ts';
import type { Report, RootCause, ReportNode, ReportPage, ReportPicture, ReportRule, TestedPage } from '../schema/schema.ts';
import { elementPath, type FindingList, testedPages } from '../schema/parts.ts';
import { countViolations } from '../results/score.ts';
import { placeFindings } from './findings.ts';
import { isIncomplete } from './gaps.ts';
import { fitting, shortened, startWithin } from './bounds.ts';
import {
  VIEW_LIMITS,
  VIEW_MAX_BYTES,
  type FindingsPlace,
  type ReportView,
  type ViewGaps,
  type ViewGroup,
  type ViewIssue,
  type ViewPage,
  type ViewPicture,
} from './schema.ts';

export * from './schema.ts';

/** The frames or shadow hosts that a path keeps. */
const PATH_MAX = 20;
/** The maximum size of a group's page URLs, in bytes of JSON. */
const PAGE_URLS_MAX_BYTES = 8_192;
/** The maximum size of what is said about rules: several times what the texts of every rule need. */
const RULES_MAX_BYTES = 131_072;
/** More than WCAG assigns to any rule. */
const CRITERIA_MAX = 20;

/** The view of a report, and the object with its findings, to which the places in the view refer. */
export interface ViewObjects {
  view: ReportView;
  findings: Uint8Array<ArrayBuffer>;
}

export const viewOf = (report: Report): ReportView => viewObjectsOf(report).view;

/** Derives the view of a verified report. */
export function viewObjectsOf(report: Report): ViewObjects {
  const { scan, score, counts } = report;
  const tested = testedPages(report.pages);
  const { review_groups: toReview, advice_groups: advice } = report;
  const facts = factsOf(report);
  const groups = worstFirst(report.groups, VIEW_LIMITS.causes, describer(tested, 'violations'), facts);
  const listed = report.pages.slice(0, VIEW_LIMITS.pages);
  // Only through the view can the findings of a page be found.
  const placed = placeFindings(groups, testedPages(listed));
  const view = {
    view_version: 1 as const,
    url: shortened(scan.url, 'url'),
    locale: scan.options.locale,
    tested_at: shortened(scan.finished_at, 'name'),
    score: score.value,
    counts,
    ...(report.partial && { partial: report.partial }),
    ...(report.consent && { consent: { ...report.consent, url: shortened(report.consent.url, 'url') } }),
    groups: [],
    groups_total: report.groups.length,
    causes: [],
    cause_rules: rulesOf(groups),
    leading: leadingOf(report),
    needs_review: [],
    needs_review_total: toReview.length,
    needs_review_elements: score.needs_review,
    advice: [],
    advice_total: advice.length,
    advice_elements: advice.reduce((sum, { elements }) => sum + elements, 0),
    pages: [],
    pages_total: report.pages.length,
    pages_with_gaps: tested.filter(isIncomplete).length,
    addresses_left: report.addresses_left,
    issues: [],
    issues_total: counts.total,
  } satisfies ReportView;
  const pictured = new Map(
    report.page_pictures?.map(({ page_url, offset, bytes, width, height }) => [page_url, { offset, bytes, width, height }]),
  );
  const pages = listed.map((page) => viewPage(page, placed.pages.get(page), pictured.get(page.url)));
  const filled = fitting(view, VIEW_MAX_BYTES, [
    { name: 'pages', entries: pages, share: 0.25 },
    { name: 'causes', entries: placed.causes, share: 0.6 },
    {
      name: 'needs_review',
      entries: worstFirst(toReview, VIEW_LIMITS.needs_review, describer(tested, 'needs_review'), facts),
      share: 0.25,
    },
    { name: 'advice', entries: worstFirst(advice, VIEW_LIMITS.advice, describer(tested, 'advice'), facts), share: 0.1 },
    { name: 'issues', entries: tested.length === 1 ? issuesOf(tested[0]!) : [], share: 0.5 },
    { name: 'groups', entries: groups.slice(0, VIEW_LIMITS.groups), share: 1 },
  ]);
  return { view: filled, findings: placed.object };
}

/** What is said about the rules of root causes, once for each rule. */
function rulesOf(groups: readonly ViewGroup[]): ReportView['cause_rules'] {
  const rules = new Map(groups.map(({ rule, help, wcag }) => [rule, { help, wcag }]));
  return Object.fromEntries(startWithin([...rules], RULES_MAX_BYTES).start);
}

function leadingOf({ groups }: Report): ReportView['leading'] {
  const { causes, removed, percent } = leadingCauses(groups);
  return {
    causes: causes.map(({ group: { fingerprint, help, elements } }) => ({ fingerprint, help: shortened(help, 'help'), elements })),
    removed,
    percent,
  };
}

/** Returns the description of a rule, which groups do not have. */
function describer(pages: readonly TestedPage[], list: FindingList): (rule: string) => string {
  const descriptions = new Map<string, string>();
  for (const page of pages)
    for (const { rule, description } of page[list]) if (!descriptions.has(rule)) descriptions.set(rule, description);
  return (rule) => descriptions.get(rule) ?? '';
}

/** What a report has once for all groups. */
interface Facts {
  /** The positions of pages, by their `url`. */
  pages: ReadonlyMap<string, number>;
  /** By fingerprint. */
  pictures: ReadonlyMap<string, ReportPicture>;
  rules: ReadonlyMap<string, ReportRule>;
}

const factsOf = ({ pages, pictures, rules }: Report): Facts => ({
  pages: new Map(pages.slice(0, VIEW_LIMITS.pages).map(({ url }, index) => [url, index])),
  pictures: new Map(pictures.map((picture) => [picture.fingerprint, picture])),
  rules: new Map(rules.map((rule) => [rule.id, rule])),
});

const isNew = ({ new_elements: added = 0 }: RootCause): boolean => added > 0;

/** The first groups: those with new elements, then by impact, elements and pages. Groups that are alike in these keep their order. */
function worstFirst(groups: readonly RootCause[], max: number, describe: (rule: string) => string, facts: Facts): ViewGroup[] {
  return groups
    .toSorted(
      (a, b) =>
        Number(isNew(b)) - Number(isNew(a)) ||
        IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) ||
        b.elements - a.elements ||
        b.pages - a.pages,
    )
    .slice(0, max)
    .map((group) => ({
      fingerprint: group.fingerprint,
      ...ruleFields(group),
      description: shortened(describe(group.rule), 'text'),
      pages: group.pages,
      elements: group.elements,
      ...(group.new_elements !== undefined && { new_elements: group.new_elements }),
      ...(group.known && { known_elements: group.known_elements, known: group.known.slice(0, VIEW_LIMITS.known) }),
      page_urls: pageUrls(group),
      example: boundedNode(group.example),
      standards: standardsOf(facts.rules.get(group.rule)),
      ...pictureOf(facts.pictures.get(group.fingerprint), facts),
    }));
}

const names = (list: readonly string[] = []): string[] => list.slice(0, CRITERIA_MAX).map((name) => shortened(name, 'name'));

const standardsOf = (rule: ReportRule | undefined): ViewGroup['standards'] => ({
  en_301_549: names(rule?.en_301_549),
  rgaa_4: names(rule?.rgaa_4),
  trusted_tester_5: names(rule?.trusted_tester_5),
  act_rules: names(rule?.act_rules),
});

function pictureOf(picture: ReportPicture | undefined, { pages }: Pick<Facts, 'pages'>): Pick<ViewGroup, 'picture'> {
  if (picture === undefined) return {};
  const { offset, bytes, width, height, page_url } = picture;
  const index = pages.get(page_url);
  return { picture: { offset, bytes, width, height, ...(index !== undefined && { page: index + 1 }) } };
}

function pageUrls({ page_urls: [first, ...others] }: RootCause): string[] {
  if (first === undefined) return [];
  const rest = others.slice(0, VIEW_LIMITS.page_urls - 1).map((url) => shortened(url, 'url'));
  return [shortened(first, 'url'), ...startWithin(rest, PAGE_URLS_MAX_BYTES).start];
}

const ruleFields = ({ rule, impact, wcag, help, help_url }: Pick<RootCause, 'rule' | 'impact' | 'wcag' | 'help' | 'help_url'>) => ({
  rule: shortened(rule, 'name'),
  impact,
  wcag: names(wcag),
  help: shortened(help, 'help'),
  help_url: shortened(help_url, 'url'),
});

function boundedNode(node: ReportNode): ReportNode {
  const { selector, html, landmark, contrast, checks, related, failure_summary, frame_path, shadow_path } = node;
  return {
    selector: shortened(selector, 'selector'),
    html: shortened(html, 'html'),
    landmark,
    ...(contrast !== undefined && { contrast }),
    ...(checks !== undefined && { checks: names(checks) }),
    ...(related !== undefined && {
      related: related.map((other) => ({ selector: shortened(other.selector, 'selector'), html: shortened(other.html, 'text') })),
    }),
    failure_summary: shortened(failure_summary, 'text'),
    frame_path: boundedPath(frame_path),
    shadow_path: boundedPath(shadow_path),
  };
}

const boundedPath = (path: readonly string[]): string[] => path.slice(0, PATH_MAX).map((selector) => shortened(selector, 'selector'));

function viewPage(page: ReportPage, findings: FindingsPlace | undefined, picture: ViewPicture | undefined): ViewPage {
  const url = shortened(page.url, 'url');
  if (!page.tested) {
    const same = page.same_as === undefined ? {} : { same_as: shortened(page.same_as, 'url') };
    const from = page.linked_from === undefined ? {} : { linked_from: page.linked_from.map((one) => shortened(one, 'url')) };
    return { url, tested: false, reason: page.reason, message: shortened(page.message, 'text'), ...same, ...from };
  }
  const gaps = isIncomplete(page) ? { gaps: viewGaps(page) } : {};
  const counts = countViolations(page.violations);
  return {
    url,
    title: shortened(page.title, 'title'),
    tested: true,
    score: page.score,
    counts,
    ...gaps,
    ...(findings && { findings }),
    ...(picture && { picture }),
  };
}

const viewGaps = ({ frames_untested, caveats }: TestedPage): ViewGaps => ({
  frames: frames_untested.slice(0, VIEW_LIMITS.frames).map(({ path, url, reason, message }) => ({
    path: shortened(boundedPath(path).join(' >>> '), 'selector'),
    url: shortened(url, 'name'),
    reason,
    message: shortened(message, 'help'),
  })),
  frames_total: frames_untested.length,
  caveats: caveats.slice(0, VIEW_LIMITS.caveats).map(({ kind, message }) => ({ kind, message: shortened(message, 'help') })),
});

/** The failing elements of a page, worst first; elements of one severity in the order of the export. */
function issuesOf({ violations }: TestedPage): ViewIssue[] {
  const issues: ViewIssue[] = [];
  for (const violation of violations.toSorted((a, b) => IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact))) {
    for (const node of violation.nodes) {
      if (issues.length === VIEW_LIMITS.issues) return issues;
      issues.push({ ...ruleFields(violation), selector: pathTo(node), html: shortened(node.html, 'html') });
    }
  }
  return issues;
}

/** One text for the element and what contains it. */
function pathTo({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string {
  return shortened(elementPath({ frame_path: boundedPath(frame_path), shadow_path: boundedPath(shadow_path), selector }), 'text');
}
