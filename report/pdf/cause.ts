/** What the cards of root causes share. */
import type { CauseText } from '../view/cause-texts.ts';
import type { ReportGroup, ReportRule } from '../schema/schema.ts';
import type { ReportWords } from '../words/words.ts';
import { PAGE } from './tagged-document.ts';

/** A card continues on the next page if more than this would stay empty otherwise: a quarter of a page, in points. */
export const SPLIT_ABOVE = (PAGE.height - PAGE.top - PAGE.bottom) / 4;
/** Between two columns, in points. */
export const GAP = 14;

/** What all cards of a report share. */
export interface CauseContext {
  i18n: ReportWords;
  /** The URL of the scan. Pages on the same site are named by their path. */
  site: string;
  /** Standards by the ID of a rule. */
  rules: ReadonlyMap<string, ReportRule>;
  /** JPEGs by fingerprint, with the page that each one shows. */
  pictures: ReadonlyMap<string, { jpeg: Uint8Array; pageUrl: string }>;
}

/** What a card is about: a cause to fix, or elements that a person must check. */
export interface Card {
  kind: 'violation' | 'review';
  group: ReportGroup;
  text: CauseText;
  /** The heading: the title with the element and, for a cause to fix, its number. */
  title: string;
  /** The named destination of the card. */
  place?: string;
}
