/** The language of the reader for whom a page is made, so that pages need not hand it to each of their parts. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { DEFAULT_LOCALE, type Locale } from '../../core/scan/locales.ts';

const readers = new AsyncLocalStorage<{ locale: Locale }>();

/** The language of what is written now: English where nobody set another. */
export const currentLocale = (): Locale => readers.getStore()?.locale ?? DEFAULT_LOCALE;

/** Runs a function, and all that it starts, in the language of a reader, which may become known meanwhile. */
export const inLanguageOf = <T>(reader: { locale: Locale }, run: () => T): T => readers.run(reader, run);
