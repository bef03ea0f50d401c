/** Severities of a rule, worst first (axe-core's `impact`). */
export const IMPACTS = ['critical', 'serious', 'moderate', 'minor'] as const;
export type Impact = (typeof IMPACTS)[number];

/** This severity and every worse one. */
export function impactsFrom(impact: Impact): readonly Impact[] {
  return IMPACTS.slice(0, IMPACTS.indexOf(impact) + 1);
}
