/** Dates in UTC, with the machine-readable form. */
import type { Locale } from '../../../core/scan/locales.ts';
import { html, type Html } from '../html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../languages.ts';

/** A date and time with "UTC". */
export function time(at: Date | string, locale: Locale = DEFAULT_LOCALE): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${wordsIn(locale, 'site').date(iso)}</time>`;
}
