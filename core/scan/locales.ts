/** Languages in which findings and reports are available. */
export const LOCALES = ['en', 'de', 'fr', 'nl', 'pl'] as const;
export type Locale = (typeof LOCALES)[number];
