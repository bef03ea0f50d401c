/** The known issues of a report in sentences, in the language of the report. Pure. */
import type { KnownMark, Report } from '../schema/schema.ts';
import type { ReportWords } from '../words/words.ts';

type KnownTexts = Pick<ReportWords, 'texts' | 'format' | 'count' | 'date'>;

/** What the scan has without known issues; empty if the site has none. */
export function knownLine(
  { known_issues: known, counts }: Pick<Report, 'known_issues' | 'counts'>,
  { texts, format, count }: KnownTexts,
): string {
  if (known === undefined) return '';
  const { total } = known.violations_new_or_open;
  return [
    count(texts.knownViolations, counts.total - total),
    format(texts.withoutKnown, { score: known.score_without_known, violations: total }),
    ...(known.unmatched > 0 ? [count(texts.knownUnmatched, known.unmatched)] : []),
    ...(known.ending > 0 ? [count(texts.knownEnding, known.ending)] : []),
    ...(known.left_out > 0 ? [count(texts.knownLeftOut, known.left_out)] : []),
  ].join(' ');
}

/** Why elements of a root cause are accepted, by whom and until when. */
export const knownMark = ({ elements, reason, owner, expires_at }: KnownMark, { texts, format, date }: KnownTexts): string =>
  format(texts.knownMark, { n: elements, reason, owner, date: date(expires_at) });
