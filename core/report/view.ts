/**
 * The view of a report: what pages and mails show of it. The operator derives it from the verified export and stores it
 * beside the export, so that a page is served without reading an export of many megabytes. Pure.
 */
import { IMPACTS } from '../scan/impacts.ts';
import { checkThresholds } from '../scan/thresholds.ts';
import { snakeCase } from '../schemas.ts';
import { thresholdsOf } from './options.ts';
import { outcomeOf, testedPages } from './results.ts';
import type { Report, ReportGroup, ReportNode, ReportPage, TestedPage } from './schema.ts';
import { countViolations } from './score.ts';
import { fitting, shortened, startWithin } from './view-bounds.ts';
import {
  VIEW_LIMITS,
  VIEW_MAX_BYTES,
  type ReportView,
  type ViewGroup,
  type ViewIssue,
  type ViewPage,
  type ViewThreshold,
} from './view-schema.ts';

export * from './view-schema.ts';

/** The frames or shadow hosts that a path keeps. */
const PATH_MAX = 20;
/** The maximum size of a group's page URLs, in bytes of JSON. */
const PAGE_URLS_MAX_BYTES = 8_192;
/** More than WCAG assigns to any rule. */
const CRITERIA_MAX = 20;

/** Derives the view of a verified report. */
export function viewOf(report: Report): ReportView {
  const { scan, score, counts, tools } = report;
  const tested = testedPages(report.pages);
  const toReview = report.review_groups;
  const view: ReportView = {
    view_version: 1,
    url: shortened(scan.url, 'url'),
    locale: scan.options.locale,
    tested_at: shortened(scan.finished_at, 'name'),
    score: score.value,
    counts,
    coverage: { tested: score.pages_tested, attempted: score.pages_attempted },
    passed: scan.verdict.passed,
    message: scan.verdict.message,
    thresholds: measuredThresholds(report),
    options: scan.options,
    tools: {
      curbcut: shortened(tools.curbcut, 'name'),
      axe_core: shortened(tools.axe_core, 'name'),
      browser: shortened(tools.browser, 'name'),
    },
    groups: [],
    groups_total: report.groups.length,
    needs_review: [],
    needs_review_total: toReview.length,
    needs_review_elements: score.needs_review,
    pages: [],
    pages_total: report.pages.length,
    issues: [],
    issues_total: counts.total,
  };
  return fitting(view, VIEW_MAX_BYTES, [
    { name: 'pages', entries: report.pages.slice(0, VIEW_LIMITS.pages).map(viewPage), share: 0.25 },
    { name: 'needs_review', entries: worstFirst(toReview, VIEW_LIMITS.needs_review, describer(tested, 'needs_review')), share: 0.25 },
    { name: 'issues', entries: tested.length === 1 ? issuesOf(tested[0]!) : [], share: 0.5 },
    { name: 'groups', entries: worstFirst(report.groups, VIEW_LIMITS.groups, describer(tested, 'violations')), share: 1 },
  ]);
}

function measuredThresholds(report: Report): ViewThreshold[] {
  return checkThresholds(thresholdsOf(report.scan.thresholds), outcomeOf(report)).map(({ name, allowed, measured, met }) => ({
    name: snakeCase(name),
    allowed,
    measured: measured as ViewThreshold['measured'],
    met,
  }));
}

/** Returns the description of a rule, which groups do not have. */
function describer(pages: readonly TestedPage[], list: 'violations' | 'needs_review'): (rule: string) => string {
  const descriptions = new Map<string, string>();
  for (const page of pages)
    for (const { rule, description } of page[list]) if (!descriptions.has(rule)) descriptions.set(rule, description);
  return (rule) => descriptions.get(rule) ?? '';
}

/** The first groups by impact, then elements, then pages. Groups that are alike in these keep their order. */
function worstFirst(groups: readonly ReportGroup[], max: number, describe: (rule: string) => string): ViewGroup[] {
  return groups
    .toSorted((a, b) => IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) || b.elements - a.elements || b.pages - a.pages)
    .slice(0, max)
    .map((group) => ({
      fingerprint: group.fingerprint,
      ...ruleFields(group),
      description: shortened(describe(group.rule), 'text'),
      pages: group.pages,
      elements: group.elements,
      page_urls: pageUrls(group),
      example: boundedNode(group.example),
    }));
}

function pageUrls({ page_urls: [first, ...others] }: ReportGroup): string[] {
  if (first === undefined) return [];
  const rest = others.slice(0, VIEW_LIMITS.page_urls - 1).map((url) => shortened(url, 'url'));
  return [shortened(first, 'url'), ...startWithin(rest, PAGE_URLS_MAX_BYTES).start];
}

const ruleFields = ({ rule, impact, wcag, help, help_url }: Pick<ReportGroup, 'rule' | 'impact' | 'wcag' | 'help' | 'help_url'>) => ({
  rule: shortened(rule, 'name'),
  impact,
  wcag: wcag.slice(0, CRITERIA_MAX).map((criterion) => shortened(criterion, 'name')),
  help: shortened(help, 'help'),
  help_url: shortened(help_url, 'url'),
});

function boundedNode({ selector, html, landmark, contrast, failure_summary, frame_path, shadow_path }: ReportNode): ReportNode {
  return {
    selector: shortened(selector, 'selector'),
    html: shortened(html, 'html'),
    landmark,
    ...(contrast !== undefined && { contrast }),
    failure_summary: shortened(failure_summary, 'text'),
    frame_path: boundedPath(frame_path),
    shadow_path: boundedPath(shadow_path),
  };
}

const boundedPath = (path: readonly string[]): string[] => path.slice(0, PATH_MAX).map((selector) => shortened(selector, 'selector'));

function viewPage(page: ReportPage): ViewPage {
  const url = shortened(page.url, 'url');
  return page.tested
    ? { url, title: shortened(page.title, 'title'), tested: true, score: page.score, counts: countViolations(page.violations) }
    : { url, tested: false, reason: page.reason, message: shortened(page.message, 'text') };
}

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

/** One text for the element and what contains it, as the command line prints it. */
export function pathTo({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string {
  return shortened([...boundedPath(frame_path), ...boundedPath(shadow_path), selector].join(' >>> '), 'text');
}
