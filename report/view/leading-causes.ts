/** The root causes whose fix removes the most violations. */
import type { RootCause } from '../schema/root-cause.ts';

/** How many causes are named at most: as many as a team can take on next. */
export const LEADING_CAUSES_MAX = 5;

export interface LeadingCauses {
  /** By number of violations, each with its index in the report's own order, which goes by severity. */
  causes: { cause: RootCause; index: number }[];
  /** The violations that disappear if all of them are fixed. */
  removed: number;
  /** `removed` in percent of all violations, rounded down, so that it is 100 only if none is left. Below 10 it has a decimal. */
  percent: number;
}

/**
 * Selects the root causes with the most violations. Causes with equally many keep the order of the report.
 * @param all all root causes of a report, in its order
 * @param most how many causes to select at most
 */
export function leadingCauses(all: readonly RootCause[], most = LEADING_CAUSES_MAX): LeadingCauses {
  const total = all.reduce((sum, { elements }) => sum + elements, 0);
  const causes = all
    .map((cause, index) => ({ cause, index }))
    .sort((left, right) => right.cause.elements - left.cause.elements || left.index - right.index)
    .slice(0, most);
  const removed = causes.reduce((sum, { cause }) => sum + cause.elements, 0);
  return { causes, removed, percent: total === 0 ? 0 : percentOf(removed, total) };
}

function percentOf(removed: number, total: number): number {
  const percent = Math.floor((100 * removed) / total);
  return percent < 10 ? Math.floor((1000 * removed) / total) / 10 : percent;
}
