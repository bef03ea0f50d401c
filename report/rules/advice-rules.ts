/**
 * Rules of axe-core that WCAG does not require, but whose findings are usually faults that users notice. They are listed apart,
 * never in the score, the counts, the verdict, the thresholds or the success criteria. axe-core's other best practices find what is
 * a matter of taste, such as content outside of landmarks, on nearly every page.
 */
export const ADVICE_RULES: ReadonlySet<string> = new Set([
  'aria-allowed-role',
  'empty-heading',
  'empty-table-header',
  'focus-order-semantics',
  'heading-order',
  'image-redundant-alt',
  'presentation-role-conflict',
  'tabindex',
  // axe-core counts it to WCAG 1.3.1, but as an experiment.
  'td-has-header',
]);
