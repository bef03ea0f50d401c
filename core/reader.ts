/** In which language, and with the times of which zone, a person reads. */
import { DEFAULT_LOCALE, LOCALES, type Locale } from './scan/locales.ts';

export interface Reader {
  locale: Locale;
  /** A name of the IANA time zone database. */
  timeZone: string;
}

/** The zone of most people who read a language, for those who chose none. English is read everywhere. */
const ZONES: Readonly<Record<Locale, string>> = {
  en: 'UTC',
  de: 'Europe/Berlin',
  fr: 'Europe/Paris',
  nl: 'Europe/Amsterdam',
  pl: 'Europe/Warsaw',
};

/** Completes what a person chose. */
export function readerOf({ locale, timeZone }: { locale: Locale | null; timeZone: string | null }): Reader {
  const language = locale ?? DEFAULT_LOCALE;
  return { locale: language, timeZone: timeZone ?? ZONES[language] };
}

/** The language that a browser asks for. @param header its Accept-Language */
export function preferredLocale(header: string | undefined): Locale {
  const ranked = (header ?? '').split(',').map((part) => {
    const [tag = '', quality] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return { language: tag.split('-')[0]!, weight: Number(quality ?? 1) };
  });
  const known = ranked.filter(({ language, weight }) => weight > 0 && LOCALES.some((one) => one === language));
  return (known.sort((a, b) => b.weight - a.weight)[0]?.language as Locale | undefined) ?? DEFAULT_LOCALE;
}
