/** Known issues in a report: which elements they cover, and what the scan has without them. Pure. */
import {
  isEnding,
  placeKey,
  targetKey,
  type ChosenKnownIssues,
  type KnownIssueTarget,
  type KnownOutcome,
} from '../../core/scan/known-issues.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Counts } from '../../core/scan/counts.ts';
import { noCounts, scanScore, type RuleTally } from '../results/score.ts';
import { elementPath, type ReportNode, type ReportViolation, type TestedPage } from '../schema/page.ts';
import type { Report, ReportKnownIssue, ReportKnownIssues } from '../schema/report.ts';
import { KNOWN_MARKS_MAX, type KnownMark, type RootCause } from '../schema/root-cause.ts';
import { rootCauseFingerprint } from './root-causes.ts';

type Node = Pick<ReportNode, 'html' | 'landmark' | 'contrast' | 'frame_path' | 'shadow_path' | 'selector'>;

/** Finds the key of the known issue that covers an element; see `targetKey`. */
export interface KnownMatcher {
  of(rule: string, node: Node): string | undefined;
  /** The same for elements of which only the root cause is known. */
  ofCause(fingerprint: string): string | undefined;
}

export const NONE_KNOWN: KnownMatcher = { of: () => undefined, ofCause: () => undefined };

/** A known issue by root cause precedes one by rule and selector. */
export function knownMatcher(issues: readonly KnownIssueTarget[]): KnownMatcher {
  const keys = new Set(issues.map(targetKey));
  const known = (key: string): string | undefined => (keys.has(key) ? key : undefined);
  return {
    of: (rule, node) => known(rootCauseFingerprint(rule, node)) ?? known(placeKey(rule, elementPath(node))),
    ofCause: known,
  };
}

/** Finds the known issues that a report lists. */
export interface KnownIssueFinder {
  /** The one that covers an element. */
  of(rule: string, node: Node): ReportKnownIssue | null;
  /** Whether all elements are covered. */
  coversAll(violation: ReportViolation): boolean;
}

export function knownIssueFinder({ known_issues: known }: Pick<Report, 'known_issues'>): KnownIssueFinder {
  const issues = known?.issues ?? [];
  const matcher = knownMatcher(issues);
  const byKey = firstByKey(issues);
  return {
    of: (rule, node) => byKey.get(matcher.of(rule, node) ?? '') ?? null,
    coversAll: (violation) => issues.length > 0 && cover(violation, matcher, new Map()) >= violation.nodes_total,
  };
}

const firstByKey = <T extends KnownIssueTarget>(issues: readonly T[]): Map<string, T> =>
  new Map(issues.toReversed().map((issue) => [targetKey(issue), issue]));

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
  const elements = elementsByKey(covered);
  const listed = issues.map(({ expiresAt, ...issue }) => ({
    ...issue,
    expires_at: expiresAt,
    elements: elements.get(targetKey(issue)) ?? 0,
    ending: isEnding(expiresAt, at),
  }));
  const matched = listed.filter((issue) => issue.elements > 0).length;
  const numbers = { matched, unmatched: partial ? 0 : listed.length - matched, ending: listed.filter(({ ending }) => ending).length };
  const byKey = firstByKey(listed);
  return {
    section: { score_without_known: score, violations_new_or_open: violations, ...numbers, issues: listed, left_out: leftOut },
    groups: groups.map((group) => ({ ...group, ...marksOf(covered.get(group.fingerprint), byKey) })),
  };
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

function marksOf(
  cause: ReadonlyMap<string, number> | undefined,
  issues: ReadonlyMap<string, ReportKnownIssue>,
): Pick<RootCause, 'known' | 'known_elements'> {
  if (cause === undefined) return {};
  const marks = [...cause].map(([key, elements]): KnownMark => {
    const { id, reason, owner, expires_at } = issues.get(key)!;
    return { id, reason, owner, expires_at, elements };
  });
  return {
    known_elements: marks.reduce((sum, { elements }) => sum + elements, 0),
    known: marks.sort((a, b) => b.elements - a.elements || (a.id < b.id ? -1 : 1)).slice(0, KNOWN_MARKS_MAX),
  };
}

/** What a report says about its known issues, as the outcome of the scan has it. Undefined without known issues. */
export function knownOutcomeOf({ known_issues: known }: Pick<Report, 'known_issues'>): KnownOutcome | undefined {
  if (known === undefined) return undefined;
  const { score_without_known: score, violations_new_or_open: violations, matched, unmatched, ending } = known;
  return { score, violations, matched, unmatched, ending };
}
