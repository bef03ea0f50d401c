/** Components of pages. Here are the blocks: notices, cards, empty states, tabs, breadcrumbs, progress, code, charts, dialogs, tables. */
import type { Locale } from '../../core/scan/locales.ts';
import { attributes, html, type Html, type HtmlValue, NOTHING } from './html.ts';
import { wordsIn } from '../../report/words/words.ts';
import { DEFAULT_LOCALE } from './languages.ts';
import { button, type ButtonKind, safeHref } from './elements.ts';

export * from './elements.ts';
export * from './fields.ts';

export type NoticeKind = 'note' | 'good' | 'warn' | 'bad';

/** A message in the page. `announce` makes screen readers read it when the page opens: for the result of what a person did. */
export function notice(options: { kind?: NoticeKind; title?: HtmlValue; body?: HtmlValue; announce?: boolean; id?: string }): Html {
  const { kind = 'note', title, body, announce = false, id } = options;
  const role = announce ? (kind === 'bad' ? 'alert' : 'status') : undefined;
  return html`<div${attributes({ class: `notice notice-${kind}`, role, id })}>
    ${title !== undefined && html`<p class="notice-title">${title}</p>`}${body !== undefined && html`<div>${body}</div>`}
  </div>`;
}

export function card(options: { title?: HtmlValue; level?: 2 | 3; body: HtmlValue; id?: string }): Html {
  const { title, level = 2, body, id } = options;
  const heading = title === undefined ? undefined : level === 2 ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`;
  return html`<section${attributes({ class: 'card', id })}>${heading}${body}</section>`;
}

/** A card that is closed at first: its heading opens it, without scripts too. */
export const foldedCard = (options: { title: HtmlValue; body: HtmlValue; id: string }): Html =>
  html`<details class="card folded" id="${options.id}">
    <summary><h2 id="${options.id}-title">${options.title}</h2></summary>
    ${options.body}
  </details>`;

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
export const breadcrumb = (items: readonly { text: HtmlValue; href?: string }[], locale: Locale = DEFAULT_LOCALE): Html =>
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

/** A figure with its meaning, such as a score. */
export const figure = (options: { value: HtmlValue; label: HtmlValue; of?: HtmlValue; kind?: NoticeKind }): Html =>
  html`<p${attributes({ class: `figure figure-${options.kind ?? 'plain'}` })}>
    <span class="figure-value">${options.value}</span>${options.of !== undefined && html` <span class="figure-of">${options.of}</span>`}
    <span class="figure-label">${options.label}</span>
  </p>`;

interface CodeOptions {
  text: string;
  id: string;
  label: string;
  /** Whether there is a button that copies it. Default: yes. */
  copy?: boolean;
  /** Within a line. */
  inline?: boolean;
  /** As high as the text, so that it never scrolls and needs no focus. */
  whole?: boolean;
  locale?: Locale;
}

/** Code that is shown as text, with a button that copies it. The button needs scripts and is hidden without them. */
export function code({ text, id, label, copy = true, inline = false, whole = false, locale = DEFAULT_LOCALE }: CodeOptions): Html {
  const { texts } = wordsIn(locale, 'site');
  const shown = inline
    ? html`<code${attributes({ id, class: 'code-line', translate: 'no' })}>${text}</code>`
    : html`<pre${attributes(whole ? {} : { tabindex: 0, role: 'group', 'aria-label': label })}><code${attributes({ id, translate: 'no' })}>${text}</code></pre>`;
  const copyButton = button({
    text: texts.copy,
    hiddenText: label,
    kind: 'quiet',
    type: 'button',
    attributes: { hidden: true, 'data-copy': id, 'data-copied': texts.copied, 'data-failed': texts.copyFailed },
  });
  return html`<div class="${inline ? 'code code-inline' : whole ? 'code code-whole' : 'code'}">${shown}${copy && copyButton}</div>`;
}

/** A picture of an element in its surroundings, from a scan's report. It loads when it comes into view. */
export const elementPicture = (options: { src: string; alt: string; picture: { width: number; height: number } }): Html =>
  html`<p class="element-picture">
    <img${attributes({ src: options.src, alt: options.alt, width: options.picture.width, height: options.picture.height, loading: 'lazy', decoding: 'async' })} />
  </p>`;

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

export interface Column {
  /** The heading, which narrow screens show in front of each of its cells. */
  text: string;
  /** Numbers stand at the end of their column. */
  numeric?: boolean;
  /** The text of the heading is for screen readers only, such as that of a column of buttons. */
  hidden?: boolean;
  /** On narrow screens, the cell has a line of its own: for long texts, addresses and forms. Default: whether the heading is hidden. */
  wide?: boolean;
  /** The class of its cells. */
  class?: string;
}

/** The cells of a row, with an id if the row is found again when the page is refreshed. */
export type TableRow = readonly HtmlValue[] | { id: string; cells: readonly HtmlValue[] };

export interface TableOptions {
  caption: HtmlValue;
  /** The caption is for screen readers only, because a heading above says the same. */
  captionHidden?: boolean;
  columns: readonly Column[];
  /** The first cell of each row is its header. */
  rows: readonly TableRow[];
  id: string;
  bodyId?: string;
}

/**
 * A table. On narrow screens each row is a card: its header, and below it the other cells with the headings of their columns. The
 * roles repeat those of the elements, because browsers may drop these when a style sheet shows rows as cards.
 */
export function table({ caption, captionHidden = false, columns, rows, id, bodyId }: TableOptions): Html {
  const label = captionHidden ? html`<span class="visually-hidden">${caption}</span>` : caption;
  const heads = columns.map(
    ({ text, hidden, ...column }) =>
      html`<th${attributes({ scope: 'col', role: 'columnheader', class: classOf(column) })}>${hidden ? html`<span class="visually-hidden">${text}</span>` : text}</th>`,
  );
  return html`<div class="table-frame" role="group" tabindex="0" aria-labelledby="${id}-caption">
    <table${attributes({ id, role: 'table' })}>
      <caption id="${id}-caption">${label}</caption>
      <thead role="rowgroup"><tr role="row">${heads}</tr></thead>
      <tbody${attributes({ id: bodyId, role: 'rowgroup' })}>${rows.map((row) => tableRow(row, columns))}</tbody>
    </table>
  </div>`;
}

function tableRow(row: TableRow, columns: readonly Column[]): Html {
  const { id, cells } = 'cells' in row ? row : { id: undefined, cells: row };
  return html`<tr${attributes({ id, role: 'row' })}>
    ${cells.map((cell, at) => {
      const { text, hidden = false, wide = hidden, ...column } = columns[at]!;
      if (at === 0) return html`<th${attributes({ scope: 'row', role: 'rowheader', class: classOf(column) })}>${cell}</th>`;
      const label = hidden ? undefined : text;
      return html`<td${attributes({ role: 'cell', class: classOf({ ...column, wide }), 'data-label': label })}>${cell}</td>`;
    })}
  </tr>`;
}

function classOf({ numeric, wide, class: name }: Pick<Column, 'numeric' | 'wide' | 'class'>): string | undefined {
  return [numeric && 'numeric', wide && 'wide', name].filter(Boolean).join(' ') || undefined;
}

/**
 * The filters of a list. On narrow screens they are folded, unless some are set.
 * @param active the number of filters that are set
 */
export const filters = ({ form, active }: { form: Html; active: number }): Html =>
  html`<details${attributes({ class: 'filters folded-when-narrow', open: active > 0 })}>
    <summary>Filters${active > 0 && ` (${active} set)`}</summary>
    ${form}
  </details>`;

export const definitions = (entries: readonly (readonly [term: HtmlValue, value: HtmlValue])[]): Html =>
  html`<dl class="definitions">
    ${entries.map(
      ([term, value]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

/** Links to the previous and the next part of a list. Null: there is none. @param options.words default: those of the locale */
export function pagination(options: {
  previous: string | null;
  next: string | null;
  locale?: Locale;
  words?: { previous: string; next: string };
}): Html {
  const { previous, next, locale = DEFAULT_LOCALE } = options;
  if (previous === null && next === null) return NOTHING;
  const texts = { ...wordsIn(locale, 'site').texts, ...options.words };
  return html`<nav class="pagination" aria-label="${texts.pages}">
    ${previous !== null && html`<a class="button button-secondary" rel="prev" href="${safeHref(previous)}">${texts.previous}</a>`}
    ${next !== null && html`<a class="button button-secondary" rel="next" href="${safeHref(next)}">${texts.next}</a>`}
  </nav>`;
}
