/**
 * The success criteria of WCAG 2.0 to 2.2. Their names are in `words/LOCALE/criteria.json`: those of W3C's authorised translations where
 * there is one (French, Dutch, Polish, and German for 2.0), else of the translation that is in use.
 */
import { createRequire } from 'node:module';
import type { Locale } from '../../core/scan/locales.ts';
import { WCAG_LEVELS, WCAG_VERSIONS, type WcagLevel, type WcagVersion } from '../../core/scan/options.ts';
import type { ReportRule } from '../schema/report.ts';

/** The level of each criterion, its anchor in WCAG 2.2 (https://www.w3.org/TR/WCAG22/), and the version that added it after 2.0. */
const CRITERIA: Readonly<Record<string, readonly [WcagLevel, string, WcagVersion?]>> = {
  '1.1.1': ['A', 'non-text-content'],
  '1.2.1': ['A', 'audio-only-and-video-only-prerecorded'],
  '1.2.2': ['A', 'captions-prerecorded'],
  '1.2.3': ['A', 'audio-description-or-media-alternative-prerecorded'],
  '1.2.4': ['AA', 'captions-live'],
  '1.2.5': ['AA', 'audio-description-prerecorded'],
  '1.2.6': ['AAA', 'sign-language-prerecorded'],
  '1.2.7': ['AAA', 'extended-audio-description-prerecorded'],
  '1.2.8': ['AAA', 'media-alternative-prerecorded'],
  '1.2.9': ['AAA', 'audio-only-live'],
  '1.3.1': ['A', 'info-and-relationships'],
  '1.3.2': ['A', 'meaningful-sequence'],
  '1.3.3': ['A', 'sensory-characteristics'],
  '1.3.4': ['AA', 'orientation', '2.1'],
  '1.3.5': ['AA', 'identify-input-purpose', '2.1'],
  '1.3.6': ['AAA', 'identify-purpose', '2.1'],
  '1.4.1': ['A', 'use-of-color'],
  '1.4.2': ['A', 'audio-control'],
  '1.4.3': ['AA', 'contrast-minimum'],
  '1.4.4': ['AA', 'resize-text'],
  '1.4.5': ['AA', 'images-of-text'],
  '1.4.6': ['AAA', 'contrast-enhanced'],
  '1.4.7': ['AAA', 'low-or-no-background-audio'],
  '1.4.8': ['AAA', 'visual-presentation'],
  '1.4.9': ['AAA', 'images-of-text-no-exception'],
  '1.4.10': ['AA', 'reflow', '2.1'],
  '1.4.11': ['AA', 'non-text-contrast', '2.1'],
  '1.4.12': ['AA', 'text-spacing', '2.1'],
  '1.4.13': ['AA', 'content-on-hover-or-focus', '2.1'],
  '2.1.1': ['A', 'keyboard'],
  '2.1.2': ['A', 'no-keyboard-trap'],
  '2.1.3': ['AAA', 'keyboard-no-exception'],
  '2.1.4': ['A', 'character-key-shortcuts', '2.1'],
  '2.2.1': ['A', 'timing-adjustable'],
  '2.2.2': ['A', 'pause-stop-hide'],
  '2.2.3': ['AAA', 'no-timing'],
  '2.2.4': ['AAA', 'interruptions'],
  '2.2.5': ['AAA', 're-authenticating'],
  '2.2.6': ['AAA', 'timeouts', '2.1'],
  '2.3.1': ['A', 'three-flashes-or-below-threshold'],
  '2.3.2': ['AAA', 'three-flashes'],
  '2.3.3': ['AAA', 'animation-from-interactions', '2.1'],
  '2.4.1': ['A', 'bypass-blocks'],
  '2.4.2': ['A', 'page-titled'],
  '2.4.3': ['A', 'focus-order'],
  '2.4.4': ['A', 'link-purpose-in-context'],
  '2.4.5': ['AA', 'multiple-ways'],
  '2.4.6': ['AA', 'headings-and-labels'],
  '2.4.7': ['AA', 'focus-visible'],
  '2.4.8': ['AAA', 'location'],
  '2.4.9': ['AAA', 'link-purpose-link-only'],
  '2.4.10': ['AAA', 'section-headings'],
  '2.4.11': ['AA', 'focus-not-obscured-minimum', '2.2'],
  '2.4.12': ['AAA', 'focus-not-obscured-enhanced', '2.2'],
  '2.4.13': ['AAA', 'focus-appearance', '2.2'],
  '2.5.1': ['A', 'pointer-gestures', '2.1'],
  '2.5.2': ['A', 'pointer-cancellation', '2.1'],
  '2.5.3': ['A', 'label-in-name', '2.1'],
  '2.5.4': ['A', 'motion-actuation', '2.1'],
  '2.5.5': ['AAA', 'target-size-enhanced', '2.1'],
  '2.5.6': ['AAA', 'concurrent-input-mechanisms', '2.1'],
  '2.5.7': ['AA', 'dragging-movements', '2.2'],
  '2.5.8': ['AA', 'target-size-minimum', '2.2'],
  '3.1.1': ['A', 'language-of-page'],
  '3.1.2': ['AA', 'language-of-parts'],
  '3.1.3': ['AAA', 'unusual-words'],
  '3.1.4': ['AAA', 'abbreviations'],
  '3.1.5': ['AAA', 'reading-level'],
  '3.1.6': ['AAA', 'pronunciation'],
  '3.2.1': ['A', 'on-focus'],
  '3.2.2': ['A', 'on-input'],
  '3.2.3': ['AA', 'consistent-navigation'],
  '3.2.4': ['AA', 'consistent-identification'],
  '3.2.5': ['AAA', 'change-on-request'],
  '3.2.6': ['A', 'consistent-help', '2.2'],
  '3.3.1': ['A', 'error-identification'],
  '3.3.2': ['A', 'labels-or-instructions'],
  '3.3.3': ['AA', 'error-suggestion'],
  '3.3.4': ['AA', 'error-prevention-legal-financial-data'],
  '3.3.5': ['AAA', 'help'],
  '3.3.6': ['AAA', 'error-prevention-all'],
  '3.3.7': ['A', 'redundant-entry', '2.2'],
  '3.3.8': ['AA', 'accessible-authentication-minimum', '2.2'],
  '3.3.9': ['AAA', 'accessible-authentication-enhanced', '2.2'],
  '4.1.1': ['A', 'parsing'],
  '4.1.2': ['A', 'name-role-value'],
  '4.1.3': ['AA', 'status-messages', '2.1'],
};

const require = createRequire(import.meta.url);

/** The address of a success criterion, such as `1.1.1`, in WCAG 2.2. It is also the criterion's name in linked data. Null if unknown. */
export const criterionUrl = (criterion: string): string | null =>
  Object.hasOwn(CRITERIA, criterion) ? `https://www.w3.org/TR/WCAG22/#${CRITERIA[criterion]![1]}` : null;

/** WCAG 2.2 removed it. */
const REMOVED = '4.1.1';

/** The criteria of a conformance target, in the order of WCAG. */
export function criteriaOf(level: WcagLevel, version: WcagVersion): { id: string; level: WcagLevel }[] {
  return Object.entries(CRITERIA).flatMap(([id, [itsLevel, , since = WCAG_VERSIONS[0]]]) => {
    const isPart =
      WCAG_LEVELS.indexOf(itsLevel) <= WCAG_LEVELS.indexOf(level) && WCAG_VERSIONS.indexOf(since) <= WCAG_VERSIONS.indexOf(version);
    return isPart && !(id === REMOVED && version === '2.2') ? [{ id, level: itsLevel }] : [];
  });
}

/** The name of a known criterion, such as `Non-text Content`. */
export const criterionName = (criterion: string, locale: Locale): string => namesOf(locale)[criterion]!;

/** A success criterion with name and level, such as `1.1.1 Non-text Content (A)`. An unknown one is returned as it is. */
export function criterionTitle(criterion: string, locale: Locale): string {
  if (!Object.hasOwn(CRITERIA, criterion)) return criterion;
  return `${criterion} ${criterionName(criterion, locale)} (${CRITERIA[criterion]![0]})`;
}

const namesOf = (locale: Locale) => require(`../words/${locale}/criteria.json`) as Record<string, string>;

/** The names of standards are the same in all languages. The revised Section 508 is WCAG 2.0 A and AA, so it has no entry of its own. */
const OTHERS = { en_301_549: 'EN 301 549', rgaa_4: 'RGAA 4', trusted_tester_5: 'Trusted Tester 5', act_rules: 'ACT' } as const;

/** The standards besides WCAG. */
type OtherStandards = Pick<ReportRule, keyof typeof OTHERS>;

/** The standards with their entries, such as `WCAG 1.4.3 Contrast (Minimum) (AA)` and `EN 301 549 9.1.4.3`. */
export const standardsText = (wcag: readonly string[], standards: OtherStandards, locale: Locale): string[] => [
  ...(wcag.length === 0 ? [] : [`WCAG ${criteriaText(wcag, locale)}`]),
  ...otherStandardsText(standards),
];

/** The criteria with names and levels. Semicolons separate them, because names have commas. */
export const criteriaText = (wcag: readonly string[], locale: Locale): string =>
  wcag.map((criterion) => criterionTitle(criterion, locale)).join('; ');

/** The standards besides WCAG with their entries. */
export const otherStandardsText = (standards: OtherStandards): string[] =>
  (Object.keys(OTHERS) as (keyof typeof OTHERS)[]).flatMap((key) => {
    const ids = standards[key];
    return ids.length === 0 ? [] : [`${OTHERS[key]} ${ids.join(', ')}`];
  });
