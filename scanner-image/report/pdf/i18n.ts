/** The texts of the report in one language, with its formats of numbers, dates and plurals. */
import type { Locale } from '../../../core/scan/locales.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { fr } from './texts/fr.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import type { Plural, Texts } from './texts/texts.ts';

const ALL: Record<Locale, Texts> = { en, de, fr, nl, pl };

export interface I18n {
  locale: Locale;
  texts: Texts;
  /** Replaces the placeholders of a text. Numbers are formatted for the language. */
  format(text: string, values: Record<string, string | number>): string;
  /** The plural form for a number, with `{n}` replaced. */
  count(forms: Plural, n: number): string;
  number(n: number): string;
  /** Date and time in UTC, because readers are in different time zones. */
  date(iso: string): string;
}

export function i18nOf(locale: Locale): I18n {
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const plurals = new Intl.PluralRules(locale);
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const number = (n: number): string => numbers.format(n);
  const format: I18n['format'] = (text, values) =>
    text.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
      const value = values[name];
      return value === undefined ? placeholder : typeof value === 'number' ? number(value) : value;
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
