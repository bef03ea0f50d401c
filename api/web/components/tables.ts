/** Tables, definition lists and pagination. */
import type { Locale } from '../../../core/scan/locales.ts';
import { attributes, html, NOTHING, type Html, type HtmlValue } from '../html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../languages.ts';
import { safeHref } from './buttons.ts';

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
