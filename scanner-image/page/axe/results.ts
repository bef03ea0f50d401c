/** Converts the results of axe-core for a page into the fields of the report. */
import { FAILURE_SUMMARY_MAX, NODE_HTML_MAX, type ReportNode, type ReportViolation, SELECTOR_MAX } from '../../../report/schema/page.ts';
import { type Impact, IMPACTS } from '../../../core/scan/impacts.ts';
import { ADVICE_RULES } from '../../../report/rules/rules.ts';
import { OWN_RULES } from '../../../report/schema/engines.ts';
import type { RuleLists } from '../../../report/results/rule-outcomes.ts';
import { emptyTally, type RuleTally } from '../../../report/results/score.ts';
import { successCriteria } from '../../../core/scan/options.ts';
import { elementReader, type ReducedElement } from '../../../report/diff/reduce.ts';
import { matchElements } from '../../../report/diff/match.ts';

/** The path to an element: frames from the outermost, then the element. Each step is a selector, or a list of selectors through shadow roots. */
export type AxeTarget = (string | string[])[];

export interface AxeRule {
  id: string;
  impact: Impact | null;
  tags: string[];
  help: string;
  description: string;
  helpUrl: string;
  nodes: AxeNode[];
}

export interface AxeNode extends Pick<ReportNode, 'html' | 'landmark' | 'box' | 'contrast' | 'checks'> {
  target: AxeTarget;
  failureSummary?: string;
  related?: { target: AxeTarget; html: string }[];
}

/** What the script in the isolated world returns. */
export interface AxeResults {
  violations: AxeRule[];
  incomplete: AxeRule[];
  /** Rules with at least one passing element; some of its elements may fail. */
  passes: { id: string; impact: Impact | null }[];
  /** Rules that no element was tested by. */
  inapplicable: string[];
  /** Names of form fields because of which the content of the form was not tested. */
  hidden: string[];
  /** Rules that failed inside axe-core. */
  failed: string[];
}

export interface PageFindings {
  violations: ReportViolation[];
  needsReview: ReportViolation[];
  /** Elements that fail a rule that the target does not require. */
  advice: ReportViolation[];
  /** Rules with at least one passing element; some of its elements may fail. */
  passes: AxeResults['passes'];
  /** Rules that no element was tested by. */
  inapplicable: string[];
  /** Rules that failed inside axe-core, so that they say nothing about the page. */
  failed: string[];
  rules: RuleTally;
}

/** Separates the shadow hosts within one step of a path. */
export const PIERCE = ' >>> ';

/** Splits a target of axe-core into the path through frames, the path through shadow roots, and the element's selector. */
export function splitTarget(target: AxeTarget): Pick<ReportNode, 'selector' | 'frame_path' | 'shadow_path'> {
  const last = target.at(-1) ?? ':root';
  const within = (typeof last === 'string' ? [last] : last).map((step) => cut(step, SELECTOR_MAX));
  return {
    selector: within.at(-1) ?? ':root',
    frame_path: target.slice(0, -1).map(joined),
    shadow_path: within.slice(0, -1),
  };
}

const joined = (step: string | string[]): string => cut(typeof step === 'string' ? step : step.join(PIERCE), SELECTOR_MAX);

/** Truncates a text without splitting a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? length - 1 : length);
}

/**
 * The findings of one page, with rules sorted by severity, then name. A rule counts as failed if any of its elements failed,
 * and as passed if some passed and none failed. A rule that has only incomplete results counts as neither. What a rule of the
 * advice cannot decide is left out: advice is optional, so it needs no review.
 */
export function toPageFindings(results: Omit<AxeResults, 'hidden'>): PageFindings {
  const found = toViolations(results.violations);
  const required = (list: ReportViolation[]): ReportViolation[] => list.filter(({ rule }) => !ADVICE_RULES.has(rule));
  const violations = required(found);
  const passes = results.passes.filter(({ id }) => !ADVICE_RULES.has(id));
  return {
    violations,
    needsReview: required(toViolations(results.incomplete)),
    advice: found.filter(({ rule }) => ADVICE_RULES.has(rule)).map((finding) => ({ ...finding, wcag: [] })),
    passes,
    inapplicable: results.inapplicable.filter((id) => !ADVICE_RULES.has(id)),
    failed: results.failed,
    rules: tallyOf(violations, passes),
  };
}

/** The rules without a finding: those that at least one element passed, and those that no element was tested by. */
export function rulesWithoutFinding({ violations, needsReview, passes, inapplicable, failed }: PageFindings): RuleLists {
  const others = new Set([...failed, ...[...violations, ...needsReview].map(({ rule }) => rule)]);
  const passed = new Set(passes.map(({ id }) => id)).difference(others);
  return { passed: [...passed], notApplicable: [...new Set(inapplicable).difference(others).difference(passed)] };
}

/** Counts the rules that failed and passed. Rules that cannot fail do not count: most of ours. */
export function tallyOf(violations: readonly ReportViolation[], passes: AxeResults['passes']): RuleTally {
  const failed = new Set(violations.map(({ rule }) => rule));
  const rules = emptyTally();
  for (const { impact } of violations) rules[impact].failed += 1;
  for (const { id, impact } of passes) if (impact !== null && !failed.has(id) && !Object.hasOwn(OWN_RULES, id)) rules[impact].passed += 1;
  return rules;
}

/** The order of findings: by severity, then name. */
export const bySeverity = (a: ReportViolation, b: ReportViolation): number =>
  IMPACTS.indexOf(a.impact) - IMPACTS.indexOf(b.impact) || (a.rule < b.rule ? -1 : a.rule > b.rule ? 1 : 0);

function toViolations(rules: AxeRule[]): ReportViolation[] {
  return rules
    .flatMap((rule) => (rule.impact === null || rule.nodes.length === 0 ? [] : [{ ...rule, impact: rule.impact }]))
    .map((rule) => ({
      rule: rule.id,
      impact: rule.impact,
      wcag: successCriteria(rule.tags),
      help: rule.help,
      description: rule.description,
      help_url: rule.helpUrl,
      nodes: rule.nodes.map(toNode),
      nodes_total: rule.nodes.length,
    }))
    .sort(bySeverity);
}

function toNode({ target, html, landmark, box, contrast, checks, related, failureSummary = '' }: AxeNode): ReportNode {
  return {
    ...splitTarget(target),
    html: cut(html, NODE_HTML_MAX),
    landmark,
    box,
    ...(contrast !== undefined && { contrast }),
    ...(checks !== undefined && checks.length > 0 && { checks }),
    ...(related !== undefined &&
      related.length > 0 && {
        related: related.map((other) => ({
          selector: cut(other.target.map(joined).join(PIERCE), SELECTOR_MAX),
          html: cut(other.html, NODE_HTML_MAX),
        })),
      }),
    failure_summary: cut(failureSummary, FAILURE_SUMMARY_MAX),
  };
}

// The findings of a page that was tested in two states: with the open dialog that asks for consent, and after its answer.

/** Rules that cannot decide about what something covers. The open dialog covers the page, which is tested without it too. */
const RULES_OF_SIGHT: ReadonlySet<string> = new Set(['color-contrast', 'color-contrast-enhanced', 'target-size']);

/**
 * The findings in either state. An element that has a finding in both has it once; elements are recognised as in the comparison of
 * two scans, because the dialog changes selectors.
 */
export function mergeFindings(withDialog: PageFindings, after: PageFindings): PageFindings {
  const violations = mergeRules(withDialog.violations, after.violations);
  const judged = new Map(violations.map((violation) => [violation.rule, violation]));
  const open = withDialog.needsReview.filter(({ rule }) => !RULES_OF_SIGHT.has(rule));
  const needsReview = mergeRules(open, after.needsReview).flatMap((finding) => {
    const violation = judged.get(finding.rule);
    const nodes = violation === undefined ? finding.nodes : onlyIn(finding, violation);
    return nodes.length === 0 ? [] : [{ ...finding, nodes, nodes_total: nodes.length }];
  });
  const passes = [...new Map([...withDialog.passes, ...after.passes].map((rule) => [rule.id, rule])).values()];
  const advice = mergeRules(withDialog.advice, after.advice);
  const inapplicable = [...withDialog.inapplicable, ...after.inapplicable];
  const failed = [...withDialog.failed, ...after.failed];
  return { violations, needsReview, advice, passes, inapplicable, failed, rules: tallyOf(violations, passes) };
}

function mergeRules(withDialog: readonly ReportViolation[], after: readonly ReportViolation[]): ReportViolation[] {
  const merged = new Map(after.map((finding) => [finding.rule, finding]));
  for (const finding of withDialog) {
    const known = merged.get(finding.rule);
    if (known === undefined) {
      merged.set(finding.rule, finding);
      continue;
    }
    const nodes = [...known.nodes, ...onlyIn(finding, known)];
    const impact = IMPACTS[Math.min(IMPACTS.indexOf(known.impact), IMPACTS.indexOf(finding.impact))]!;
    merged.set(finding.rule, { ...known, impact, nodes, nodes_total: nodes.length });
  }
  return [...merged.values()].sort(bySeverity);
}

/** The elements of a finding that another one does not have. */
function onlyIn(finding: ReportViolation, other: ReportViolation): ReportNode[] {
  const read = elementReader();
  const nodes = new Map<ReducedElement, ReportNode>(finding.nodes.map((node) => [read(finding, node), node]));
  const others = other.nodes.map((node) => read(other, node));
  return matchElements([...nodes.keys()], others).before.map((element) => nodes.get(element)!);
}
