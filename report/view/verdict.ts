/** The verdict of a report and its thresholds, as people read them. Pure. */
import { IMPACTS, type Impact } from '../../core/scan/impacts.ts';
import { checkThresholds, type ThresholdCheck } from '../../core/scan/thresholds.ts';
import { outcomeOf } from '../results/results.ts';
import { thresholdsOf } from '../../core/scan/submitted-options.ts';
import type { Report } from '../schema/schema.ts';
import { wordsIn, type ReportWords } from '../words/words.ts';
import { partialSentence } from './partial.ts';

/** Measures the thresholds that apply to a report. */
export const checksOf = (report: Report): ThresholdCheck[] => checkThresholds(thresholdsOf(report.scan.thresholds), outcomeOf(report));

/** A threshold that is set, in the report's language. */
export interface ThresholdRow {
  name: string;
  allowed: string;
  measured: string;
  met: boolean;
}

/** Describes the thresholds that apply to a report. None apply to a partial one: it would be wrong to call any of them met. */
export function thresholdRows(report: Report, i18n: ReportWords): ThresholdRow[] {
  if (report.partial) return [];
  const { texts, format, number, locale } = i18n;
  const { thresholds } = wordsIn(locale, 'score').texts;
  const listed = (measured: Partial<Record<Impact, number>> | null): string => {
    if (measured === null) return texts.notCompared;
    const found = IMPACTS.filter((impact) => measured[impact] !== undefined);
    return found.length === 0 ? number(0) : found.map((impact) => `${texts.severities[impact]}: ${number(measured[impact]!)}`).join(', ');
  };
  return checksOf(report).map(({ name, allowed, measured, met }) => {
    const threshold = thresholds[name];
    const values = { allowed: typeof allowed === 'number' ? allowed : texts.severities[allowed] };
    return {
      name: format(threshold.name, values),
      allowed: format(threshold.allowed, values),
      measured: typeof measured === 'number' ? number(measured) : listed(measured),
      met,
    };
  });
}

/** The verdict in a word and a sentence, and what stands for it where it is drawn. */
export function verdictTexts(
  { partial, scan: { verdict } }: Pick<Report, 'partial' | 'scan'>,
  { texts, format, locale }: ReportWords,
  rows: readonly ThresholdRow[],
): { word: string; alt: string; detail: string } {
  const { passed } = verdict;
  if (partial) {
    const alt = passed === null ? texts.noThresholdsAlt : texts.notPassedAlt;
    return { word: texts.partialReport, alt, detail: partialSentence(locale) };
  }
  if (passed === null) return { word: texts.noThresholds, alt: texts.noThresholdsAlt, detail: texts.noThresholdsDetail };
  const m = rows.length;
  if (passed) return { word: texts.passed, alt: texts.passedAlt, detail: format(texts.thresholdsMet, { n: m, m }) };
  const missed = rows.filter(({ met }) => !met).length;
  return { word: texts.notPassed, alt: texts.notPassedAlt, detail: format(texts.thresholdsMissed, { n: missed, m }) };
}
