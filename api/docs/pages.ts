/** The pages of `/docs`: the contents, a page, and the results of a search. */
import { DOCS_PATH, DOCS_SEARCH_PATH, docPath } from '../../core/web-paths.ts';
import { breadcrumb, button, emptyState, hiddenField, link, textField } from '../web/components.ts';
import { addressOf, html, type Html } from '../../report/html/html.ts';
import { DOC_GROUPS, type DocPage, type Outline, type Section } from './render.ts';
import { QUERY_MAX, RESULTS_MAX, type SearchResult } from './search.ts';

const HOME = 'Documentation';

/** The way to a page below `/docs`. */
const docsBreadcrumb = (title: string): Html => breadcrumb([{ text: HOME, href: DOCS_PATH }, { text: title }]);

/** A page in which people look something up. */
interface Within {
  name: string;
  title: string;
}

/** A page of more headings has a search of its own. */
const SECTIONS_MANY = 50;

/** @param within searches only this page */
function searchForm(query = '', within: Within | null = null): Html {
  const label = within === null ? 'Search the documentation' : `Search in “${within.title}”`;
  return html`<form class="docs-search" role="search" method="get" action="${DOCS_SEARCH_PATH}">
    ${textField({ name: 'q', label, type: 'search', value: query, maxlength: QUERY_MAX, required: true })}
    ${within && hiddenField('page', within.name)}${button({ text: 'Search' })}
  </form>`;
}

/** The contents of the documentation. */
export const contentsPage = (pages: ReadonlyMap<string, Outline>): Html =>
  html`<h1>${HOME}</h1>
    ${searchForm()}
    ${DOC_GROUPS.map(({ title, pages: names }, at) => {
      const entries = names.map((name) => {
        const page = pages.get(name)!;
        return html`<div>
          <dt>${link(page.title, docPath(name))}</dt>
          <dd>${page.summary}</dd>
        </div>`;
      });
      return html`<section aria-labelledby="group-${at + 1}">
        <h2 id="group-${at + 1}">${title}</h2>
        <dl class="definitions docs-list">${entries}</dl>
      </section>`;
    })}`;

/** A page with its table of contents. */
export const docPage = (name: string, { title, body, sections }: DocPage): Html =>
  html`${docsBreadcrumb(title)}
    <h1>${title}</h1>
    ${searchForm('', sections.length > SECTIONS_MANY ? { name, title } : null)}
    <div class="docs-page">
      ${contentsOf(sections)}
      <div class="docs-body">${body}</div>
    </div>`;

function contentsOf(sections: readonly Section[]): Html {
  const item = (section: Section, within?: Html): Html => html`<li>${link(section.title, `#${section.id}`)}${within}</li>`;
  const below = sections.filter(({ level }) => level === 2 || level === 3);
  const groups = below.flatMap((section, at) => {
    // A page may start with headings of level 3.
    if (section.level === 3 && at > 0) return [];
    const end = below.findIndex((other, place) => place > at && other.level === 2);
    const inner = below.slice(at + 1, end === -1 ? undefined : end);
    return [item(section, inner.length === 0 ? undefined : html`<ul>${inner.map((one) => item(one))}</ul>`)];
  });
  // Focusable, because it scrolls if it is higher than the window.
  return html`<nav class="docs-contents" aria-label="Contents" tabindex="0">
    ${
      groups.length > 0 &&
      html`<details class="folded-when-narrow">
        <summary>Contents of this page</summary>
        <ul>
          ${groups}
        </ul>
      </details>`
    }
  </nav>`;
}

/** @param within the page to which the search was limited */
export function searchPage(query: string, results: readonly SearchResult[], within: Within | null): Html {
  const shown = results.slice(0, RESULTS_MAX);
  return html`${docsBreadcrumb('Search')}
    <h1>${query === '' ? 'Search the documentation' : `Search results for “${query}”`}</h1>
    ${searchForm(query, within)}
    ${query !== '' && html`<p role="status">${count(results.length)}</p>`}
    ${
      query !== '' &&
      results.length === 0 &&
      emptyState({
        title: 'Nothing has all of these words',
        text: 'Search for fewer or other words, or look at the contents.',
        action: link('Contents of the documentation', DOCS_PATH),
      })
    }
    ${shown.length > 0 && html`<ol class="docs-results">${shown.map(result)}</ol>`}
    ${within !== null && html`<p>${link('Search all of the documentation', addressOf(DOCS_SEARCH_PATH, { q: query }))}</p>`}`;
}

const count = (results: number): string => {
  if (results > RESULTS_MAX) return `${results} results. The first ${RESULTS_MAX} are shown; add a word to find fewer.`;
  return `${results} ${results === 1 ? 'result' : 'results'}.`;
};

function result({ name, page, section, excerpt }: SearchResult): Html {
  const title = section.id === '' ? page : `${page}: ${section.title}`;
  return html`<li>
    <h2>${link(title, docPath(name) + (section.id === '' ? '' : `#${section.id}`))}</h2>
    <p>${excerpt}</p>
  </li>`;
}
