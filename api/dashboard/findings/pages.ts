/** The pages of a scan, sorted and in parts: tested with their scores, or not tested with the reason. Pure. */
import { pagePath, pagesPath } from '../../../core/web-paths.ts';
import { scanNotes } from '../../../report/view/gaps.ts';
import { stateLines } from '../../../report/view/sentences.ts';
import type { ReportView, ViewPage } from '../../../report/view/schema.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { link, pagination, table, tabs } from '../../web/components.ts';
import { addressOf, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { documentsCard, pageColumns, pageRow } from '../../../report/html/pages.ts';
import { count, pagesText } from '../scans/words.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { english, forms, m, t, tr } from '../../web/texts.ts';

/** Pages on one page of the list. */
export const PAGES_PER_PART = 50;

/** How the list can be sorted, and what people read of it. */
const SORTS = {
  order: m`Order of the scan`,
  score: m`Lowest score`,
  violations: m`Most violations`,
  address: m`Address`,
  untested: m`Not tested first`,
} as const;
export type PageSort = keyof typeof SORTS;

export interface PageListQuery {
  sort: PageSort;
  /** From 1. */
  part: number;
}

/** Reads the query of an address. Values that no link has are ignored. */
export function readPageListQuery(params: Readonly<Record<string, unknown>>): PageListQuery {
  const sort = (Object.keys(SORTS) as PageSort[]).find((one) => one === params['sort']) ?? 'order';
  const part = params['part'];
  return { sort, part: typeof part === 'string' && /^[1-9]\d{0,3}$/.test(part) ? Number(part) : 1 };
}

type Listed = Pick<
  ReportView,
  'pages' | 'pages_total' | 'pages_with_gaps' | 'addresses_left' | 'consent' | 'discovery' | 'states' | 'review_groups'
>;

interface Numbered {
  page: ViewPage;
  /** The number of the page in the scan, from 1. */
  at: number;
}

const ORDERS: Readonly<Record<PageSort, (a: Numbered, b: Numbered) => number>> = {
  order: () => 0,
  score: ({ page: a }, { page: b }) => scoreOf(a) - scoreOf(b),
  violations: ({ page: a }, { page: b }) => violationsOf(b) - violationsOf(a),
  address: ({ page: a }, { page: b }) => (a.url < b.url ? -1 : a.url > b.url ? 1 : 0),
  untested: ({ page: a }, { page: b }) => Number(a.tested) - Number(b.tested),
};
/** Pages without a score are last. */
const scoreOf = (page: ViewPage): number => (page.tested ? page.score : 101);
const violationsOf = (page: ViewPage): number => (page.tested ? page.counts.total : -1);

const INCOMPLETE = forms(
  '{n} page was not tested completely: the list says what may have been missed.',
  '{n} pages were not tested completely: the list says what may have been missed.',
);

/** A view without the addresses that a check left out: it is about one page. */
export const pagesOf = (row: ScanRow, view: ReportView): Listed => (isCheck(row) ? { ...view, addresses_left: 0 } : view);

/** What the page of a scan says about its pages. */
export function pagesSummary(scanId: string, view: Listed): Html {
  const { pages_total: total } = view;
  if (total === 0) return NOTHING;
  return html`<section class="card" id="pages" aria-labelledby="pages-title">
    <h2 id="pages-title">${t`Pages`}</h2>
    ${facts(view)}
    <p>${link(t`Show the list of ${pagesText(total)}`, pagesPath(scanId))}</p>
  </section>`;
}

function facts({ pages, pages_with_gaps: incomplete, ...view }: Listed): Html {
  // Files are no pages; the documents among them are listed apart.
  const untested = pages.filter((page) => !page.tested && page.reason !== 'document').length;
  const notes = [...scanNotes(view).map(({ message }) => english(message)), ...stateLines(view, currentLocale())];
  return html`${untested > 0 && html`<p>${t`${pagesText(untested)} could not be tested, or did not have to be. Pages that were not tested cost nothing.`}</p>`}
  ${incomplete > 0 && html`<p>${count(INCOMPLETE, incomplete)}</p>`} ${notes.map((text) => html`<p>${text}</p>`)}`;
}

export function pageList(scanId: string, view: Listed, query: PageListQuery): Html {
  const { pages, pages_total: total } = view;
  const sorted = pages.map((page, index) => ({ page, at: index + 1 })).sort(ORDERS[query.sort]);
  const parts = Math.max(1, Math.ceil(sorted.length / PAGES_PER_PART));
  const part = Math.min(query.part, parts);
  const listed = sorted.slice((part - 1) * PAGES_PER_PART, part * PAGES_PER_PART);
  const href = (sort: PageSort, to: number): string =>
    addressOf(pagesPath(scanId), { sort: sort === 'order' ? null : sort, part: to === 1 ? null : to });
  return html`${facts(view)}
    ${tabs(
      t`Sort by`,
      (Object.keys(SORTS) as PageSort[]).map((sort) => ({ text: tr(SORTS[sort]), href: href(sort, 1), current: sort === query.sort })),
    )}
    ${table({
      id: 'page-table',
      caption: t`Pages of this scan`,
      captionHidden: true,
      columns: pageColumns(),
      rows: listed.map(({ page, at }) => pageRow(page, pagePath(scanId, at))),
    })}
    ${pagination({ previous: part > 1 ? href(query.sort, part - 1) : null, next: part < parts ? href(query.sort, part + 1) : null })}
    ${pages.length < total && html`<p>${t`The first ${pages.length} of ${pagesText(total)} are listed here. The JSON export has all of them.`}</p>`}
    ${documentsCard(view.discovery)}`;
}
