/** What reports, pages and mails say of a report in a sentence, in the language of the report. Pure. */
import { type ReportNode, STATE_RESULTS } from '../schema/page.ts';
import type { Report, ReportBaseline, ReportConsent } from '../schema/report.ts';
import type { KnownMark, RootCause } from '../schema/root-cause.ts';
import { type ReportWords, wordsIn } from '../words/words.ts';
import { isDecision } from '../../core/scan/known-issues.ts';
import type { Locale } from '../../core/scan/locales.ts';

/** The comparison with the baseline. Empty without one. */
export function baselineLine({ baseline }: Pick<Report, 'baseline'>, i18n: ReportWords): string {
  if (baseline === undefined) return '';
  const { new: added, fixed, unchanged } = baseline;
  if (added === null || fixed === null || unchanged === null) return i18n.texts.baselineNone;
  return [i18n.format(i18n.texts.baselineDifference, { new: added, fixed, unchanged }), ...uncompared(baseline, i18n)].join(' ');
}

/** What the numbers of new, fixed and unchanged violations leave out. */
export const uncompared = (
  { on_new_pages: onNewPages, on_new_states: onNewStates, not_tested: notTested }: ReportBaseline,
  { texts, format }: Pick<ReportWords, 'texts' | 'format'>,
): string[] => [
  ...(onNewPages ? [format(texts.baselineOnNewPages, { n: onNewPages })] : []),
  ...(onNewStates ? [format(texts.baselineOnNewStates, { n: onNewStates })] : []),
  ...(notTested ? [format(texts.baselineNotTested, { n: notTested })] : []),
];

/** Describes in one sentence what was answered to the dialog that asks for consent to cookies. */
export function consentSentence({ action, outcome, product, url }: ReportConsent, locale: Locale): string {
  const { texts, format } = wordsIn(locale, 'report');
  return format(texts.consent[outcome === 'answered' ? action : outcome], { product: product ?? '', url });
}

type KnownTexts = Pick<ReportWords, 'texts' | 'format' | 'count' | 'date'>;

/** What the scan has without known issues and decisions; empty if the site has none. */
export function knownLine(
  { known_issues: known, counts }: Pick<Report, 'known_issues' | 'counts'>,
  { texts, format, count }: KnownTexts,
): string {
  if (known === undefined) return '';
  const { total } = known.violations_new_or_open;
  const decided = (kind: 'fault' | 'fine'): number =>
    known.issues.reduce((sum, issue) => sum + (issue.kind === kind ? issue.elements : 0), 0);
  const score = known.score_without_decisions;
  return [
    ...(known.issues.every(isDecision)
      ? []
      : [
          count(texts.knownViolations, counts.total - total),
          format(texts.withoutKnown, { score: known.score_without_known, violations: total }),
        ]),
    ...(score === undefined ? [] : [format(texts.decisions, { faults: decided('fault'), fine: decided('fine'), score })]),
    ...(known.unmatched > 0 ? [count(texts.knownUnmatched, known.unmatched)] : []),
    ...(known.ending > 0 ? [count(texts.knownEnding, known.ending)] : []),
    ...(known.left_out > 0 ? [count(texts.knownLeftOut, known.left_out)] : []),
  ].join(' ');
}

/** Why elements of a root cause are accepted, or confirmed as faults, by whom and until when. */
export const knownMark = ({ kind, elements, reason, owner, expires_at }: KnownMark, { texts, format, date }: KnownTexts): string =>
  format(kind === 'fault' ? texts.faultMark : texts.knownMark, { n: elements, reason, owner, date: date(expires_at) });

/** The sentence that tells readers that the report of a canceled scan does not have all pages. */
export const partialSentence = (locale: Locale): string => wordsIn(locale, 'report').texts.partialReportDetail;

/** The words of a contrast. The two colours can be drawn beside their names. */
export interface ContrastText {
  /** The measured and the required ratio. */
  ratio: string;
  colors: readonly { name: string; color: string }[];
  /** The size of the text, which decides what is required. Absent if it is unknown. */
  size?: string;
}

/** The pod sends the colours, so anything else may be in their place. */
const COLOR = /^#[0-9a-f]{6}$/i;

/** Returns the words of a contrast. Colours that cannot be drawn stay words. */
export function contrastText(
  { foreground, background, ratio, required, font_size_px: size, bold }: NonNullable<ReportNode['contrast']>,
  { texts, format, ratio: decimals }: Pick<ReportWords, 'texts' | 'format' | 'ratio'>,
): ContrastText {
  return {
    ratio: format(texts.contrast, { ratio: decimals(ratio), required: decimals(required) }),
    colors: [
      { name: format(texts.foreground, { color: foreground }), color: foreground },
      { name: format(texts.background, { color: background }), color: background },
    ],
    ...(size !== undefined && { size: `${format(texts.fontSize, { size })}${bold === true ? `, ${texts.bold}` : ''}` }),
  };
}

/** Whether a colour is in a form that can be written into a style or a drawing. */
export const isDrawable = (color: string): boolean => COLOR.test(color);

/** Whether something was found only in a state that does not count. */
export const hasUncountedStates = ({ states, review_groups: review }: Pick<Report, 'states' | 'review_groups'>): boolean =>
  states?.counted === false && review.some(({ elements, at_rest: atRest = elements }) => atRest < elements);

/** The coverage of states, and whether what was found in them counts. Empty if the scan tested none. */
export function stateLines(report: Pick<Report, 'states' | 'review_groups'>, locale: Locale): string[] {
  const { states } = report;
  if (states === undefined) return [];
  const { texts } = wordsIn(locale, 'findings');
  const numbers = (one: (typeof states.kinds)[number]): string =>
    STATE_RESULTS.flatMap((result) => (one[result] === 0 ? [] : [`${texts.stateResults[result]}: ${one[result]}`])).join(', ');
  const kinds = states.kinds.map((one) => `${texts.pageStates[one.kind]} (${numbers(one)})`);
  return [`${texts.statesOfPages}: ${kinds.join('; ')}.`, ...(hasUncountedStates(report) ? [texts.statesNotCounted] : [])];
}

/** The states in which a root cause was found. Null: only at rest. */
export function inStates({ states, at_rest: atRest }: Pick<RootCause, 'states' | 'at_rest'>, locale: Locale): string | null {
  if (states === undefined) return null;
  const { texts, format } = wordsIn(locale, 'findings');
  const named = states.map((kind) => texts.pageStates[kind]).join(', ');
  return format(atRest === 0 ? texts.inState : texts.alsoInState, { states: named });
}
