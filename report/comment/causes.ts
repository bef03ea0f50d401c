/**
 * The root causes that a pull request is about: the new ones if the scan was compared with a baseline, else all. Known issues are
 * left out, as thresholds do. Pure.
 */
import { countedAsNew } from '../diff/diff.ts';
import type { Report, ReportChange, ReportGroup } from '../schema/schema.ts';

/** A root cause, with the elements that count. */
export interface Cause extends Pick<ReportChange, 'fingerprint' | 'rule' | 'impact' | 'wcag' | 'help' | 'help_url' | 'elements' | 'pages'> {
  examples: Pick<ReportChange['examples'][number], 'page' | 'selector' | 'frame_path' | 'shadow_path'>[];
}

/** Worst first. */
export const causesOf = ({ baseline, groups }: Report): Cause[] =>
  baseline === undefined || baseline.new === null ? groups.flatMap(ofGroup) : newCauses(baseline.new_causes);

/** The causes as the threshold counts them: without those that the baseline has too on pages that it did not test. */
const newCauses = (changes: readonly ReportChange[]): Cause[] =>
  changes.flatMap((change) => {
    const elements = countedAsNew(change) - (change.known_elements ?? 0);
    return elements > 0 ? [{ ...change, elements }] : [];
  });

function ofGroup({ example, page_urls: [page = ''], known_elements: known = 0, ...group }: ReportGroup): Cause[] {
  const elements = group.elements - known;
  return elements > 0 ? [{ ...group, elements, examples: [{ ...example, page }] }] : [];
}
