/** Headings of long pages. */
import { html, type Html, type HtmlValue } from '../html.ts';

export type HeadingLevel = 2 | 3 | 4;

/** A heading that is a link to itself, so that its address can be copied. */
export function linkedHeading(level: HeadingLevel, id: string, text: HtmlValue): Html {
  const anchor = html`<a class="anchor" href="#${id}">${text}</a>`;
  if (level === 2) return html`<h2 id="${id}">${anchor}</h2>`;
  return level === 3 ? html`<h3 id="${id}">${anchor}</h3>` : html`<h4 id="${id}">${anchor}</h4>`;
}
