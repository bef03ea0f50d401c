/** What users read about scans and reports on pages, in mails and in the PDF, in each language. */
import { type I18n, i18nOver, type Section, type Words } from './translated.ts';
import type { Locale } from '../../core/scan/locales.ts';
import * as de from './de.ts';
import * as en from './en.ts';
import * as fr from './fr.ts';
import * as nl from './nl.ts';
import * as pl from './pl.ts';

/** The catalogue of each language. The compiler names a language or a text that is missing; `words.test.ts` compares the placeholders. */
export const WORDS: Readonly<Record<Locale, { [S in Section]: Words<S> }>> = { en, de, fr, nl, pl };

/** A section with the formats of its language. */
export type WordsIn<S extends Section> = I18n<Words<S>>;
export type ReportWords = WordsIn<'report'>;

const made = new Map<string, unknown>();

/** Returns a section of a catalogue with the formats of its language. */
export function wordsIn<S extends Section>(locale: Locale, section: S): WordsIn<S> {
  const key = `${locale} ${section}`;
  if (!made.has(key)) made.set(key, i18nOver(locale, WORDS[locale][section]));
  return made.get(key) as WordsIn<S>;
}

/** A text as the beginning of a sentence. */
export const capitalized = (text: string, locale: Locale): string => `${text.charAt(0).toLocaleUpperCase(locale)}${text.slice(1)}`;
