/** The report's words in one language, with numbers, dates and plurals as that language writes them. */
import type { Locale } from '../../../core/scan/locales.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { fr } from './texts/fr.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import type { Plural, Texts } from './texts/texts.ts';

const ALL: Record<Locale, Texts> = { en, de, fr, nl, pl };

/** A language's texts, with their numbers put in as the language writes them. */
export interface I18n {
  locale: Locale;
  texts: Texts;
  /** Puts values in the places of a text; numbers are written in the language's way. */
  format(text: string, values: Record<string, string | number>): string;
  /** The right plural form, with `{n}`. */
  count(forms: Plural, n: number): string;
  number(n: number): string;
  /** Day and time, in UTC: a report is read in more than one place. */
  date(iso: string): string;
}

/** The words of one language. */
export function i18nOf(locale: Locale): I18n {
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const plurals = new Intl.PluralRules(locale);
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const number = (n: number): string => numbers.format(n);
  const format: I18n['format'] = (text, values) =>
    text.replace(/\{(\w+)\}/g, (place, name: string) => {
      const value = values[name];
      return value === undefined ? place : typeof value === 'number' ? number(value) : value;
    });
  return {
    locale,
    texts: ALL[locale],
    format,
    count: (forms, n) => format(forms[plurals.select(n)] ?? forms.other, { n }),
    number,
    date: (iso) => `${dates.format(new Date(iso))} UTC`,
  };
}
