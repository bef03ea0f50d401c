/** Tables, definition lists and pagination. */
import type { Locale } from '../../../core/scan/locales.ts';
import { attributes, html, NOTHING, type Html, type HtmlValue } from '../html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../languages.ts';
import { safeHref } from './buttons.ts';

export interface Column {
  text: HtmlValue;
  /** Numbers stand at the end of their column. */
  numeric?: boolean;
  /** The text of the heading is for screen readers only, such as that of a column of buttons. */
  hidden?: boolean;
}

export interface TableOptions {
  caption: HtmlValue;
  /** The caption is for screen readers only, because a heading above says the same. */
  captionHidden?: boolean;
  columns: readonly Column[];
  /** The cells of each row. The first is the row's header. */
  rows: readonly (readonly HtmlValue[])[];
  id: string;
}

/** A table. On narrow screens it scrolls sideways within its frame, which can be focused. */
export function table({ caption, captionHidden = false, columns, rows, id }: TableOptions): Html {
  const label = captionHidden ? html`<span class="visually-hidden">${caption}</span>` : caption;
  const numeric = (at: number): string | undefined => (columns[at]?.numeric ? 'numeric' : undefined);
  const heads = columns.map(
    ({ text, hidden }, at) =>
      html`<th${attributes({ scope: 'col', class: numeric(at) })}>${hidden ? html`<span class="visually-hidden">${text}</span>` : text}</th>`,
  );
  const body = rows.map(
    (cells) =>
      html`<tr>
        ${cells.map((cell, at) =>
          at === 0
            ? html`<th${attributes({ scope: 'row', class: numeric(at) })}>${cell}</th>`
            : html`<td${attributes({ class: numeric(at) })}>${cell}</td>`,
        )}
      </tr>`,
  );
  return html`<div class="table-frame" role="group" tabindex="0" aria-labelledby="${id}-caption">
    <table${attributes({ id })}>
      <caption id="${id}-caption">${label}</caption>
      <thead><tr>${heads}</tr></thead>
      <tbody>${body}</tbody>
    </table>
  </div>`;
}

/** Terms and their values. */
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

/** Links to the previous and the next part of a list. Null: there is none. */
export function pagination(links: { previous: string | null; next: string | null; locale?: Locale }): Html {
  const { previous, next, locale = DEFAULT_LOCALE } = links;
  if (previous === null && next === null) return NOTHING;
  const { texts } = wordsIn(locale, 'site');
  return html`<nav class="pagination" aria-label="${texts.pages}">
    ${previous !== null && html`<a class="button button-secondary" rel="prev" href="${safeHref(previous)}">${texts.previous}</a>`}
    ${next !== null && html`<a class="button button-secondary" rel="next" href="${safeHref(next)}">${texts.next}</a>`}
  </nav>`;
}
