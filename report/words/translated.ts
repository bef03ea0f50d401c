/** Texts in the five languages: the types of catalogues, placeholders, plurals, numbers and dates. English is the pattern of the other languages. */
import type { Locale, PluralCategory } from '../../core/scan/locales.ts';
import type * as english from './en.ts';

/** A text for each plural category of any language; `{n}` is the number. */
export type Plural = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** A text for each plural category of one language. */
type PluralOf<L extends Locale> = Record<PluralCategory<L>, string>;

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
  /** Date and time. @param timeZone of the reader. Default: UTC, because readers are in different time zones */
  date(iso: string | Date, timeZone?: string): string;
  /** Date and time in UTC, with a month of three letters or a number. */
  shortDate(iso: string | Date): string;
}

/** The formats of a language over its texts. */
export function i18nOver<Texts>(locale: Locale, texts: Texts): I18n<Texts> {
  const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
  const ratios = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  const plurals = new Intl.PluralRules(locale);
  const datesIn = (timeZone: string) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone });
  const dates = datesIn('UTC');
  const shortDates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
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
    date: (at, zone = 'UTC') =>
      zone === 'UTC' ? `${dates.format(new Date(at))} UTC` : `${datesIn(zone).format(new Date(at))} (${zone.replaceAll('_', ' ')})`,
    shortDate: (at) => `${shortDates.format(new Date(at))} UTC`,
  };
}

/** The sections of a catalogue. */
export type Section = keyof typeof english;

/** A section in any language. */
export type Words<S extends Section> = WithPlurals<(typeof english)[S], Plural>;

/** A section in one language: each text of the English one, each plural with all forms of the language. */
export type Translated<S extends Section, L extends Locale> = WithPlurals<(typeof english)[S], PluralOf<L>>;

type WithPlurals<Texts, Forms> = Texts extends string
  ? string
  : Texts extends { other: string }
    ? Forms
    : { readonly [Key in keyof Texts]: WithPlurals<Texts[Key], Forms> };
