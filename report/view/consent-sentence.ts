import type { Locale } from '../../core/scan/locales.ts';
import { wordsIn } from '../words/words.ts';
import type { ReportConsent } from '../results/consent.ts';

/** Describes in one sentence what was answered to the dialog that asks for consent to cookies. */
export function consentSentence({ action, outcome, product, url }: ReportConsent, locale: Locale): string {
  const { texts, format } = wordsIn(locale, 'report');
  return format(texts.consent[outcome === 'answered' ? action : outcome], { product: product ?? '', url });
}
