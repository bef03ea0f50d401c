/** The texts of the report in one language, with its formats of numbers, dates and plurals. */
import { i18nOver, type I18n as I18nOver } from '../../../core/i18n.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { fr } from './texts/fr.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import type { Texts } from './texts/texts.ts';

const ALL: Record<Locale, Texts> = { en, de, fr, nl, pl };

export type I18n = I18nOver<Texts>;

export const i18nOf = (locale: Locale): I18n => i18nOver(locale, ALL[locale]);
