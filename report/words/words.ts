/** What people read about scans and reports on pages, in mails and in the PDF, in each language. */
import { i18nOver, type I18n } from '../../core/i18n.ts';
import type { Locale } from '../../core/scan/locales.ts';
import * as catalogues from './catalogues.ts';
import type { Section, Words } from './translated.ts';

/** The catalogue of each language. The compiler names a language or a text that is missing; `words.test.ts` compares the placeholders. */
export const WORDS: Readonly<Record<Locale, { [S in Section]: Words<S> }>> = catalogues;

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
