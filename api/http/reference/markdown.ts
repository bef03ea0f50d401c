/**
 * The descriptions of the document as HTML. They are CommonMark; we write paragraphs, `## headings`, lists with `- `, `code`,
 * **bold** and [links](address), and everything else is shown as it is. The result is escaped like every template.
 */
import { link, linkedHeading } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { slug } from './document.ts';

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** A line of text. */
export function inline(text: string): Html {
  const parts: (string | Html)[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, name, address] = match;
    parts.push(text.slice(from, match.index));
    if (code !== undefined) parts.push(html`<code translate="no">${code}</code>`);
    else if (bold !== undefined) parts.push(html`<strong>${inline(bold)}</strong>`);
    else parts.push(link(inline(name!), address!));
    from = match.index + whole.length;
  }
  return html`${[...parts, text.slice(from)]}`;
}

const blocksOf = (text: string): string[] =>
  text
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== '');

const HEADING = /^## (.+)$/;

/** The anchor of a heading within a text. */
const headingAnchor = (text: string): string => `about-${slug(text)}`;

/** Paragraphs, headings of level 3 and lists. */
export const markdown = (text: string): Html =>
  html`${blocksOf(text).map((block) => {
    const heading = HEADING.exec(block)?.[1];
    if (heading !== undefined) return linkedHeading(3, headingAnchor(heading), inline(heading));
    if (!/^- /.test(block)) return html`<p>${inline(block)}</p>`;
    const items = block.split(/\n(?=- )/).map((item) => html`<li>${inline(item.slice(2))}</li>`);
    return html`<ul>
      ${items}
    </ul>`;
  })}`;

/** The headings of a text. */
export const headingsOf = (text: string): { text: string; id: string }[] =>
  blocksOf(text).flatMap((block) => {
    const heading = HEADING.exec(block)?.[1];
    return heading === undefined ? [] : [{ text: heading, id: headingAnchor(heading) }];
  });
