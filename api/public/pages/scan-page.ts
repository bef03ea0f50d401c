/** The page of a public scan: its state while it runs, then its result, at the same address. */
import type { FastifyRequest } from 'fastify';
import type { ReportView } from '../../../report/view/view.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { failureKindOf, isTerminal, LIVE_PHASES, type LivePhase, withoutCharge } from '../../../core/scan/phases.ts';
import { addressToType } from '../../../core/scan/site.ts';
import type { PublicScan } from '../../../stores/scans/public-scans.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import * as ui from '../../web/components.ts';
import { attributes, html, type Html } from '../../../report/html/html.ts';
import { inLanguage } from '../../web/languages.ts';
import { publicPage } from '../../web/layout.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { sharedPath } from '../../../core/web-paths.ts';
import { aboutTime } from './home.ts';
import { resultBody } from './result.ts';

/** How often the page refreshes itself, in seconds. */
const REFRESH_SECONDS = 3;

export interface ScanPageOptions {
  request: FastifyRequest;
  locale: Locale;
  scan: PublicScan;
  /** Null if its row was removed. */
  row: Pick<ScanRow, 'phase' | 'message' | 'reason' | 'options'> | null;
  position: QueuePosition | undefined;
  /** The estimated seconds until the result is there. Null: unknown. */
  seconds: number | null;
  /** Whether the result is sent by mail: false if the address unsubscribed or bounced. */
  mailed: boolean;
  access: Access;
  /** Of a scan that is done; null if it has none. */
  view: ReportView | null;
}

interface Content {
  title: string;
  /** What screen readers say when the page changes to this. */
  announce: string;
  body: Html;
}

export function scanPage(options: ScanPageOptions): Html {
  const { request, locale, scan, row } = options;
  const { title, announce, body } = contentOf(options);
  const live = row !== null && !isTerminal(row.phase);
  const { waiting } = wordsIn(locale, 'publicPages').texts;
  const address = inLanguage(locale, resultBase(scan, options.access));
  return publicPage({
    request,
    locale,
    title,
    body: ui.live({
      id: 'scan',
      url: live ? address : null,
      seconds: REFRESH_SECONDS,
      announce,
      body,
      // A link and no automatic refresh: a page that reloads itself interrupts screen readers (WCAG technique F41).
      fallback: html`<p>${waiting.noScripts}</p>${ui.actions(ui.linkButton({ text: waiting.again, href: address }))}`,
    }),
  });
}

function contentOf(options: ScanPageOptions): Content {
  const { locale, scan, row, view } = options;
  const { texts, format } = wordsIn(locale, 'publicPages');
  const site = ui.siteName(scan.url);
  if (row !== null && !isTerminal(row.phase)) return waitingContent(options, row.phase);
  if (view !== null) {
    const title = format(texts.result.title, { site });
    const base = resultBase(scan, options.access);
    return {
      title,
      announce: texts.result.ready,
      body: html`${resultBody({ ...options, view, pictureHref: (name) => picturePath(base, name) })}${shareSection(options)}
        <section aria-labelledby="again-title">
          <h2 id="again-title">${texts.result.anotherTitle}</h2>
          ${testAgain(options)}
        </section>`,
    };
  }
  if (row?.phase === 'failed') {
    const title = format(texts.failed.title, { site });
    const kind = failureKindOf(row.reason);
    return ended(options, title, [texts.failed.reasons[kind], ...(kind === 'ours' ? [texts.failed.notCounted] : [])], row.message);
  }
  if (row?.phase === 'canceled')
    return ended(options, format(texts.canceled.title, { site }), [texts.canceled.text, texts.failed.notCounted], null);
  return ended(options, texts.result.missing.title, [texts.result.missing.text], null);
}

function waitingContent({ locale, scan, position, seconds, mailed, access }: ScanPageOptions, phase: LivePhase): Content {
  const { texts, format, count } = wordsIn(locale, 'publicPages');
  const { waiting } = texts;
  const title = format(waiting.title, { site: ui.siteName(scan.url) });
  const state = waiting.states[phase];
  const before = position?.position == null ? null : position.position - 1;
  const line = before === null ? null : before === 0 ? waiting.next : count(waiting.position, before);
  const promises = [
    ...(seconds === null ? [] : [format(waiting.estimate, { time: aboutTime(seconds, locale) })]),
    ...(access === 'own' ? [mailed ? waiting.mail : waiting.noMail] : []),
  ];
  const body = html`<div class="narrow">
    <h1>${title}</h1>
    <p class="lead">${promises.join(' ')}</p>
    ${ui.progress({
      label: waiting.progress,
      value: phase === 'queued' ? null : LIVE_PHASES.indexOf(phase),
      max: LIVE_PHASES.length,
      text: line === null ? state : `${state}. ${line}`,
    })}
    ${stateList(phase, locale)}
  </div>`;
  return { title, announce: line === null ? state : `${state}. ${line}`, body };
}

/** The states in their order; the current one is marked. */
function stateList(phase: LivePhase, locale: Locale): Html {
  const { waiting } = wordsIn(locale, 'publicPages').texts;
  const now = LIVE_PHASES.indexOf(phase);
  return html`<ol class="steps" aria-label="${waiting.state}">${LIVE_PHASES.map((one, at) =>
    at === now
      ? html`<li class="step step-now" aria-current="step">${waiting.states[one]}</li>`
      : html`<li class="${at < now ? 'step step-past' : 'step'}">${waiting.states[one]}</li>`,
  )}</ol>`;
}

/** A scan without a result. @param message that of the scanner, in English */
function ended(options: ScanPageOptions, title: string, [lead, ...more]: string[], message: string | null): Content {
  const { locale } = options;
  const { details } = wordsIn(locale, 'publicPages').texts.failed;
  const body = html`<div class="narrow">
    <h1>${title}</h1>
    <p class="lead">${lead}</p>
    ${more.map((text) => html`<p>${text}</p>`)}
    ${
      message !== null &&
      html`<details>
        <summary>${details}</summary>
        <p${attributes({ lang: locale === 'en' ? undefined : 'en' })}>${withoutCharge(message)}</p>
      </details>`
    }
    ${testAgain(options)}
  </div>`;
  return { title, announce: title, body };
}

function testAgain({ locale, scan, row, view }: ScanPageOptions): Html {
  const { texts } = wordsIn(locale, 'publicPages');
  // Where the page was, which may be http://. Without a result, the form tries both again if it did before.
  const url = view?.pages[0]?.url ?? (row === null ? scan.url : addressToType(row.options));
  const home = inLanguage(locale, '/');
  return ui.actions(
    ui.linkButton({ text: texts.again, href: `${home}?url=${encodeURIComponent(url)}`, kind: 'primary' }),
    ui.linkButton({ text: texts.result.another, href: home }),
  );
}

/** The page for a token that is unknown or has expired. */
export function unknownScanPage(request: FastifyRequest, locale: Locale): Html {
  const { texts } = wordsIn(locale, 'publicPages');
  const { title, text } = texts.unknown;
  return publicPage({
    request,
    locale,
    title,
    body: html`<div class="narrow">
      <h1>${title}</h1>
      <p class="lead">${text}</p>
      ${ui.actions(ui.linkButton({ text: texts.home.formTitle, href: inLanguage(locale, '/'), kind: 'primary' }))}
    </div>`,
  });
}

/** Who reads a result: the visitor, whose token may also share it, or somebody with the link. */
export type Access = 'own' | 'shared';

/** The address of a result without its language, from which those of its parts are made. */
const resultBase = ({ token, share = '' }: Pick<PublicScan, 'token' | 'share'>, access: Access): string =>
  access === 'own' ? `/scan/${token}` : `/shared/${share}`;

/** The address of a picture of a result. It is the same in every language. */
export const picturePath = (base: string, name: string): string => `${base}/pictures/${name}`;

export const pdfPath = (base: string): string => `${base}/report.pdf`;

/** Where the form that shares a result is sent. */
export const sharePath = (token: string): string => `/scan/${token}/share`;

interface ShareOptions {
  request: FastifyRequest;
  locale: Locale;
  scan: PublicScan;
  access: Access;
}

function shareSection({ request, locale, scan, access }: ShareOptions): Html {
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
