/** The types of the demo site: pages in two languages with intentional faults. */
import type { Impact } from '../core/scan/impacts.ts';

export const LANGS = ['en', 'de'] as const;
export type Lang = (typeof LANGS)[number];

/** The same text in both languages. */
export type Text = Readonly<Record<Lang, string>>;

/** Entries of the main navigation; `none` for other pages. */
export type Section = 'visit' | 'catalogue' | 'events' | 'media' | 'children' | 'about' | 'none';

/** A known fault of a page: exactly what axe-core finds for WCAG 2.1 AA. */
export interface Flaw {
  /** axe-core's rule. */
  rule: string;
  /** axe-core's impact of the rule. */
  impact: Impact;
  /** The number of elements that fail the rule, including elements in frames and open shadow roots. */
  elements: number;
}

/** What a page can use while it is rendered. */
export interface Context {
  lang: Lang;
  t(text: Text): string;
  /** The address of a page in this language. @throws Error if the page does not exist */
  href(id: string): string;
  /** Records a fault. @returns the given HTML, which has the fault */
  flaw(rule: string, elements: number, html: string): string;
  /** The address of a frame's document, whose faults count for this page. */
  frame(name: string): string;
}

/** The parts of the document around a page's body. They can have faults too. */
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
  /** The parent page, for the breadcrumbs. */
  parent?: string;
  body(c: Context): string;
  /** Scripts of the site that this page runs. */
  scripts?: readonly string[];
  /** Changes the document around the body. */
  shell?(c: Context, shell: Shell): Partial<Shell>;
  /** Whether the body has its own heading. */
  bare?: boolean;
}

/** Both languages' text in one expression. */
export function text(en: string, de: string): Text {
  return { en, de };
}

/** Escapes text for HTML. */
export function escape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
