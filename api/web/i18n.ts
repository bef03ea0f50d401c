/** The texts of layouts, components and error pages in each language. */
import { i18nOver, type I18n } from '../../core/i18n.ts';
import { LOCALES, type Locale } from '../../core/scan/locales.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { fr } from './texts/fr.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import type { WebTexts } from './texts/texts.ts';

/** Texts and formats of a language, made once. */
export function perLocale<Texts>(texts: Readonly<Record<Locale, Texts>>): (locale: Locale) => I18n<Texts> {
  const made = new Map(LOCALES.map((locale) => [locale, i18nOver(locale, texts[locale])]));
  return (locale) => made.get(locale)!;
}

export type WebI18n = I18n<WebTexts>;

/** The texts of layouts and components. */
export const webI18n: (locale: Locale) => WebI18n = perLocale<WebTexts>({ en, de, fr, nl, pl });
