/** The descriptions of the document as HTML. */
import { renderPhrases, renderText, type Headings } from '../../docs/render.ts';
import type { Html } from '../../web/html.ts';
import { slug } from './document.ts';

const HEADINGS: Headings = { anchor: (title) => `about-${slug(title)}`, level: () => 3 };

/** A line of text. */
export const inline = renderPhrases;

/** A text with paragraphs, headings of level 3 and lists. */
export const markdown = (text: string): Html => renderText(text, HEADINGS).body;

export const headingsOf = (text: string): { text: string; id: string }[] =>
  renderText(text, HEADINGS)
    .sections.slice(1)
    .map(({ id, title }) => ({ id, text: title }));
