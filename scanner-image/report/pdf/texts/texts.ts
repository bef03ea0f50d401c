/** The words of the PDF report: the same keys in every language, and how numbers, dates and plurals are put into them. */
import type { PageFailureReason } from '../../../../core/report.ts';
import type { Impact, Locale } from '../../../../core/scan.ts';
import { de } from './de.ts';
import { en } from './en.ts';
import { fr } from './fr.ts';
import { nl } from './nl.ts';
import { pl } from './pl.ts';

/** A text for each plural category of its language (CLDR); `{n}` is the number. */
export type Plural = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

export interface Texts {
  title: string;
  /** `{site}` */
  titleOf: string;
  subject: string;
  /** `{date}` */
  testedOn: string;
  /** `{version}` `{level}` */
  target: string;
  passed: string;
  notPassed: string;
  noThresholds: string;
  /** `{n}` `{m}` */
  thresholdsMet: string;
  /** `{n}` `{m}` */
  thresholdsMissed: string;
  noThresholdsDetail: string;
  score: string;
  outOf: string;
  /** `{score}` */
  scoreAlt: string;
  /** `{score}` `{minimum}` */
  scoreAltMinimum: string;
  passedAlt: string;
  notPassedAlt: string;
  noThresholdsAlt: string;
  pagesTested: string;
  /** `{n}` `{m}` */
  nOfM: string;
  violations: string;
  rootCauses: string;
  needsReview: string;
  /** `{n}` `{m}` */
  partial: string;
  severityHeading: string;
  severity: string;
  severities: Record<Impact, string>;
  /** As short as a column's heading must be. */
  severitiesShort: Record<Impact, string>;
  thresholdsHeading: string;
  threshold: string;
  allowed: string;
  measured: string;
  result: string;
  met: string;
  missed: string;
  minScore: string;
  maxViolations: string;
  /** `{severity}` */
  failOnSeverity: string;
  /** `{n}` */
  atLeast: string;
  /** `{n}` */
  atMost: string;
  noneAllowed: string;
  mendFirst: string;
  elements: Plural;
  onPages: Plural;
  rootCausesIntro: string;
  noViolations: string;
  noViolationsDetail: string;
  example: string;
  selector: string;
  inFrame: string;
  inShadow: string;
  howToMend: string;
  /** `{rule}` */
  aboutRule: string;
  where: string;
  morePages: Plural;
  furtherCauses: string;
  furtherCausesIntro: string;
  cause: string;
  leftOutCauses: Plural;
  pagesHeading: string;
  page: string;
  pages: string;
  httpStatus: string;
  total: string;
  elementsColumn: string;
  leftOutPages: Plural;
  untestedHeading: string;
  untestedIntro: string;
  reason: string;
  reasons: Record<PageFailureReason, string>;
  aboutHeading: string;
  aboutAutomated: string;
  aboutCounting: string;
  aboutScore: string;
  aboutReview: string;
  aboutGlyphs: string;
  /** `{curbcut}` `{axe}` `{browser}` */
  aboutTools: string;
  /** `{id}` */
  aboutScan: string;
  coverNote: string;
  /** `{n}` `{m}` */
  pageOf: string;
}

const ALL: Record<Locale, Texts> = { en, de, fr, nl, pl };

/** A language's texts, with their numbers put in as the language writes them. */
export interface Wording {
  locale: Locale;
  texts: Texts;
  /** Puts values in the places of a text; numbers are written in the language's way. */
  say(text: string, values: Record<string, string | number>): string;
  /** The right plural form, with `{n}`. */
  count(forms: Plural, n: number): string;
  number(n: number): string;
  /** Day and time, in UTC: a report is read in more than one place. */
  date(iso: string): string;
}

/** The words of one language. */
export function wordingOf(locale: Locale): Wording {
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const plurals = new Intl.PluralRules(locale);
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const number = (n: number): string => numbers.format(n);
  const say: Wording['say'] = (text, values) =>
    text.replace(/\{(\w+)\}/g, (place, name: string) => {
      const value = values[name];
      return value === undefined ? place : typeof value === 'number' ? number(value) : value;
    });
  return {
    locale,
    texts: ALL[locale],
    say,
    count: (forms, n) => say(forms[plurals.select(n)] ?? forms.other, { n }),
    number,
    date: (iso) => `${dates.format(new Date(iso))} UTC`,
  };
}
