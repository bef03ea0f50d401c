/** The list of sites, which is the first page of the dashboard, and its query. Pure. */
import { DASHBOARD_PATH, sitePath } from '../../../core/web-paths.ts';
import { type Position, SEARCH_TEXT_MAX } from '../../../stores/scans/positions.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { Site, SiteSearch } from '../../../stores/scans/sites.ts';
import {
  button,
  card,
  code,
  type Column,
  emptyState,
  filters,
  link,
  linkButton,
  pagination,
  table,
  type TableRow,
  time,
} from '../../web/components.ts';
import { addressOf, attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { csvLine } from '../../../report/formats/csv.ts';
import { firstSteps, type Steps } from '../credits.ts';
import { ALL_SCANS, choiceFilter, listHref, positionOf, textFilter, VERDICT_CHOICES } from '../scans/list-query.ts';
import { nothingYet, number, partsOf, stateBadge, violations } from '../scans/words.ts';
import { type VerdictFilter, VERDICTS } from '../../../stores/scans/scan-search.ts';
import { encodeCursor } from '../../http/pagination.ts';
import { changesCell, endBadge, optionsText, scanLink } from './page.ts';

/** A site with what its row shows. */
export interface ListedSite {
  site: Site;
  /** The newest scan that has ended. */
  newest: ScanRow;
  /** The newest scan that is done. Null: there is none. */
  done: ScanRow | null;
  /** The next run of a schedule. Null: there is none. */
  nextAt: Date | null;
}

export interface SiteListData {
  query: SiteQuery;
  /** The sites of this page, that of the newest scan first. */
  sites: readonly ListedSite[];
  /** The position to continue from; null at the end. */
  next: Position | null;
  /** Scans that have not ended, newest first, and whether there are more. */
  live: { rows: readonly ScanRow[]; more: boolean };
  /** What a new organisation does first. Null: it has sites or scans in progress. */
  steps: Steps | null;
  permissions: readonly string[];
  /** The address of this service, for the command line. */
  baseUrl: string;
}

/** The interval between two refreshes of the list, in seconds. */
const REFRESH_SECONDS = 10;
/** Not below the pages of sites, because a host may have any name. */
export const SITES_FRAGMENT = '/dashboard/site-rows';

export function siteListBody(data: SiteListData): Html {
  const newScan = linkButton({ text: 'New scan', href: '/dashboard/scans/new', kind: 'primary' });
  return html`<div class="page-head"><h1>Sites</h1>${data.permissions.includes('scans:write') && newScan}</div>
    ${data.steps === null && filterForm(data.query)} ${siteListFragment(data)}`;
}

/** The part of the list that refreshes itself. */
export function siteListFragment(data: SiteListData): Html {
  const { query, sites, next } = data;
  return html`<div${attributes({
    id: 'sites',
    'data-fragment': sitesHref(query, SITES_FRAGMENT),
    'data-seconds': REFRESH_SECONDS,
    'data-announce': announcement(sites[0]),
  })}>
    ${inProgress(data)} ${sites.length === 0 ? noSites(data) : siteTable(sites)} ${pages(query, next)}
    ${sites.length > 0 && html`<p>${link('Download CSV', sitesHref({ ...query, after: null }, SITES_CSV))}</p>`}
  </div>`;
}

function filterForm(query: SiteQuery): Html {
  const active = activeSiteFilters(query);
  const form = html`<form class="fields-inline" method="get" action="${DASHBOARD_PATH}" role="search" aria-label="Sites">
    ${textFilter('q', 'Site contains', query.search)} ${choiceFilter('verdict', 'Verdict', query.verdict, VERDICT_CHOICES)}
    <div class="actions">${button({ text: 'Filter' })}${active > 0 && link('Clear filters', DASHBOARD_PATH)}</div>
  </form>`;
  return filters({ form, active });
}

/** The list as CSV, with the filters of the page. */
export const SITES_CSV = '/dashboard/sites.csv';

const CSV_COLUMNS =
  'site,options,verdict,score,violations,critical,serious,moderate,minor,last_scan,last_scan_at,state,result_scan,next_run';

/** The sites as CSV, with a byte order mark for spreadsheets. @param isCut whether there are more of them */
export function sitesCsv(sites: readonly ListedSite[], isCut: boolean): string {
  const lines = sites.map(({ site, newest, done, nextAt }) => {
    const { score, violations: counts } = done?.outcome ?? {};
    const verdict = newest.passed === null ? null : newest.passed ? 'passed' : 'did_not_pass';
    const numbers = [score, counts?.total, counts?.critical, counts?.serious, counts?.moderate, counts?.minor];
    const last = [newest.id, newest.finishedAt?.toISOString(), newest.phase, done?.id, nextAt?.toISOString()];
    return csvLine([site.site, optionsText(newest), verdict, ...numbers, ...last]);
  });
  const end = isCut ? csvLine([`The list is cut after ${sites.length} sites.`]) : '';
  return `\uFEFF${csvLine(CSV_COLUMNS.split(','))}${lines.join('')}${end}`;
}

const pages = (query: SiteQuery, next: Position | null): Html =>
  pagination({
    previous: query.after && sitesHref({ ...query, after: null }),
    next: next && sitesHref({ ...query, after: next }),
    words: { previous: 'First sites', next: 'More sites' },
  });

/** Changes when a scan ends. */
const announcement = (first: ListedSite | undefined): string =>
  first === undefined
    ? ''
    : `Last scan: ${first.site.site}, ${first.newest.phase}${first.newest.passed === false ? ', did not pass' : ''}.`;

function inProgress({ live: { rows, more } }: SiteListData): Html {
  if (rows.length === 0) return NOTHING;
  const all = listHref({ ...ALL_SCANS, state: 'live' });
  return html`<section id="in-progress" aria-labelledby="in-progress-title">
    <h2 class="heading-small" id="in-progress-title">In progress</h2>
    <ul>
      ${rows.map(({ id, options, phase }) => {
        const { host, path } = partsOf(options.url);
        return html`<li id="live-${id}">${link(html`<span class="address">${host}<wbr />${path}</span>`, `/dashboard/scans/${id}`)} ${stateBadge(phase)}</li>`;
      })}
    </ul>
    ${more && html`<p>${link('All scans in progress', all)}</p>`}
  </section>`;
}

const COLUMNS: readonly Column[] = [
  { text: 'Site', class: 'scan-site' },
  { text: 'Verdict' },
  { text: 'Score', numeric: true },
  { text: 'Violations' },
  { text: 'Since the baseline' },
  { text: 'Last scan', class: 'scan-time' },
  { text: 'Next run', class: 'scan-time' },
];

const siteTable = (sites: readonly ListedSite[]): Html =>
  table({
    id: 'site-table',
    bodyId: 'site-rows',
    caption: 'Sites, that of the newest scan first',
    captionHidden: true,
    columns: COLUMNS,
    rows: sites.map(siteRow),
  });

function siteRow({ site: { site, optionsKey }, newest, done, nextAt }: ListedSite): TableRow {
  return {
    id: `site-${optionsKey}-${site}`,
    cells: [
      html`<a href="${sitePath(site, optionsKey)}">${site}</a><span class="small soft address">${optionsText(newest)}</span>`,
      endBadge(newest),
      done?.outcome ? number(done.outcome.score) : nothingYet,
      done?.outcome ? violations(done.outcome.violations) : nothingYet,
      done === null ? nothingYet : changesCell(done),
      html`${scanLink(newest)}${done !== null && done.id !== newest.id && html`<span class="small soft">Result of ${scanLink(done)}</span>`}`,
      nextAt === null ? nothingYet : time(nextAt),
    ],
  };
}

function noSites({ query, next, steps, live, permissions, baseUrl }: SiteListData): Html {
  if (next !== null)
    return emptyState({ title: 'No match so far', text: 'None of the sites that were searched matches. Continue with more sites.' });
  if (activeSiteFilters(query) > 0)
    return emptyState({
      title: 'No site matches',
      text: 'Change the filters, or show all sites.',
      action: linkButton({ text: 'Clear filters', href: sitesHref(ALL_SITES) }),
    });
  if (query.after !== null) return emptyState({ title: 'No more sites', text: 'The list ended with the part before.' });
  if (steps !== null && !steps.scan) return html`${firstSteps(steps, permissions)} ${firstCommand(baseUrl)}`;
  return emptyState({
    title: 'No site yet',
    text:
      live.rows.length > 0 ? 'The site appears here when its first scan has ended.' : 'A site appears here when a scan of it has ended.',
  });
}

interface SiteQuery {
  /** Part of a host. Empty: every site. */
  search: string;
  verdict: VerdictFilter | null;
  /** Only sites after this one in the list. Null: from the first one on. */
  after: Position | null;
}

const ALL_SITES: SiteQuery = { search: '', verdict: null, after: null };

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readSiteQuery({ q, verdict, after }: Readonly<Record<string, unknown>>): SiteQuery {
  return {
    search: typeof q === 'string' ? q.trim().slice(0, SEARCH_TEXT_MAX) : '',
    verdict: VERDICTS.find((one) => one === verdict) ?? null,
    after: positionOf(after),
  };
}

/** The address of a list. */
const sitesHref = ({ search, verdict, after }: SiteQuery, path: string = DASHBOARD_PATH): string =>
  addressOf(path, { q: search, verdict, after: after && encodeCursor(after) });

/** The number of filters that are set. */
export const activeSiteFilters = ({ search, verdict }: SiteQuery): number => (search === '' ? 0 : 1) + (verdict === null ? 0 : 1);

export const toSiteSearch = ({ search, verdict, after }: SiteQuery, limit: number): SiteSearch => ({
  text: search,
  ...(verdict !== null && { verdict }),
  after,
  limit,
});

/** @param baseUrl the address of this service */
const firstCommand = (baseUrl: string): Html =>
  card({
    title: 'From the command line',
    body: html`<p>With an API key, in a terminal or in a pipeline:</p>
      ${code({ id: 'first-command', label: 'the command', text: `CURBCUT_URL=${baseUrl} CURBCUT_API_KEY=svc_live_… curbcut scan https://example.com/` })}
      <p>New sites and scans appear here by themselves.</p>`,
  });
