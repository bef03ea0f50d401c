/** What a partial report says about itself, in the PDF, in comments, in formats and on pages. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { wordsIn } from '../words/words.ts';

/** The sentence that tells readers that the report of a canceled scan does not have all pages. */
export const partialSentence = (locale: Locale): string => wordsIn(locale, 'report').texts.partialReportDetail;
