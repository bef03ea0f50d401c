/** The texts of layouts, components and error pages. */
import type { Plural, PluralOf } from '../../../core/i18n.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import type { Impact } from '../../../core/scan/impacts.ts';

/** The texts of any language. */
export type WebTexts = TextsWith<Plural>;
/** The texts of one language, with all its plural forms. */
export type WebTextsOf<L extends Locale> = TextsWith<PluralOf<L>>;

/** A page that says what went wrong and what to do. */
export interface ErrorText {
  title: string;
  text: string;
}

/**
 * The errors that have a page of their own. `invalid` stands for every other 4xx. `unconfirmed`: a dependency failed while
 * something was changed, so that the change may or may not have been made.
 */
export const PAGE_ERRORS = [
  'invalid',
  'forbidden',
  'blocked',
  'missing',
  'method',
  'tooLarge',
  'expired',
  'crossSite',
  'tooMany',
  'internal',
  'unavailable',
  'unconfirmed',
  'busy',
] as const;
export type PageError = (typeof PAGE_ERRORS)[number];

interface TextsWith<Forms> {
  skip: string;
  language: string;
  mainNavigation: string;
  home: string;
  apiReference: string;
  signIn: string;
  dashboard: string;
  /** The sentence in the footer. */
  footer: string;
  copy: string;
  copied: string;
  /** After a failed copy. */
  copyFailed: string;
  optional: string;
  problem: Forms;
  previous: string;
  next: string;
  pages: string;
  /** Before the path of a breadcrumb. */
  youAreHere: string;
  severities: Record<Impact, string>;
  errors: Record<PageError, ErrorText>;
  /** `{id}` */
  requestId: string;
  goHome: string;
  goBack: string;
  retryIn: Forms;
}
