/** Texts in the five languages: the type of a catalogue, placeholders, plurals, numbers and dates. */
import type { Locale, PluralCategory } from './scan/locales.ts';

/** A text for each plural category of any language; `{n}` is the number. */
export type Plural = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** A text for each plural category of one language. */
export type PluralOf<L extends Locale> = Record<PluralCategory<L>, string>;

export interface I18n<Texts> {
  locale: Locale;
  texts: Texts;
  /** Replaces the placeholders of a text. Numbers are formatted for the language. */
  format(text: string, values: Readonly<Record<string, string | number>>): string;
  /** The plural form for a number, with `{n}` and other placeholders replaced. */
  count(forms: Plural, n: number, values?: Readonly<Record<string, string | number>>): string;
  number(n: number): string;
  /** With two decimals, for a ratio: 4.48 must not look like 4.5. */
  ratio(n: number): string;
  /** Date and time in UTC, because readers are in different time zones. */
  date(iso: string | Date): string;
}

/** The formats of a language over its texts. */
export function i18nOver<Texts>(locale: Locale, texts: Texts): I18n<Texts> {
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const ratios = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  const plurals = new Intl.PluralRules(locale);
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  const number = (n: number): string => numbers.format(n);
  const format: I18n<Texts>['format'] = (text, values) =>
    text.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
      const value = values[name];
      return value === undefined ? placeholder : typeof value === 'number' ? number(value) : value;
    });
  return {
    locale,
    texts,
    format,
    count: (forms, n, values = {}) => format(forms[plurals.select(n)] ?? forms.other, { ...values, n }),
    number,
    ratio: (n) => ratios.format(n),
    date: (at) => `${dates.format(new Date(at))} UTC`,
  };
}
