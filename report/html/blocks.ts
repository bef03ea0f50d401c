/** Blocks of pages and reports: notices, cards, figures, code, pictures, tables. */
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import { wordsIn } from '../words/words.ts';
import { button } from './elements.ts';
import { attributes, html, type Html, type HtmlValue } from './html.ts';

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
export const foldedCard = (options: { title: HtmlValue; body: HtmlValue; id: string; open?: boolean }): Html =>
  html`<details${attributes({ class: 'card folded', id: options.id, open: options.open })}>
    <summary><h2 id="${options.id}-title">${options.title}</h2></summary>
    ${options.body}
  </details>`;

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
  /** The language of the text, if it is prose. */
  lang?: Locale;
}

/** Code that is shown as text, with a button that copies it. The button needs scripts and is hidden without them. */
export function code({ text, id, label, copy = true, inline = false, whole = false, locale = currentLocale(), lang }: CodeOptions): Html {
  const { texts } = wordsIn(locale, 'site');
  const shown = inline
    ? html`<code${attributes({ id, class: 'code-line', lang, translate: 'no' })}>${text}</code>`
    : html`<pre${attributes(whole ? {} : { tabindex: 0, role: 'group', 'aria-label': label })}><code${attributes({ id, lang, translate: 'no' })}>${text}</code></pre>`;
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
