/** Building blocks of the pages: cards, tables, fields, notices. They have no faults; the pages add the faults. */
import { escape, type Context, type Text } from './page.ts';

export const section = (title: string, body: string, more = ''): string =>
  `<section class="wrap block ${more}"><h2>${title}</h2>${body}</section>`;
export const prose = (...paragraphs: string[]): string =>
  `<div class="prose">${paragraphs.map((paragraph) => `<p>${paragraph}</p>`).join('')}</div>`;
export const list = (items: readonly string[], more = ''): string =>
  `<ul class="${more || 'plain'}">${items.map((item) => `<li>${item}</li>`).join('')}</ul>`;
export const button = (href: string, label: string, kind = ''): string => `<a class="button ${kind}" href="${href}">${label}</a>`;
export const notice = (body: string): string => `<div class="notice">${body}</div>`;

/** A card with a picture. The whole card is a link to `href`. */
export function card(options: { href: string; title: string; body: string; picture?: string; meta?: string; tall?: boolean }): string {
  const { href, title, body, picture, meta, tall } = options;
  return `<article class="card${tall ? ' tall' : ''}">${picture === undefined ? '' : `<img src="/img/${picture}.svg" alt="" width="${tall ? 240 : 640}" height="${tall ? 340 : 400}" loading="lazy">`}<div class="card-body">${meta === undefined ? '' : `<p class="meta">${meta}</p>`}<h3><a href="${href}">${escape(title)}</a></h3><p>${body}</p></div></article>`;
}

export const cards = (items: readonly string[], more = ''): string => `<div class="cards ${more}">${items.join('')}</div>`;

/** A table with a caption, a head row and row headings. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `<div class="table-frame"><table><caption>${caption}</caption><thead><tr>${head.map((cell) => `<th scope="col">${cell}</th>`).join('')}</tr></thead><tbody>${rows
    .map(([first, ...rest]) => `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('')}</tbody></table></div>`;
}

/** A labelled field. */
export function field(
  c: Context,
  id: string,
  label: Text,
  options: { type?: string; autocomplete?: string; hint?: Text; required?: boolean; rows?: number } = {},
): string {
  const { type = 'text', autocomplete, hint, required, rows } = options;
  const attributes = `id="${id}" name="${id}"${autocomplete ? ` autocomplete="${autocomplete}"` : ''}${required ? ' required' : ''}${hint ? ` aria-describedby="${id}-hint"` : ''}`;
  const control = rows === undefined ? `<input type="${type}" ${attributes}>` : `<textarea rows="${rows}" ${attributes}></textarea>`;
  return `<div class="field"><label for="${id}">${c.t(label)}${required ? ` <span class="required">(${c.t({ en: 'required', de: 'Pflichtfeld' })})</span>` : ''}</label>${hint ? `<p class="hint" id="${id}-hint">${c.t(hint)}</p>` : ''}${control}</div>`;
}

/** A labelled select box. */
export function choice(c: Context, id: string, label: Text, options: readonly Text[]): string {
  return `<div class="field"><label for="${id}">${c.t(label)}</label><select id="${id}" name="${id}">${options.map((option) => `<option>${c.t(option)}</option>`).join('')}</select></div>`;
}

/** A group of checkboxes or radio buttons. */
export function group(c: Context, name: string, legend: Text, options: readonly Text[], type: 'radio' | 'checkbox' = 'radio'): string {
  return `<fieldset><legend>${c.t(legend)}</legend>${options
    .map(
      (option, i) =>
        `<div class="tick"><input type="${type}" id="${name}-${i}" name="${name}" value="${i}"><label for="${name}-${i}">${c.t(option)}</label></div>`,
    )
    .join('')}</fieldset>`;
}

export const form = (c: Context, body: string, submit: Text): string =>
  `<form class="form" method="post" action="${c.href('thanks')}">${body}<button class="button" type="submit">${c.t(submit)}</button></form>`;
