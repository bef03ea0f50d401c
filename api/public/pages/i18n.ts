/** The texts of the public pages in each language. */
import type { I18n } from '../../../core/i18n.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { perLocale } from '../../web/i18n.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { fr } from './texts/fr.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import type { PublicTexts } from './texts/texts.ts';

export const PUBLIC_TEXTS: Readonly<Record<Locale, PublicTexts>> = { en, de, fr, nl, pl };

export const publicI18n: (locale: Locale) => I18n<PublicTexts> = perLocale(PUBLIC_TEXTS);

/** How a page is named in titles: its host, and its path if it has one. */
export function siteName(url: string): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname } = new URL(url);
  return pathname === '/' ? host : `${host}${pathname}`;
}
