/** The texts of all mails in one language. The compiler reports a missing text or plural form. */
import type { Plural, PluralOf } from '../../../../core/i18n.ts';
import type { AccountNotice } from '../../../../core/audit-actions.ts';
import type { Impact } from '../../../../core/scan/impacts.ts';
import type { Locale } from '../../../../core/scan/locales.ts';

/** `{…}` are placeholders. `site` is a host name, `host` the host of this installation. */
export interface MailTexts<P extends Plural = Plural> {
  /** The contract's disclaimer. */
  disclaimer: string;
  automatic: string;
  linkFallback: string;
  result: {
    page: string;
    testedAt: string;
    done: {
      subject: P;
      subjectNone: string;
      heading: string;
      score: string;
      outOf: string;
      summary: P;
      summaryNone: string;
      bySeverity: string;
      severity: string;
      number: string;
      total: string;
      worst: string;
      elements: P;
      why: string;
      fix: string;
      element: string;
      more: P;
      /** Parts of the page were not tested. */
      incomplete: string;
      button: string;
    };
    failed: { subject: string; heading: string; intro: string; details: string; todo: string; steps: readonly string[]; button: string };
    canceled: { subject: string; heading: string; intro: string; button: string };
    reason: string;
    unsubscribe: string;
    severities: Record<Impact, string>;
  };
  invitation: { subject: string; heading: string; intro: string; button: string; validUntil: string; ignore: string };
  /** What happened to an account: `{host}` in `intro`. */
  accountNotice: Record<AccountNotice, { subject: string; heading: string; intro: string }> & {
    at: string;
    network: string;
    browser: string;
    ignore: string;
    todo: string;
    steps: readonly string[];
    button: string;
  };
  passwordReset: { subject: string; heading: string; intro: string; button: string; validUntil: string; ignore: string };
}

/** The texts of one language, with each of its plural forms. */
export type MailTextsOf<L extends Locale> = MailTexts<PluralOf<L> & { other: string }>;
