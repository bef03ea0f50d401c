/** The comparison with the baseline in a sentence, in the language of the report. Pure. */
import type { Report } from '../schema/schema.ts';
import type { ReportWords } from '../words/words.ts';

/** Empty without a baseline. */
export function baselineLine({ baseline }: Pick<Report, 'baseline'>, { texts, format }: ReportWords): string {
  if (baseline === undefined) return '';
  const { new: added, fixed, unchanged, on_new_pages: onNewPages, not_tested: notTested } = baseline;
  if (added === null || fixed === null || unchanged === null) return texts.baselineNone;
  return [
    format(texts.baselineDifference, { new: added, fixed, unchanged }),
    ...(onNewPages ? [format(texts.baselineOnNewPages, { n: onNewPages })] : []),
    ...(notTested ? [format(texts.baselineNotTested, { n: notTested })] : []),
  ].join(' ');
}
