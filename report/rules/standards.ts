/** The standards of a root cause, as people read them. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { criterionTitle } from './success-criteria.ts';
import type { ReportRule } from '../schema/schema.ts';

/** The names of standards are the same in all languages. The revised Section 508 is WCAG 2.0 A and AA, so it has no entry of its own. */
const OTHERS = { en_301_549: 'EN 301 549', rgaa_4: 'RGAA 4', trusted_tester_5: 'Trusted Tester 5', act_rules: 'ACT' } as const;

/** The standards besides WCAG. */
export type OtherStandards = Pick<ReportRule, keyof typeof OTHERS>;

/** The standards with their entries, such as `WCAG 1.4.3 Contrast (Minimum) (AA)` and `EN 301 549 9.1.4.3`. */
export const standardsText = (wcag: readonly string[], standards: OtherStandards, locale: Locale): string[] => [
  ...(wcag.length === 0 ? [] : [`WCAG ${criteriaText(wcag, locale)}`]),
  ...otherStandardsText(standards),
];

/** The criteria with names and levels. Semicolons separate them, because names have commas. */
export const criteriaText = (wcag: readonly string[], locale: Locale): string =>
  wcag.map((criterion) => criterionTitle(criterion, locale)).join('; ');

/** The standards besides WCAG with their entries. */
export const otherStandardsText = (standards: OtherStandards): string[] =>
  (Object.keys(OTHERS) as (keyof typeof OTHERS)[]).flatMap((key) => {
    const ids = standards[key];
    return ids.length === 0 ? [] : [`${OTHERS[key]} ${ids.join(', ')}`];
  });
