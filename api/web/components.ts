/** Components of pages. Here are those that reports do not have: empty states, tabs, breadcrumbs, progress, charts, dialogs, QR codes. */
import encode from 'qr';
import type { Locale } from '../../core/scan/locales.ts';
import { t } from './texts.ts';
import { currentLocale } from '../../report/words/current.ts';
import { attributes, html, type Html, type HtmlValue, NOTHING } from '../../report/html/html.ts';
import { wordsIn } from '../../report/words/words.ts';
import { button, type ButtonKind, safeHref } from '../../report/html/elements.ts';

export * from '../../report/html/blocks.ts';
export * from '../../report/html/elements.ts';
export * from './fields.ts';

/** A list that is empty: why, and what to do. */
export const emptyState = (options: { title: HtmlValue; text: HtmlValue; action?: Html }): Html =>
  html`<div class="empty">
    <p class="empty-title">${options.title}</p>
    <p>${options.text}</p>
    ${options.action}
  </div>`;

export interface Tab {
  text: HtmlValue;
  href: string;
  current?: boolean;
}

/** Tabs that are links: each has its own address. */
export const tabs = (label: string, items: readonly Tab[]): Html =>
  html`<nav class="tabs" aria-label="${label}">
    <ul>
      ${items.map(({ text, href, current }) => html`<li><a${attributes({ href: safeHref(href), 'aria-current': current ? 'page' : undefined })}>${text}</a></li>`)}
    </ul>
  </nav>`;

/** The way to this page. The last item is the page itself and has no link. */
export const breadcrumb = (items: readonly { text: HtmlValue; href?: string }[], locale: Locale = currentLocale()): Html =>
  html`<nav class="breadcrumb" aria-label="${wordsIn(locale, 'site').texts.youAreHere}">
    <ol>
      ${items.map(({ text, href }) =>
        href === undefined ? html`<li aria-current="page">${text}</li>` : html`<li><a href="${safeHref(href)}">${text}</a></li>`,
      )}
    </ol>
  </nav>`;

/** A progress bar with its label. `value` is null while it is unknown. */
export function progress(options: { label: HtmlValue; value: number | null; max: number; text: HtmlValue; id?: string }): Html {
  const { label, value, max, text, id = 'progress' } = options;
  return html`<div class="progress">
    <label for="${id}">${label}</label>
    <progress${attributes({ id, max, value })}></progress>
    <p class="hint">${text}</p>
  </div>`;
}

/** A chart as SVG with its caption, and the same figures as a table. */
export const chartFrame = (options: { caption: HtmlValue; svg: Html; tableSummary: HtmlValue; table: Html }): Html =>
  html`<figure class="chart">
    <figcaption>${options.caption}</figcaption>
    <div class="chart-drawing">${options.svg}</div>
    <details>
      <summary>${options.tableSummary}</summary>
      ${options.table}
    </details>
  </figure>`;

interface ConfirmOptions {
  id: string;
  /** Where the form is sent. */
  action: string;
  /** Hidden fields, such as the CSRF token. */
  fields?: HtmlValue;
  trigger: { text: HtmlValue; kind?: ButtonKind; hiddenText?: string };
  title: HtmlValue;
  text: HtmlValue;
  confirm: HtmlValue;
  cancel: HtmlValue;
  kind?: ButtonKind;
}

/** A form with one button that asks before it is sent. Without scripts it is sent at once. */
export function confirmedForm(options: ConfirmOptions): Html {
  const { id, action, fields, trigger, title, text, confirm, cancel, kind = 'danger' } = options;
  return html`<form${attributes({ id, method: 'post', action, 'data-confirm': `${id}-dialog` })}>
    ${fields}${button(trigger)}
    <dialog${attributes({ id: `${id}-dialog`, class: 'dialog', 'aria-labelledby': `${id}-title`, 'aria-describedby': `${id}-text` })}>
      <h2 id="${id}-title">${title}</h2>
      <p id="${id}-text">${text}</p>
      <div class="actions">
        ${button({ text: confirm, kind, attributes: { 'data-confirmed': true } })}
        ${button({ text: cancel, type: 'button', attributes: { 'data-close': true } })}
      </div>
    </dialog>
  </form>`;
}

/**
 * A part of the page that is refreshed while it has an address: the script fetches the address, and replaces the part by the
 * element of the same id. A change of `announce` is read by screen readers. Without scripts the page shows `fallback`.
 */
export function live(options: {
  id: string;
  url: string | null;
  seconds: number;
  announce: string;
  body: HtmlValue;
  fallback?: HtmlValue;
}): Html {
  const { id, url, seconds, announce, body, fallback } = options;
  return html`<div${attributes({ id, 'data-live': url, 'data-seconds': url === null ? null : seconds, 'data-announce': announce })}>
    ${body}${url !== null && fallback !== undefined && html`<noscript>${fallback}</noscript>`}
  </div>`;
}

/**
 * The filters of a list. On narrow screens they are folded, unless some are set.
 * @param active the number of filters that are set
 */
export const filters = ({ form, active }: { form: Html; active: number }): Html =>
  html`<details${attributes({ class: 'filters folded-when-narrow', open: active > 0 })}>
    <summary>${active > 0 ? t`Filters (${active} set)` : t`Filters`}</summary>
    ${form}
  </details>`;

/** Links to the previous and the next part of a list. Null: there is none. @param options.words default: those of the locale */
export function pagination(options: {
  previous: string | null;
  next: string | null;
  locale?: Locale;
  words?: { previous: string; next: string };
}): Html {
  const { previous, next, locale = currentLocale() } = options;
  if (previous === null && next === null) return NOTHING;
  const texts = { ...wordsIn(locale, 'site').texts, ...options.words };
  return html`<nav class="pagination" aria-label="${texts.pages}">
    ${previous !== null && html`<a class="button button-secondary" rel="prev" href="${safeHref(previous)}">${texts.previous}</a>`}
    ${next !== null && html`<a class="button button-secondary" rel="next" href="${safeHref(next)}">${texts.next}</a>`}
  </nav>`;
}

/** The empty modules around the code that readers need. */
const BORDER = 4;

/**
 * A QR code as SVG: dark on light in both modes, because many readers do not read the reverse.
 * @param label what it contains, for screen readers
 */
export function qrCode(text: string, label: string): Html {
  const rows = encode(text, 'raw', { border: BORDER });
  const path = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg${attributes({ class: 'qr-code', viewBox: `0 0 ${rows.length} ${rows.length}`, role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' })}>
    <rect width="100%" height="100%" fill="#fff" /><path d="${path}" fill="#000" />
  </svg>`;
}
