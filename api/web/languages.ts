/** Languages in addresses: English pages have no prefix, the others have `/de`, `/fr`, `/nl` or `/pl`. */
import { DEFAULT_LOCALE, LOCALES, type Locale } from '../../core/scan/locales.ts';

/** The prefix of the addresses of a language, such as `/de`. */
export const prefixOf = (locale: Locale): string => (locale === DEFAULT_LOCALE ? '' : `/${locale}`);

/** Splits an address into its language and its path in English. */
export function splitLanguage(url: string): { locale: Locale; path: string } {
  const [, first, rest = ''] = /^\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  const locale = LOCALES.find((candidate) => candidate === first && candidate !== DEFAULT_LOCALE);
  if (locale === undefined) return { locale: DEFAULT_LOCALE, path: url };
  return { locale, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** The address of an English path in a language. */
export function inLanguage(locale: Locale, path: string): string {
  const prefix = prefixOf(locale);
  return prefix !== '' && path === '/' ? prefix : `${prefix}${path}`;
}
