/**
 * The view of a report: what pages and mails show of it. The operator derives it from the verified export and stores it
 * beside the export, so that a page is served without reading an export of many megabytes. Pure.
 */
import { IMPACTS } from '../../core/scan/impacts.ts';
import { confirmedOf } from '../causes/decisions.ts';
import { countViolations } from '../results/score.ts';
import { elementPath, findingsOf, type ReportPage, type ReportViolation, type TestedPage, testedPages } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { bounded, fitting, shortened, startWithin } from './bounds.ts';
import { placeFindings } from './findings.ts';
import { fixToPass } from './fix-to-pass.ts';
import { isIncomplete } from './gaps.ts';
import { leadingCauses } from './leading-causes.ts';
import { VIEW_LIMITS, VIEW_MAX_BYTES, type FindingsPlace, type ReportView, type ViewIssue, type ViewPage } from './schema.ts';

export * from './schema.ts';

/** The maximum size of what is said about rules: several times what the texts of every rule need. */
const RULES_MAX_BYTES = 131_072;
/** The longest path to an element, in characters. */
const PATH_MAX = 2000;

/** The view of a report, and the object with its findings, to which the places in the view refer. */
export interface ViewObjects {
  view: ReportView;
  findings: Uint8Array<ArrayBuffer>;
}

export const viewOf = (report: Report): ReportView => viewObjectsOf(report).view;

/** Derives the view of a verified report. */
export function viewObjectsOf(report: Report): ViewObjects {
  const { scan, score, counts, partial, consent, pictures, page_pictures = [], addresses_left, pictures_left, discovery } = report;
  const tested = testedPages(report.pages);
  const groups = worstFirst(report.groups, VIEW_LIMITS.causes);
  const review = worstFirst(report.review_groups, VIEW_LIMITS.review_groups);
  const advice = worstFirst(report.advice_groups, VIEW_LIMITS.advice_groups);
  const pages = report.pages.slice(0, VIEW_LIMITS.pages);
  // Only through the view can the findings of a page be found.
  const placed = placeFindings(groups, pages);
  const view = {
    view_version: 1 as const,
    scan: { url: bounded(scan.url, 'url'), finished_at: scan.finished_at, options: { locale: scan.options.locale } },
    ...{ score, counts, addresses_left, discovery },
    ...(partial && { partial }),
    ...(pictures_left !== undefined && { pictures_left }),
    ...(consent && { consent: bounded(consent) }),
    ...(report.states && { states: report.states }),
    groups: [],
    groups_total: report.groups.length,
    review_groups: [],
    review_groups_total: report.review_groups.length,
    advice_groups: [],
    advice_groups_total: report.advice_groups.length,
    advice_elements: report.advice_groups.reduce((sum, { elements }) => sum + elements, 0),
    causes: [],
    cause_rules: rulesOf([...groups, ...review, ...advice], tested),
    leading: leadingOf(report),
    ...toPassOf(report),
    pages: [],
    pages_total: report.pages.length,
    pages_with_gaps: tested.filter(isIncomplete).length,
    pictures: [],
    page_pictures: [],
    criteria: report.criteria.map(({ id, level, pages: outcomes }) => ({ id, level, pages: outcomes })),
    ...decidedOf(report.known_issues?.score_without_decisions === undefined ? [] : tested),
    issues: [],
    issues_total: counts.total,
  } satisfies ReportView;
  const filled = fitting(view, VIEW_MAX_BYTES, [
    { name: 'pages', entries: pages.map((page) => viewPage(page, placed.pages.get(page))), share: 0.25 },
    { name: 'pictures', entries: pictures.map((picture) => bounded(picture)), share: 0.15 },
    { name: 'page_pictures', entries: page_pictures.map((picture) => bounded(picture)), share: 0.1 },
    { name: 'causes', entries: placed.causes, share: 0.6 },
    { name: 'review_groups', entries: review, share: 0.25 },
    { name: 'advice_groups', entries: advice, share: 0.1 },
    { name: 'issues', entries: tested.length === 1 ? issuesOf(tested[0]!) : [], share: 0.5 },
    { name: 'groups', entries: groups.slice(0, VIEW_LIMITS.groups), share: 1 },
  ]);
  return { view: filled, findings: placed.object };
}

/** What is said about the rules of root causes, once for each rule. */
function rulesOf(causes: readonly RootCause[], pages: readonly TestedPage[]): ReportView['cause_rules'] {
  const descriptions = new Map(pages.flatMap(findingsOf).map(({ rule, description }) => [rule, description]));
  const rules = new Map(causes.map(({ rule, help, wcag }) => [rule, bounded({ help, description: descriptions.get(rule) ?? '', wcag })]));
  return Object.fromEntries(startWithin([...rules], RULES_MAX_BYTES).start);
}

function leadingOf({ groups }: Report): ReportView['leading'] {
  const { causes, ...effect } = leadingCauses(groups);
  return { causes: causes.map(({ cause: { fingerprint, rule, elements } }) => bounded({ fingerprint, rule, elements })), ...effect };
}

function toPassOf(report: Report): Pick<ReportView, 'to_pass'> {
  const fix = fixToPass(report);
  if (fix === null) return {};
  const { causes, ...rest } = fix;
  const listed = causes.map(({ fingerprint, rule, impact, elements, pages }) => bounded({ fingerprint, rule, impact, elements, pages }));
  return { to_pass: { ...rest, causes: listed } };
}

/** @param tested none if there are no decisions */
function decidedOf(tested: readonly TestedPage[]): Pick<ReportView, 'decided'> {
  const elements = (found: readonly ReportViolation[]): number => found.reduce((sum, { nodes_total }) => sum + nodes_total, 0);
  const faults = elements(tested.flatMap(({ violations }) => confirmedOf(violations)));
  const fine = elements(tested.flatMap(({ reviewed = [] }) => reviewed));
  return faults + fine === 0 ? {} : { decided: { faults, fine } };
}

const isNew = ({ new_elements: added = 0 }: RootCause): boolean => added > 0;

/** The first root causes: those with new elements, then by impact, elements and pages. Those that are alike in these keep their order. */
function worstFirst(causes: readonly RootCause[], max: number): RootCause[] {
  return causes
    .toSorted(
      (a, b) =>
        Number(isNew(b)) - Number(isNew(a)) ||
        IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) ||
        b.elements - a.elements ||
        b.pages - a.pages,
    )
    .slice(0, max)
    .map((cause) => bounded(cause));
}

function viewPage(page: ReportPage, findings: FindingsPlace | undefined): ViewPage {
  if (!page.tested) return bounded(page);
  const { url, title, tested, score, size, frames_untested, caveats, states } = page;
  return {
    ...bounded({ url, title, tested, score, size, frames_untested, caveats, ...(states && { states }) }),
    frames_total: frames_untested.length,
    counts: countViolations(page.violations),
    ...(findings && { findings }),
  };
}

/** The failing elements of a page, worst first; elements of one severity in the order of the export. */
function issuesOf({ violations }: TestedPage): ViewIssue[] {
  const issues: ViewIssue[] = [];
  for (const violation of violations.toSorted((a, b) => IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact))) {
    const { rule, impact, help, help_url, wcag } = violation;
    for (const { frame_path, shadow_path, selector, html } of violation.nodes) {
      if (issues.length === VIEW_LIMITS.issues) return issues;
      const path = elementPath(bounded({ frame_path, shadow_path, selector }));
      issues.push({ ...bounded({ rule, impact, help, help_url, wcag, html }), selector: shortened(path, PATH_MAX) });
    }
  }
  return issues;
}
