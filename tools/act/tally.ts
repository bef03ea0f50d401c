/** From the results of test cases to one row for each ACT rule, by the definitions of the W3C. No browser, no files. */
import { successCriteria } from '../../core/scan/options.ts';
import type { TestCase } from './cases.ts';
import type { CaseResult } from './run.ts';

/** A rule of ours that covers ACT rules. */
export interface OwnRule {
  id: string;
  tags: readonly string[];
  act_rules: readonly string[];
}

/** How a case ended: a violation, needs-review only, neither, or no result. */
export type CaseOutcome = 'flagged' | 'review' | 'clear' | 'untested';

export interface CaseLine {
  testCase: TestCase;
  outcome: CaseOutcome;
  /** Rules of ours that reported the case, or why it was not tested. */
  because: string[];
}

export const CONSISTENCIES = ['consistent', 'partial', 'inconsistent'] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

export interface ActRuleRow {
  id: string;
  name: string;
  page: string;
  approved: boolean;
  /** Rules of ours that ran on a case, and those that never did. */
  rules: string[];
  idle: string[];
  cases: CaseLine[];
  failed: { total: number; flagged: number; review: number; missed: number };
  /** Passed and inapplicable cases. */
  others: { total: number; flagged: number };
  untested: number;
  /** Success criteria that the ACT rule has and ours did not report, and the other way round. */
  criteria: { missing: string[]; additional: string[] };
  consistency: Consistency;
}

/** Cases by ACT rule, in the order of their names. If some cases of a rule are approved, the W3C counts only those. */
export function countedCases(cases: readonly TestCase[]): Map<string, TestCase[]> {
  const byRule = Map.groupBy(cases, ({ ruleId }) => ruleId);
  const sorted = [...byRule].sort(([, [a]], [, [b]]) => (a!.ruleName < b!.ruleName ? -1 : 1));
  return new Map(sorted.map(([id, all]) => [id, all.some(isApproved) ? all.filter(isApproved) : all]));
}

const isApproved = ({ approved = false }: TestCase): boolean => approved;

/** Whether an ACT rule needs a scan of level AAA: one of our rules for it belongs to that level. */
export const needsLevelAaa = (rules: readonly OwnRule[]): boolean => rules.some(({ tags }) => tags.includes('wcag2aaa'));

/** The row of one ACT rule. @param mapped our rules that cover it */
export function rowOf(cases: readonly TestCase[], mapped: readonly OwnRule[], results: ReadonlyMap<TestCase, CaseResult>): ActRuleRow {
  const [first] = cases;
  const lines = cases.map((testCase) => lineOf(testCase, mapped, results.get(testCase)));
  const applied = mapped.filter(({ id }) => cases.some((testCase) => hasApplied(results.get(testCase), id)));
  const failed = lines.filter(({ testCase }) => testCase.expected === 'failed');
  const others = lines.filter(({ testCase }) => testCase.expected !== 'failed');
  const count = (of: readonly CaseLine[], outcome: CaseOutcome): number => of.filter((line) => line.outcome === outcome).length;
  const row: Omit<ActRuleRow, 'consistency'> = {
    id: first!.ruleId,
    name: first!.ruleName,
    page: first!.rulePage,
    approved: cases.some(isApproved),
    rules: applied.map(({ id }) => id),
    idle: mapped.filter((rule) => !applied.includes(rule)).map(({ id }) => id),
    cases: lines,
    failed: { total: failed.length, flagged: count(failed, 'flagged'), review: count(failed, 'review'), missed: count(failed, 'clear') },
    others: { total: others.length, flagged: count(others, 'flagged') },
    untested: count(lines, 'untested'),
    criteria: criteriaOf(lines, mapped),
  };
  return { ...row, consistency: consistencyOf(row) };
}

const hasApplied = (result: CaseResult | undefined, rule: string): boolean => result?.tested === true && result.applied.has(rule);

function lineOf(testCase: TestCase, mapped: readonly OwnRule[], result: CaseResult | undefined): CaseLine {
  if (result === undefined || !result.tested)
    return { testCase, outcome: 'untested', because: result === undefined ? [] : [result.reason] };
  const among = (rules: ReadonlySet<string>): string[] => mapped.flatMap(({ id }) => (rules.has(id) ? [id] : []));
  const flagged = among(result.violations);
  if (flagged.length > 0) return { testCase, outcome: 'flagged', because: flagged };
  const review = among(result.needsReview);
  return { testCase, outcome: review.length > 0 ? 'review' : 'clear', because: review };
}

/** The criteria of the rules that reported a case, against those of the ACT rule. Secondary ones may be reported. */
function criteriaOf(lines: readonly CaseLine[], mapped: readonly OwnRule[]): ActRuleRow['criteria'] {
  const reported = new Set(
    lines
      .filter(({ outcome }) => outcome === 'flagged' || outcome === 'review')
      .flatMap(({ because }) => mapped.filter(({ id }) => because.includes(id)).flatMap(({ tags }) => successCriteria(tags))),
  );
  const required = new Set<string>();
  const allowed = new Set<string>();
  for (const { testCase } of lines)
    for (const [key, { secondary }] of Object.entries(testCase.ruleAccessibilityRequirements ?? {})) {
      const criterion = /^wcag2\d:([\d.]+)$/.exec(key)?.[1];
      if (criterion === undefined) continue;
      allowed.add(criterion);
      if (secondary === undefined) required.add(criterion);
    }
  return { missing: [...required.difference(reported)].sort(), additional: [...reported.difference(allowed)].sort() };
}

/**
 * The W3C's levels, with our rules for an ACT rule taken as one. Its words are on
 * https://www.w3.org/WAI/standards-guidelines/act/implementations/ under "Understanding ACT Consistency"; `get-consistency.ts` of
 * https://github.com/act-rules/act-tools decides what they leave open.
 */
function consistencyOf({ cases, failed, others, untested, criteria }: Omit<ActRuleRow, 'consistency'>): Consistency {
  if (others.flagged > 0) return 'inconsistent';
  const isComplete = failed.missed + untested + criteria.missing.length + criteria.additional.length === 0;
  if (failed.flagged > 0) return isComplete ? 'consistent' : 'partial';
  // A rule that flags nothing must at least know where it does not apply.
  const reviewed = cases.filter(({ outcome }) => outcome === 'review');
  return reviewed.length > 0 && reviewed.every(({ testCase }) => testCase.expected !== 'inapplicable') ? 'partial' : 'inconsistent';
}
