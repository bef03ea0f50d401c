/** Which rules ran on which pages and what came of them, by rule and by success criterion. Pure. */
import { criteriaOf, criterionName } from '../rules/success-criteria.ts';
import { knownStandards, standardsOf, unknownRule } from '../rules/rules.ts';
import type { ReportPage, TestedPage } from '../schema/page.ts';
import type { OutcomePages, Report, ReportCriterion, ReportRule } from '../schema/report.ts';

/** What a rule found on a page, the worst first. A rule that failed on some elements and passed on others has failed. */
export const OUTCOMES = ['failed', 'needs_review', 'passed', 'not_applicable'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The rules without a finding on a page, by ID. */
export interface RuleLists {
  /** At least one element passed. */
  passed: readonly string[];
  /** No element was tested. */
  notApplicable: readonly string[];
}

type Positions = Pick<TestedPage, 'rules_passed' | 'rules_not_applicable'>;

/** The table to which pages refer until `numberRules` makes the one of the report, which has only the rules that ran. */
const everyRule = (): readonly string[] => knownStandards();

/** Converts the rules without a finding on a page. Call `numberRules` when all pages are known. */
export function positionsOf({ passed, notApplicable }: RuleLists): Positions {
  const at = new Map(everyRule().map((id, index) => [id, index]));
  const positions = (ids: readonly string[]): number[] => ids.flatMap((id) => at.get(id) ?? []).sort((a, b) => a - b);
  return { rules_passed: positions(passed), rules_not_applicable: positions(notApplicable) };
}

/** Makes the table of the rules that ran on the pages of a scan, and lets the pages refer to it. */
export function numberRules(pages: readonly ReportPage[]): { pages: ReportPage[]; ids: string[] } {
  const every = everyRule();
  const ids = idsOf(pages, every);
  const at = new Map(ids.map((id, index) => [id, index]));
  const renumber = (positions: readonly number[]): number[] => positions.map((position) => at.get(every[position]!)!);
  const numbered = pages.map((page): ReportPage => {
    if (!page.tested) return page;
    return { ...page, rules_passed: renumber(page.rules_passed), rules_not_applicable: renumber(page.rules_not_applicable) };
  });
  return { pages: numbered, ids };
}

/** The rules that ran on the pages, sorted. @param table the rules that positions refer to */
function idsOf(pages: readonly ReportPage[], table: readonly string[]): string[] {
  const ids = new Set<string>();
  for (const page of pages) if (page.tested) for (const id of outcomesOn(page, table).keys()) ids.add(id);
  return [...ids].sort();
}

/**
 * What each rule found on a page.
 * @param table the IDs of the report's `rules`
 */
export function outcomesOn(page: TestedPage, table: readonly string[]): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>();
  const add = (ids: readonly (string | undefined)[], outcome: Outcome): void => {
    for (const id of ids) if (id !== undefined && !outcomes.has(id)) outcomes.set(id, outcome);
  };
  const named = (positions: readonly number[]): (string | undefined)[] => positions.map((position) => table[position]);
  add(
    page.violations.map(({ rule }) => rule),
    'failed',
  );
  add(
    page.needs_review.map(({ rule }) => rule),
    'needs_review',
  );
  add([...named(page.rules_passed), ...(page.reviewed ?? []).map(({ rule }) => rule)], 'passed');
  add(named(page.rules_not_applicable), 'not_applicable');
  return outcomes;
}

/** The outcome of a criterion on a page: the worst of its rules. Undefined if none of them ran. */
export function criterionOutcome(outcomes: ReadonlyMap<string, Outcome>, rules: readonly string[]): Outcome | undefined {
  const found = new Set(rules.map((rule) => outcomes.get(rule)));
  return OUTCOMES.find((outcome) => found.has(outcome));
}

/** What the tests say about a criterion. Only a failed one is certain, because rules test parts of criteria. */
export const CRITERION_STATES = ['failed', 'needs_review', 'passed', 'untested'] as const;
export type CriterionState = (typeof CRITERION_STATES)[number];

/** The worst outcome over all pages. Untested: no rule tests it, or no page has what its rules are about. */
export const criterionState = ({ pages }: Pick<ReportCriterion, 'pages'>): CriterionState =>
  CRITERION_STATES.find((state) => state !== 'untested' && pages[state] > 0) ?? 'untested';

/**
 * Derives the rules that ran and the criteria of the target, with the numbers of pages. The operator derives them again.
 * @param table the rules that the positions of pages refer to
 */
export function ruleResults(
  pages: readonly ReportPage[],
  table: readonly string[],
  { wcag_level, wcag_version, locale }: Pick<Report['scan']['options'], 'wcag_level' | 'wcag_version' | 'locale'>,
): { rules: ReportRule[]; criteria: ReportCriterion[] } {
  const tested = pages.filter((page) => page.tested);
  const outcomes = tested.map((page) => outcomesOn(page, table));
  const criteriaIds = new Map(
    tested.flatMap((page) => [...page.violations, ...page.needs_review, ...(page.reviewed ?? [])]).map(({ rule, wcag }) => [rule, wcag]),
  );
  const rules = idsOf(pages, table).map((id) => ({
    ...(standardsOf(id) ?? unknownRule(id, criteriaIds.get(id) ?? [])),
    pages: countPages(outcomes.map((on) => on.get(id))),
  }));
  const criteria = criteriaOf(wcag_level, wcag_version).map(({ id, level }) => {
    const testing = rules.flatMap(({ wcag }, at) => (wcag.includes(id) ? [at] : []));
    const ids = testing.map((at) => rules[at]!.id);
    return {
      id,
      level,
      name: criterionName(id, locale),
      rules: testing,
      pages: countPages(outcomes.map((on) => criterionOutcome(on, ids))),
    };
  });
  return { rules, criteria };
}

function countPages(outcomes: readonly (Outcome | undefined)[]): OutcomePages {
  const pages = { failed: 0, needs_review: 0, passed: 0, not_applicable: 0 };
  for (const outcome of outcomes) if (outcome !== undefined) pages[outcome] += 1;
  return pages;
}
