/** The tested pages of a report, and their findings. */
import type { ReportNode, ReportPage, ReportViolation, TestedPage } from './schema.ts';

export function testedPages(pages: readonly ReportPage[]): TestedPage[] {
  return pages.filter((page) => page.tested);
}

/** The lists of a page's findings. */
export const FINDING_LISTS = ['violations', 'needs_review', 'advice'] as const satisfies readonly (keyof TestedPage)[];
export type FindingList = (typeof FINDING_LISTS)[number];
/** The findings of a page, of all lists. */
export const findingsOf = (page: Pick<TestedPage, FindingList>): ReportViolation[] => FINDING_LISTS.flatMap((list) => page[list]);

/** Returns the path to an element: the selectors of frames and shadow hosts precede its own, separated by ` >>> `. */
export const elementPath = ({ frame_path, shadow_path, selector }: Pick<ReportNode, 'frame_path' | 'shadow_path' | 'selector'>): string =>
  [...frame_path, ...shadow_path, selector].join(' >>> ');
