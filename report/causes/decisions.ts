/**
 * What people have decided about elements that need review. A confirmed fault is a violation of its page, marked as `confirmed`. What is
 * fine is in the page's list `reviewed`. The findings as they were can be derived again, so that the operator can verify both. Pure.
 */
import { isDecision, type KnownIssue, type KnownIssueKind } from '../../core/scan/known-issues.ts';
import { uncounted } from '../results/cap-nodes.ts';
import { countViolations, pageScore, roundScore } from '../results/score.ts';
import type { ReportNode, ReportPage, ReportViolation, TestedPage } from '../schema/page.ts';
import { firstByKey, matcherOf } from './known-matcher.ts';

type Beyond = NonNullable<ReportViolation['nodes_beyond']>[number];
/** What an element is, or elements of which only the root cause is known. Undefined: nobody has decided. */
type Answer = (element: ReportNode | Beyond, rule: string) => KnownIssueKind | undefined;

/** Applies decisions to the pages of a scan. */
export function decidePages(pages: readonly ReportPage[], issues: readonly KnownIssue[]): ReportPage[] {
  const decisions = issues.filter(isDecision);
  const [matcher, byKey] = [matcherOf(decisions), firstByKey(decisions)];
  const answer: Answer = (element, rule) =>
    byKey.get(('fingerprint' in element ? matcher.ofCause(element.fingerprint) : matcher.of(rule, element)) ?? '')?.kind;
  return pages.map((page) => (page.tested && decisions.length > 0 ? decidePage(page, answer) : page));
}

function decidePage(page: TestedPage, answer: Answer): TestedPage {
  const parts = (kind?: KnownIssueKind): ReportViolation[] => page.needs_review.flatMap((found) => partOf(found, answer, kind));
  const [faults, fine] = [parts('fault').map((fault) => marked(fault, { confirmed: true })), parts('fine').sort(byRule)];
  if (faults.length + fine.length === 0) return page;
  const decided = { ...page, needs_review: parts(), ...(fine.length > 0 && { reviewed: fine }) };
  return { ...decided, ...scored(page, joined(page.violations, faults), newOnes(faults, page.violations), 1) };
}

/** Derives the page as it was without decisions. */
export function undecidedPage({ reviewed = [], ...page }: TestedPage): TestedPage {
  const [faults, violations] = [confirmedOf(page.violations), page.violations.flatMap((found) => partOf(found, isConfirmed))];
  if (faults.length + reviewed.length === 0) return page;
  const needs_review = joined(
    joined(page.needs_review, reviewed),
    faults.map((fault) => marked(fault, {})),
  );
  return { ...page, needs_review, ...scored(page, violations, newOnes(faults, violations), -1) };
}

const isConfirmed: Answer = ({ confirmed }) => (confirmed ? 'fault' : undefined);

/** The confirmed parts of violations. */
export const confirmedOf = (violations: readonly ReportViolation[]): ReportViolation[] =>
  violations.flatMap((found) => partOf(found, isConfirmed, 'fault'));

/** The part of a finding with this answer, if there is one. Elements that no root cause counts are not decided. */
function partOf(found: ReportViolation, answer: Answer, kind?: KnownIssueKind): ReportViolation[] {
  const nodes = found.nodes.filter((node) => answer(node, found.rule) === kind);
  const beyond = (found.nodes_beyond ?? []).filter((elements) => answer(elements, found.rule) === kind);
  const total = beyond.reduce((sum, { elements }) => sum + elements, nodes.length) + (kind === undefined ? uncounted(found) : 0);
  return total === 0 ? [] : [withElements(found, nodes, beyond, total)];
}

function withElements({ nodes_beyond: _, ...found }: ReportViolation, nodes: ReportNode[], beyond: Beyond[], nodes_total: number) {
  return { ...found, nodes, nodes_total, ...(beyond.length > 0 && { nodes_beyond: beyond }) };
}

function marked(found: ReportViolation, mark: { confirmed?: true }): ReportViolation {
  const nodes = found.nodes.map(({ confirmed: _, ...node }) => ({ ...node, ...mark }));
  const beyond = (found.nodes_beyond ?? []).map(({ confirmed: _, ...elements }) => ({ ...elements, ...mark }));
  return withElements(found, nodes, beyond, found.nodes_total);
}

/** Adds findings to those of the same rule. The others follow by rule, so that the order does not depend on what was decided. */
function joined(findings: readonly ReportViolation[], added: readonly ReportViolation[]): ReportViolation[] {
  const own = findings.map((found) =>
    added
      .filter(({ rule }) => rule === found.rule)
      .reduce((sum, { nodes, nodes_beyond = [], nodes_total }) => {
        const beyond = [...(sum.nodes_beyond ?? []), ...nodes_beyond];
        return withElements(sum, [...sum.nodes, ...nodes], beyond, sum.nodes_total + nodes_total);
      }, found),
  );
  return [...own, ...newOnes(added, findings)];
}

const byRule = (a: ReportViolation, b: ReportViolation): number => (a.rule < b.rule ? -1 : 1);
const newOnes = (added: readonly ReportViolation[], findings: readonly ReportViolation[]): ReportViolation[] =>
  added.filter(({ rule }) => !findings.some((found) => found.rule === rule)).toSorted(byRule);

/** Violations, with the rules of the page and its score if further rules fail, or `by` -1: do not fail any more. */
function scored({ rules: before }: TestedPage, violations: ReportViolation[], failing: readonly ReportViolation[], by: 1 | -1) {
  const rules = failing.reduce((tally, { impact, passed }) => {
    const of = tally[impact];
    return { ...tally, [impact]: { passed: of.passed - (passed ? by : 0), failed: of.failed + by } };
  }, before);
  return { violations, rules, score: roundScore(pageScore(rules), countViolations(violations).total) };
}
