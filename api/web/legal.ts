/** The operator's own pages, which laws require: the legal notice (imprint) and the privacy policy. */
import type { Static } from 'typebox';
import type { Locale } from '../../core/scan/locales.ts';
import { Type } from '../../platform/configuration.ts';
import { httpUrl } from '../../platform/settings.ts';
import { html, type Html } from '../../report/html/html.ts';
import { wordsIn } from '../../report/words/words.ts';

export const LegalSettings = {
  IMPRINT_URL: Type.Optional(httpUrl('the address of your legal notice (imprint), which pages and mails link to')),
  PRIVACY_URL: Type.Optional(httpUrl('the address of your privacy policy, which pages and mails link to')),
};

/** Their addresses, as far as they are set. */
export interface LegalLinks {
  imprint?: string;
  privacy?: string;
}

export const legalLinksOf = ({
  IMPRINT_URL,
  PRIVACY_URL,
}: Partial<Static<ReturnType<typeof Type.Object<typeof LegalSettings>>>>): LegalLinks => ({
  ...(IMPRINT_URL !== undefined && { imprint: IMPRINT_URL }),
  ...(PRIVACY_URL !== undefined && { privacy: PRIVACY_URL }),
});

/** The links in the order in which they are shown. */
export function legalLinks({ imprint, privacy }: LegalLinks, locale: Locale): { text: string; url: string }[] {
  const { texts } = wordsIn(locale, 'site');
  const all = [
    { text: texts.imprint, url: imprint },
    { text: texts.privacy, url: privacy },
  ];
  return all.flatMap(({ text, url }) => (url === undefined ? [] : [{ text, url }]));
}

export const legalFooter = (links: LegalLinks, locale: Locale): Html[] =>
  legalLinks(links, locale).map(({ text, url }) => html`<p><a href="${url}">${text}</a></p>`);
