import type { Locale } from '../../../core/scan/locales.ts';
import { wordsIn } from '../../../report/words/words.ts';

/** An estimated time in words: seconds up to a minute and a half, then minutes. */
export function aboutTime(seconds: number, locale: Locale): string {
  const { texts, count } = wordsIn(locale, 'publicPages');
  return seconds <= 90 ? count(texts.aboutSeconds, seconds) : count(texts.aboutMinutes, Math.ceil(seconds / 60));
}
