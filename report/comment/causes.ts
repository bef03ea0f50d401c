/** The root causes that a pull request is about: the new ones if the scan was compared with a baseline, else all. Pure. */
import type { Report, ReportChange, ReportGroup } from '../schema/schema.ts';

/** A root cause, with the elements that count. */
export interface Cause extends Pick<ReportChange, 'rule' | 'impact' | 'wcag' | 'help' | 'help_url' | 'elements' | 'pages'> {
  examples: Pick<ReportChange['examples'][number], 'page' | 'selector' | 'frame_path' | 'shadow_path'>[];
}

/** Worst first. */
export const causesOf = ({ baseline, groups }: Report): Cause[] =>
  baseline === undefined || baseline.new === null ? groups.map(ofGroup) : newCauses(baseline.new_causes);

/** The causes as the threshold counts them: without known ones on new pages. */
const newCauses = (changes: readonly ReportChange[]): Cause[] =>
  changes.flatMap((change) => {
    const elements = change.in_both ? change.elements - change.on_new_pages : change.elements;
    return elements > 0 ? [{ ...change, elements }] : [];
  });

const ofGroup = ({ example, page_urls: [page = ''], ...group }: ReportGroup): Cause => ({ ...group, examples: [{ ...example, page }] });
