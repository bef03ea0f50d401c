/** Explains a score and a verdict in sentences, the same in the dashboard, the PDF, mails and on the command line. Pure. */
import type { Counts } from '../../core/scan/counts.ts';
import { type Impact, IMPACTS } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { type Outcome, withoutKnown } from '../../core/scan/outcome.ts';
import { checkThresholds, type ThresholdCheck, type Thresholds } from '../../core/scan/thresholds.ts';
import { outcomeOf } from '../results/results.ts';
import { countViolations } from '../results/score.ts';
import { thresholdsOf } from '../../core/scan/submitted-options.ts';
import { testedPages } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import { capitalized, type ReportWords, wordsIn } from '../words/words.ts';
import type { FixToPass } from './fix-to-pass.ts';
import type { ReportView } from './schema.ts';
import { partialSentence } from './sentences.ts';

/** What the sentences are made of. */
export interface ScoreFacts {
  outcome: Outcome;
  thresholds: Thresholds;
  /** The violations of each tested page. Absent if not every page is known. */
  pages?: readonly Counts[] | undefined;
}

export interface ScoreSentences {
  /** What the score is made of. */
  score: string;
  /** How a failing rule counts: why many violations can go with a high score. */
  counting: string;
  /** `counting`, where the score surprises: it is high, and there are critical violations. Otherwise null. */
  surprise: string | null;
  /** Why the scan passed or did not pass, also if the score is high. Null without thresholds. */
  verdict: string | null;
  /** The same without the words "did not pass", for places that have them. Null unless it did not pass. */
  reasons: string | null;
}

/** Readers take a score from here on for good. */
const HIGH_SCORE = 80;

/** Explains the result of a scan that is done. */
export function explainScore(facts: ScoreFacts, locale: Locale): ScoreSentences {
  const { texts, count, format } = wordsIn(locale, 'score');
  const checks = checkThresholds(facts.thresholds, facts.outcome);
  const clauses = reasonsOf(checks, facts, locale);
  const passed = checks.length === 0 ? null : count(texts.passed, checks.length);
  return {
    score: scoreSentence(facts, locale),
    counting: texts.counting,
    surprise: facts.outcome.score >= HIGH_SCORE && facts.outcome.violations.critical > 0 ? texts.counting : null,
    verdict: clauses === null ? passed : format(texts.notPassed, { reasons: clauses }),
    reasons: clauses && `${capitalized(clauses, locale)}.`,
  };
}

export const scoreFactsOf = (report: Report): ScoreFacts => ({
  outcome: outcomeOf(report),
  thresholds: thresholdsOf(report.scan.thresholds),
  pages: testedPages(report.pages).map(({ violations }) => countViolations(violations)),
});

/** The violations of each tested page; undefined if the view has no longer every page. */
export function pageCountsOf({ pages, pages_total: total }: Pick<ReportView, 'pages' | 'pages_total'>): Counts[] | undefined {
  return pages.length < total ? undefined : pages.flatMap((page) => (page.tested ? [page.counts] : []));
}

function scoreSentence({ outcome, pages }: ScoreFacts, locale: Locale): string {
  const { texts, count } = wordsIn(locale, 'score');
  const { onPages } = wordsIn(locale, 'report').texts;
  // On one page, "on 1 page" says nothing.
  const on = (has: (counts: Counts) => boolean): string =>
    pages === undefined || pages.length < 2 ? '' : ` ${count(onPages, pages.filter(has).length)}`;
  const found = IMPACTS.filter((impact) => outcome.violations[impact] > 0);
  const parts = found.map((impact) => count(texts.violations[impact], outcome.violations[impact]) + on((counts) => counts[impact] > 0));
  const clean = pages?.some(({ total }) => total === 0) ? [texts.none + on(({ total }) => total === 0)] : [];
  const listed = found.length === 0 ? [texts.none] : [...parts, ...clean];
  const average = count(texts.average, outcome.pages.scanned, { score: outcome.score });
  return `${average}: ${listed.join(', ')}.`;
}

/** The missed thresholds, and what the score says about them. Null if none is missed. */
function reasonsOf(checks: readonly ThresholdCheck[], facts: ScoreFacts, locale: Locale): string | null {
  const missed = checks.filter(({ met }) => !met);
  if (missed.length === 0) return null;
  const clauses = [...missed.map((check) => missedClause(check, locale)), ...scoreClause(missed, facts, locale)].join('; ');
  return facts.outcome.known === undefined ? clauses : `${clauses} (${wordsIn(locale, 'score').texts.knownNotCounted})`;
}

function missedClause(check: ThresholdCheck, locale: Locale): string {
  const { texts, count, format } = wordsIn(locale, 'score');
  switch (check.name) {
    case 'maxViolations':
      return count(texts.thresholds.maxViolations.missed, check.measured, { allowed: check.allowed });
    case 'maxNewViolations':
      if (check.measured === null) return texts.notCompared;
      return count(texts.thresholds.maxNewViolations.missed, check.measured, { allowed: check.allowed });
    case 'failOnSeverity': {
      return format(texts.thresholds.failOnSeverity.missed, { violations: severitiesText(check.measured, locale) });
    }
    default:
      return format(texts.thresholds[check.name].missed, { measured: check.measured, allowed: check.allowed });
  }
}

/** Says whether a scan passes when the listed root causes are fixed; otherwise, what is missed then. */
export function toPassSentence(
  { causes, needed, left }: Pick<FixToPass, 'needed' | 'left'> & { causes: readonly unknown[] },
  locale: Locale,
): string {
  const { texts, count, format } = wordsIn(locale, 'score');
  const n = causes.length;
  if (left.length === 0) return count(texts.toPass, n);
  const clauses = left.map((check) => missedClause(check, locale)).join('; ');
  if (n === 0) return format(texts.toPassNever, { left: clauses });
  return [...(needed === null ? [] : [count(texts.toPassNeeded, needed)]), count(texts.toPassNot, n, { left: clauses })].join(' ');
}

/** What the score says about the verdict: readers wonder why a high one does not pass. */
function scoreClause(missed: readonly ThresholdCheck[], { outcome, thresholds }: ScoreFacts, locale: Locale): string[] {
  if (missed.some(({ name }) => name === 'minScore')) return [];
  const { texts, format } = wordsIn(locale, 'score');
  const { score } = withoutKnown(outcome);
  const { minScore: minimum } = thresholds;
  return [minimum === undefined ? format(texts.scoreNotJudged, { score }) : format(texts.scoreMet, { score, minimum })];
}

/** The worst severity that has violations. */
export const worstOf = (counts: Counts): Impact | null => IMPACTS.find((impact) => counts[impact] > 0) ?? null;

/** The violations of each severity that has any, worst first. */
export function severitiesText(counts: Partial<Record<Impact, number>>, locale: Locale): string {
  const { texts, count } = wordsIn(locale, 'score');
  return IMPACTS.flatMap((impact) => (counts[impact] ? [count(texts.violations[impact], counts[impact])] : [])).join(', ');
}

/** The result of a scan without a verdict. */
export function foundSentence(counts: Counts, locale: Locale): string {
  const { texts, count } = wordsIn(locale, 'report');
  return counts.total === 0 ? `${texts.noViolations}.` : `${count(texts.found, counts.total)}: ${severitiesText(counts, locale)}.`;
}

/** Measures the thresholds that apply to a report. */
const checksOf = (report: Report): ThresholdCheck[] => checkThresholds(thresholdsOf(report.scan.thresholds), outcomeOf(report));

/** A threshold that is set, in the report's language. */
export interface ThresholdRow {
  name: string;
  allowed: string;
  measured: string;
  met: boolean;
}

/** Describes the thresholds that apply to a report. None apply to a partial one: it would be wrong to call any of them met. */
export const thresholdRows = (report: Report, i18n: ReportWords): ThresholdRow[] =>
  report.partial ? [] : rowsOfThresholds(checksOf(report), i18n);

/** Describes measured thresholds. */
export function rowsOfThresholds(checks: readonly ThresholdCheck[], { texts, format, number, locale }: ReportWords): ThresholdRow[] {
  const { thresholds } = wordsIn(locale, 'score').texts;
  const listed = (measured: Partial<Record<Impact, number>> | null): string => {
    if (measured === null) return texts.notCompared;
    const found = IMPACTS.filter((impact) => measured[impact] !== undefined);
    return found.length === 0 ? number(0) : found.map((impact) => `${texts.severities[impact]}: ${number(measured[impact]!)}`).join(', ');
  };
  return checks.map(({ name, allowed, measured, met }) => {
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

/** The verdict in a word and a sentence, and what stands for it where it is drawn. Without thresholds, the result takes its place. */
export function verdictTexts(
  { partial, scan: { verdict }, counts }: Pick<Report, 'partial' | 'scan' | 'counts'>,
  { texts, format, count, locale }: ReportWords,
  rows: readonly ThresholdRow[],
): { word: string; alt: string; detail: string } {
  const { passed } = verdict;
  if (partial) {
    const alt = passed === null ? texts.noThresholdsAlt : texts.notPassedAlt;
    return { word: texts.partialReport, alt, detail: partialSentence(locale) };
  }
  if (passed === null) {
    const worst = worstOf(counts);
    if (worst === null) return { word: texts.noViolations, alt: texts.noViolations, detail: texts.noViolationsDetail };
    const alt = `${texts.severity}: ${texts.severities[worst]}`;
    return { word: count(texts.found, counts.total), alt, detail: `${severitiesText(counts, locale)}.` };
  }
  const m = rows.length;
  if (passed) return { word: texts.passed, alt: texts.passedAlt, detail: format(texts.thresholdsMet, { n: m, m }) };
  const missed = rows.filter(({ met }) => !met).length;
  return { word: texts.notPassed, alt: texts.notPassedAlt, detail: format(texts.thresholdsMissed, { n: missed, m }) };
}
