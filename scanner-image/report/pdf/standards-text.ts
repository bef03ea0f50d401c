/** The standards of a root cause, in one line. */
import type { ReportGroup, ReportRule } from '../../../core/report/schema.ts';

/** The standards of a root cause, such as `WCAG 1.4.3 · EN 301 549 9.1.4.3`. */
export function standardsText({ wcag }: Pick<ReportGroup, 'wcag'>, rule: ReportRule | undefined): string {
  const named: [string, readonly string[]][] = [
    ['WCAG', wcag],
    ['EN 301 549', rule?.en_301_549 ?? []],
    ['Section 508', rule?.section_508 ?? []],
    ['ACT', rule?.act_rules ?? []],
  ];
  return named.flatMap(([name, ids]) => (ids.length > 0 ? [`${name} ${ids.join(', ')}`] : [])).join('  ·  ');
}
