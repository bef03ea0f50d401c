/** The languages of findings and reports, each with its plural categories (CLDR), so that no form can be forgotten. */
const PLURALS = {
  en: ['one', 'other'],
  de: ['one', 'other'],
  fr: ['one', 'many', 'other'],
  nl: ['one', 'other'],
  pl: ['one', 'few', 'many', 'other'],
} as const satisfies Record<string, readonly Intl.LDMLPluralRule[]>;

export type Locale = keyof typeof PLURALS;
/** The language of addresses without a language, and of the dashboard. */
export const DEFAULT_LOCALE: Locale = 'en';
export const LOCALES = Object.keys(PLURALS) as readonly Locale[];

/** The plural categories of a language. */
export type PluralCategory<L extends Locale> = (typeof PLURALS)[L][number];
