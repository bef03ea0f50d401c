/** The words of the demo site: pages in two languages, and the faults that are put into them on purpose. */
import type { Impact } from '../../core/scan/impacts.ts';

export const LANGS = ['en', 'de'] as const;
export type Lang = (typeof LANGS)[number];

/** The same text in both languages. */
export type Text = Readonly<Record<Lang, string>>;

/** Entries of the main navigation, and `none` for pages beside it. */
export type Section = 'visit' | 'catalogue' | 'events' | 'media' | 'children' | 'about' | 'none';

/** A known fault of a page: what axe-core finds for WCAG 2.1 AA, no more and no less. */
export interface Flaw {
  /** axe-core's rule. */
  rule: string;
  /** axe-core's impact of it. */
  impact: Impact;
  /** How many elements of the page fail it, its frames and open shadow roots included. */
  elements: number;
}

/** What a page can say of itself and of others while it is written. */
export interface Context {
  lang: Lang;
  t(text: Text): string;
  /** The address of a page in this language. @throws where there is no such page */
  href(id: string): string;
  /** Notes a fault, and gives back the HTML that has it. */
  flaw(rule: string, elements: number, html: string): string;
  /** The address of a frame's document, whose faults count for this page. */
  frame(name: string): string;
}

/** What is around a page's body, so that a fault can sit there too. */
export interface Shell {
  htmlAttributes: string;
  title: string;
  viewport: string;
  head: string;
}

export interface Page {
  id: string;
  /** The path within the language, without slashes around it; empty for the start page. */
  slug: Text;
  title: Text;
  /** One sentence: the lead under the heading and the description for search engines. */
  summary: Text;
  section: Section;
  /** The name of an image beside the heading. */
  image?: string;
  /** Which page this one belongs under, for the breadcrumbs. */
  parent?: string;
  body(c: Context): string;
  /** Scripts of the site that this page runs. */
  scripts?: readonly string[];
  /** Changes what is around the body. */
  shell?(c: Context, shell: Shell): Partial<Shell>;
  /** True where the body brings its own heading. */
  bare?: boolean;
}

/** Both languages' text in one expression. */
export function text(en: string, de: string): Text {
  return { en, de };
}

/** Text as HTML. */
export function escape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
