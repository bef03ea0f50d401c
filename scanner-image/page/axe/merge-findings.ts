/** Merges the findings of a page that was tested in two states: with the open dialog that asks for consent, and after its answer. */
import { elementReader, type ReducedElement } from '../../../report/diff/reduce.ts';
import { matchElements } from '../../../report/diff/match.ts';
import type { ReportNode, ReportViolation } from '../../../report/schema/schema.ts';
import { IMPACTS } from '../../../core/scan/impacts.ts';
import { bySeverity, tallyOf, type PageFindings } from './results.ts';

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
