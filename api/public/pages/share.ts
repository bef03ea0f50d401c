/** What readers of a result can take with them: the PDF, and, if it is their own result, a link for others. */
import type { FastifyRequest } from 'fastify';
import { sharedPath } from '../../../core/web-paths.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { wordsIn } from '../../../report/words/words.ts';
import type { PublicScan } from '../../../stores/scans/public-scans.ts';
import * as ui from '../../web/components.ts';
import { html, type Html } from '../../web/html.ts';
import { inLanguage } from '../../web/languages.ts';

/** Who reads a result: the visitor, whose token may also share it, or somebody with the link. */
export type Access = 'own' | 'shared';

/** The address of a result without its language, from which those of its parts are made. */
export const resultBase = ({ token, share = '' }: Pick<PublicScan, 'token' | 'share'>, access: Access): string =>
  access === 'own' ? `/scan/${token}` : `/shared/${share}`;

/** The address of a picture of a result. It is the same in every language. */
export const picturePath = (base: string, name: string): string => `${base}/pictures/${name}`;

export const pdfPath = (base: string): string => `${base}/report.pdf`;

/** Where the form that shares a result is sent. */
export const sharePath = (token: string): string => `/scan/${token}/share`;

export interface ShareOptions {
  request: FastifyRequest;
  locale: Locale;
  scan: PublicScan;
  access: Access;
}

export function shareSection({ request, locale, scan, access }: ShareOptions): Html {
  const { texts, format, date } = wordsIn(locale, 'publicPages');
  const { share } = texts;
  const form = (action: 'create' | 'revoke'): Html =>
    html`<form method="post" action="${inLanguage(locale, sharePath(scan.token))}">${ui.button({ text: share[action], name: 'action', value: action })}</form>`;
  return html`<section id="share" aria-labelledby="share-title">
    <h2 id="share-title">${share.title}</h2>
    ${ui.actions(ui.linkButton({ text: share.pdf, href: pdfPath(resultBase(scan, access)) }))}
    ${access === 'own' && scan.share === undefined && html`<p>${share.private}</p>${form('create')}`}
    ${
      access === 'own' &&
      scan.share !== undefined &&
      html`<p>${format(share.shared, { date: date(scan.expiresAt) })}</p>
        ${ui.code({ id: 'share-link', text: request.server.web.publicBaseUrl + sharedPath(locale, scan.share), label: share.link, inline: true, locale })}
        ${form('revoke')}`
    }
  </section>`;
}
