/** Known issues in a report: which elements they cover, an example of them, and what the scan has without them. Pure. */
import {
  isDecision,
  isEnding,
  targetKey,
  type ChosenKnownIssues,
  type KnownIssueExample,
  type KnownIssueTarget,
  type KnownOutcome,
} from '../../core/scan/known-issues.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Counts } from '../../core/scan/counts.ts';
import { countViolations, noCounts, scanScore, sumCounts, type RuleTally } from '../results/score.ts';
import { elementPath, type ReportViolation, type TestedPage } from '../schema/page.ts';
import type { Report, ReportKnownIssue, ReportKnownIssues } from '../schema/report.ts';
import { KNOWN_MARKS_MAX, type KnownMark, type RootCause } from '../schema/root-cause.ts';
import { confirmedOf, undecidedPage } from './decisions.ts';
import { accepted, firstByKey, knownMatcher, matcherOf, type KnownMatcher, type MatchedNode } from './known-matcher.ts';
import { rootCauseFingerprint, rootCausesOf } from './root-causes.ts';

/** Finds the known issues that a report lists. */
export interface KnownIssueFinder {
  /** The one that covers an element. */
  of(rule: string, node: MatchedNode): ReportKnownIssue | null;
  /** Whether all elements are covered. */
  coversAll(violation: ReportViolation): boolean;
}

export function knownIssueFinder({ known_issues: known }: Pick<Report, 'known_issues'>): KnownIssueFinder {
  const issues = accepted(known?.issues ?? []);
  const matcher = matcherOf(issues);
  const byKey = firstByKey(issues);
  return {
    of: (rule, node) => byKey.get(matcher.of(rule, node) ?? '') ?? null,
    coversAll: (violation) => issues.length > 0 && cover(violation, matcher, new Map()) >= violation.nodes_total,
  };
}

/** Numbers of known elements, by root cause and by the key of the known issue. */
type Covered = Map<string, Map<string, number>>;

/**
 * Applies known issues to tested pages, of which there is at least one. Returns what they add to a report: its section, and the root
 * causes, each with the known issues that cover its elements.
 * @param partial whether pages are missing: then it is unknown which issues match nothing
 */
export function applyKnownIssues(
  { issues, at, leftOut }: ChosenKnownIssues,
  tested: readonly TestedPage[],
  groups: readonly RootCause[],
  partial = false,
): { section: ReportKnownIssues; groups: RootCause[] } {
  const matcher = knownMatcher(issues);
  const covered: Covered = new Map();
  const violations = noCounts();
  const tallies = tested.map((page) => openTally(page, matcher, covered, violations));
  const score = scanScore(tallies, violations.total);
  const decisions = issues.filter(isDecision);
  const decided = decidedElements(tested, matcherOf(decisions));
  const [elements, decidedOf] = [elementsByKey(covered), elementsByKey(decided)];
  const listed = issues.map(({ expiresAt, ...issue }) => ({
    ...issue,
    expires_at: expiresAt,
    elements: (isDecision(issue) ? decidedOf : elements).get(targetKey(issue)) ?? 0,
    ending: isEnding(expiresAt, at),
  }));
  const matched = listed.filter((issue) => issue.elements > 0).length;
  const numbers = { matched, unmatched: partial ? 0 : listed.length - matched, ending: listed.filter(({ ending }) => ending).length };
  const [byKey, faults] = [firstByKey(accepted(listed)), firstByKey(listed.filter(({ kind }) => kind === 'fault'))];
  return {
    section: {
      score_without_known: score,
      ...(decisions.length > 0 && { score_without_decisions: undecidedScore(tested) }),
      violations_new_or_open: violations,
      ...{ ...numbers, issues: listed, left_out: leftOut },
    },
    groups: groups.map((group) => {
      const known = marksOf(covered.get(group.fingerprint), byKey);
      const marks = [...known, ...marksOf(decided.get(group.fingerprint), faults)].slice(0, KNOWN_MARKS_MAX);
      const elements = known.reduce((sum, mark) => sum + mark.elements, 0);
      return { ...group, ...(elements > 0 && { known_elements: elements }), ...(marks.length > 0 && { known: marks }) };
    }),
  };
}

function undecidedScore(tested: readonly TestedPage[]): number {
  const pages = tested.map(undecidedPage);
  return scanScore(
    pages.map(({ rules }) => rules),
    sumCounts(pages.map(({ violations }) => countViolations(violations))).total,
  );
}

/** The elements that decisions cover: confirmed faults, and what is fine. */
function decidedElements(tested: readonly TestedPage[], matcher: KnownMatcher): Covered {
  const decided: Covered = new Map();
  for (const { violations, reviewed = [] } of tested)
    for (const finding of [...confirmedOf(violations), ...reviewed]) cover(finding, matcher, decided);
  return decided;
}

/** Counts a page's violations. @returns its rules, without those that fail only on known elements, as if they did not apply */
export function openTally(page: TestedPage, matcher: KnownMatcher, covered: Covered, open: Counts): RuleTally {
  const tally = Object.fromEntries(IMPACTS.map((impact) => [impact, { ...page.rules[impact] }])) as RuleTally;
  for (const violation of page.violations) {
    const { impact, nodes_total } = violation;
    const left = nodes_total - cover(violation, matcher, covered);
    open[impact] += left;
    open.total += left;
    if (left <= 0) tally[impact].failed = Math.max(0, tally[impact].failed - 1);
  }
  return tally;
}

/** The elements of a finding, each with its root cause and the key of the known issue that covers it; those that the report only counts, by root cause. */
export function* elementsOf(
  { rule, nodes, nodes_beyond = [] }: ReportViolation,
  matcher: KnownMatcher,
): Generator<{ fingerprint: string; key: string | undefined; elements: number }> {
  for (const node of nodes) yield { fingerprint: rootCauseFingerprint(rule, node), key: matcher.of(rule, node), elements: 1 };
  for (const { fingerprint, elements } of nodes_beyond) yield { fingerprint, key: matcher.ofCause(fingerprint), elements };
}

/** Returns the number of known elements. */
function cover(violation: ReportViolation, matcher: KnownMatcher, covered: Covered): number {
  let known = 0;
  for (const { fingerprint, key, elements } of elementsOf(violation, matcher)) {
    if (key === undefined) continue;
    const cause = covered.get(fingerprint) ?? new Map<string, number>();
    covered.set(fingerprint, cause);
    cause.set(key, (cause.get(key) ?? 0) + elements);
    known += elements;
  }
  return known;
}

function elementsByKey(covered: Covered): Map<string, number> {
  const sums = new Map<string, number>();
  for (const cause of covered.values()) for (const [key, elements] of cause) sums.set(key, (sums.get(key) ?? 0) + elements);
  return sums;
}

/** Most elements first. */
function marksOf(cause: ReadonlyMap<string, number> = new Map(), issues: ReadonlyMap<string, ReportKnownIssue>): KnownMark[] {
  return [...cause]
    .flatMap(([key, elements]): KnownMark[] => {
      const issue = issues.get(key);
      if (issue === undefined) return [];
      const { id, reason, owner, expires_at } = issue;
      return [{ ...(isDecision(issue) && { kind: 'fault' }), id, reason, owner, expires_at, elements }];
    })
    .sort((a, b) => b.elements - a.elements || (a.id < b.id ? -1 : 1));
}

/** What a report says about its known issues, as the outcome of the scan has it. Undefined without known issues. */
export function knownOutcomeOf({ known_issues: known }: Pick<Report, 'known_issues'>): KnownOutcome | undefined {
  if (known === undefined) return undefined;
  const { score_without_known: score, violations_new_or_open: violations, matched, unmatched, ending } = known;
  const scoreWithoutDecisions = known.score_without_decisions;
  return { score, violations, ...(scoreWithoutDecisions !== undefined && { scoreWithoutDecisions }), matched, unmatched, ending };
}

/** In characters. */
const TEXT_MAX = 500;
const cut = (text: string): string => (text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX - 1).toWellFormed()}…`);

/** Finds a root cause that a known issue is about. */
export const findAbout = (causes: readonly RootCause[], { fingerprint, rule, selector }: KnownIssueTarget): RootCause | undefined =>
  causes.find((cause) => cause.fingerprint === fingerprint || (cause.rule === rule && elementPath(cause.example) === selector));

export const toExample = (
  scanId: string,
  { fingerprint, rule, impact, elements, pages, example, page_urls: [url = ''] }: RootCause,
): KnownIssueExample => ({
  ...{ scanId, fingerprint, rule: cut(rule), impact, elements, pages },
  ...{ selector: cut(elementPath(example)), pageUrl: cut(url) },
});

/** Those of the known issues of a report that matched something, by ID. */
export function examplesOf({ scan, pages, groups, known_issues: known }: Report): Record<string, KnownIssueExample> {
  const matched = (known?.issues ?? []).filter(({ elements }) => elements > 0);
  const fine = matched.some(({ kind }) => kind === 'fine') ? rootCausesOf(pages, 'reviewed') : [];
  const marked = new Map(groups.flatMap((cause) => (cause.known ?? []).map(({ id }) => [id, cause])));
  return Object.fromEntries(
    matched.flatMap((issue) => {
      const cause = issue.kind === 'fine' ? findAbout(fine, issue) : marked.get(issue.id);
      return cause === undefined ? [] : [[issue.id, toExample(scan.id, cause)]];
    }),
  );
}
