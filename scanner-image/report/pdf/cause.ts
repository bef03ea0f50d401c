/** Root causes as the report names them, and what their cards share. */
import { elementNames } from '../../../core/report/element-names.ts';
import { ruleText } from '../../../core/report/rule-texts/rule-texts.ts';
import type { ReportGroup, ReportRule } from '../../../core/report/schema.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import type { ReportWords } from '../../../core/words/words.ts';
import { PAGE } from './tagged-document.ts';

/** The longest help text of a rule, in characters. It comes from the pod, so it is limited. */
const HELP_MAX = 300;
/** A card continues on the next page if more than this would stay empty otherwise: a quarter of a page, in points. */
export const SPLIT_ABOVE = (PAGE.height - PAGE.top - PAGE.bottom) / 4;
/** Between two columns, in points. */
export const GAP = 14;

/** A column of a page, in points. */
export interface Column {
  x: number;
  width: number;
}

/** What all cards of a report share. */
export interface CauseContext {
  i18n: ReportWords;
  /** The URL of the scan. Pages on the same site are named by their path. */
  site: string;
  /** Standards by the ID of a rule. */
  rules: ReadonlyMap<string, ReportRule>;
  /** JPEGs by fingerprint, with the page that each one shows. */
  pictures: ReadonlyMap<string, { jpeg: Uint8Array; pageUrl: string }>;
}

/** What a card is about: a cause to fix, or elements that a person must check. */
export interface Card {
  kind: 'violation' | 'review';
  group: ReportGroup;
  title: string;
  /** The named destination of the card. */
  place?: string;
}

/** The name of a root cause, in the language of the report if the rule is known. */
export const causeTitle = (group: ReportGroup, locale: Locale): string =>
  ruleText(group.rule, locale)?.help ?? group.help.slice(0, HELP_MAX);

/** The elements that tell root causes with the same name apart, in the language of the report. */
export const causeElements = (groups: readonly ReportGroup[], locale: Locale): ReadonlyMap<ReportGroup, string> =>
  elementNames(groups, (group) => causeTitle(group, locale));
