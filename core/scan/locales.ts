/** Languages in which findings and reports are available. */
export const LOCALES = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Locale = (typeof LOCALES)[number];

/** The plural categories of each language (CLDR), so that no form can be forgotten. */
export interface PluralCategories {
  en: 'one' | 'other';
  de: 'one' | 'other';
  fr: 'one' | 'many' | 'other';
  nl: 'one' | 'other';
  pl: 'one' | 'few' | 'many' | 'other';
}
