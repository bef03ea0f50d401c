/** Renders every page in both languages, and lists its faults. */
import axe from 'axe-core';
import type { Impact } from '../core/scan/impacts.ts';
import { ABOUT_PAGES } from './content/about.ts';
import { BOOKS, CATALOGUE_PAGES } from './content/catalogue.ts';
import { EVENT_PAGES } from './content/events.ts';
import { MEDIA_PAGES, NEWS_PAGES } from './content/media.ts';
import { SERVICE_PAGES } from './content/service.ts';
import { VISIT_PAGES } from './content/visit.ts';
import { FRAMES } from './frames.ts';
import { document } from './layout.ts';
import { LANGS, escape, text, type Context, type Flaw, type Lang, type Page } from './page.ts';
import { section } from './parts.ts';

const CONTENT: readonly Page[] = [
  ...VISIT_PAGES,
  ...SERVICE_PAGES,
  ...CATALOGUE_PAGES,
  ...EVENT_PAGES,
  ...MEDIA_PAGES,
  ...ABOUT_PAGES,
  ...NEWS_PAGES,
];

const sitemap: Page = {
  id: 'sitemap',
  slug: text('site-map', 'inhalt'),
  title: text('Site map', 'Inhaltsverzeichnis'),
  summary: text('Every page of this site.', 'Alle Seiten dieser Website.'),
  section: 'none',
  body: (c) =>
    section(
      c.t(text('Pages', 'Seiten')),
      `<ul class="columns">${CONTENT.map((page) => `<li><a href="${c.href(page.id)}">${escape(c.t(page.title))}</a></li>`).join('')}</ul>`,
    ),
};

export const PAGES: readonly Page[] = [...CONTENT, sitemap];
const byId = new Map(PAGES.map((page) => [page.id, page]));

/** A rendered page. */
export interface Written {
  path: string;
  lang: Lang;
  html: string;
  flaws: Flaw[];
  /** Whether the response is delayed, as by a slow server. */
  slow: boolean;
}

/** The address of a page within the site; it ends with a slash. */
export function pathOf(page: Page, lang: Lang): string {
  return page.slug[lang] === '' ? `/${lang}/` : `/${lang}/${page.slug[lang]}/`;
}

/** Renders every page, with absolute addresses that start with `origin`. */
export function writeSite(origin: string): Written[] {
  return LANGS.flatMap((lang) => PAGES.map((page) => write(page, lang, origin)));
}

function write(page: Page, lang: Lang, origin: string): Written {
  const { context, flaws } = recorder(lang);
  const crumbs: Page[] = [];
  for (let id = page.parent; id !== undefined; id = byId.get(id)!.parent) crumbs.unshift(byId.get(id)!);
  const other: Lang = lang === 'en' ? 'de' : 'en';
  const html = document(page, context, crumbs, { origin, here: pathOf(page, lang), there: pathOf(page, other) });
  return { path: pathOf(page, lang), lang, html, flaws: settled(flaws), slow: page.id === 'archive' };
}

/** A context that records the faults of a page. */
function recorder(lang: Lang): { context: Context; flaws: Flaw[] } {
  const flaws: Flaw[] = [];
  const note = (rule: string, elements: number): void => void flaws.push({ rule, impact: impactOf(rule), elements });
  const context: Context = {
    lang,
    t: (texts) => texts[lang],
    href(id) {
      const page = byId.get(id);
      if (page === undefined) throw new Error(`the demo site has no page "${id}"`);
      return pathOf(page, lang);
    },
    flaw(rule, elements, html) {
      note(rule, elements);
      return html;
    },
    frame(name) {
      for (const { rule, elements } of FRAMES[name]!.flaws) note(rule, elements);
      return `/frames/${lang}/${name}/`;
    },
  };
  return { context, flaws };
}

/** axe-core's impact of a rule. */
function impactOf(rule: string): Impact {
  const impacts = (axe as unknown as { _audit: { rules: { id: string; impact: Impact }[] } })._audit.rules;
  const found = impacts.find(({ id }) => id === rule);
  if (found === undefined) throw new Error(`axe-core has no rule "${rule}"`);
  return found.impact;
}

/** Merges the entries of each rule, sorted by name. */
function settled(flaws: readonly Flaw[]): Flaw[] {
  const sum = new Map<string, Flaw>();
  for (const flaw of flaws) sum.set(flaw.rule, { ...flaw, elements: flaw.elements + (sum.get(flaw.rule)?.elements ?? 0) });
  return [...sum.values()].sort((a, b) => (a.rule < b.rule ? -1 : 1));
}

/** The findings of a scan for WCAG 2.1 AA, by page. */
export const knownFaults = (): Record<string, Flaw[]> => Object.fromEntries(writeSite('').map(({ path, flaws }) => [path, flaws]));

/** The books as JSON for the script of the catalogue. */
export function booksData(lang: Lang): string {
  const { context } = recorder(lang);
  return JSON.stringify(
    BOOKS.map(({ id, title, author, year, language }, place) => ({
      title,
      author,
      year,
      language,
      href: context.href(id),
      cover: `/img/cover-${place}.svg`,
    })),
  );
}
