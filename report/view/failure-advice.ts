/** What axe-core says about an element, as paragraphs and lists. */
import { isEnglishMessage } from '../rule-texts/english-messages.ts';
import type { Locale } from '../../core/scan/locales.ts';

/** One part of a failure summary: what to do, and its options. `lang` is set if a text is not in the language of the report. */
export interface Advice {
  lead: string;
  lang?: string;
  points: { text: string; lang?: string }[];
}

/** Parses a failure summary of axe-core: one line per lead, with indented lines for its points. */
export function adviceOf(summary: string, locale: Locale): Advice[] {
  const advice: Advice[] = [];
  for (const line of summary.split('\n')) {
    const text = line.trim();
    if (text === '') continue;
    const last = advice.at(-1);
    const lang = locale !== 'en' && isEnglishMessage(text) ? { lang: 'en' } : {};
    if (/^\s/.test(line) && last !== undefined) last.points.push({ text, ...lang });
    else advice.push({ lead: text, ...lang, points: [] });
  }
  return advice;
}
