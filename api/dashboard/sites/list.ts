/** The list of sites, which is the first page of the dashboard, and its query. Pure. */
import { DASHBOARD_PATH, HIDDEN_SITES_PATH, sitePath } from '../../../core/web-paths.ts';
import { type Position, SEARCH_TEXT_MAX } from '../../../stores/scans/positions.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import {
  button,
  card,
  code,
  type Column,
  emptyState,
  filters,
  hiddenField,
  link,
  linkButton,
  pagination,
  table,
  type TableRow,
  time,
} from '../../web/components.ts';
import { addressOf, attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import type { ListedSite, SiteQuery } from '../../scans/sites.ts';
import { firstSteps, type Steps } from '../credits.ts';
import { ALL_SCANS, choiceFilter, listHref, positionOf, textFilter, verdictChoices } from '../scans/list-query.ts';
import { count, nothingYet, number, partsOf, PHASE_WORDS, stateBadge, verdictWords, violations } from '../scans/words.ts';
import { sparkline } from '../scans/trend.ts';
import { VERDICTS } from '../../../stores/scans/scan-search.ts';
import { encodeCursor } from '../../http/pagination.ts';
import { changesCell, endBadge, optionsText, otherGroup, scanLink } from './page.ts';
import { forms, t, tr } from '../../web/texts.ts';

export const OTHERS_LISTED = 3;

export interface SiteListData {
  query: SiteQuery;
  /** The sites of this page, that of the newest scan first. */
  sites: readonly ListedSite[];
  /** The position to continue from; null at the end. */
  next: Position | null;
  /** How many sites are hidden. */
  hidden: number;
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
  const newScan = linkButton({ text: t`New scan`, href: '/dashboard/scans/new', kind: 'primary' });
  const title = data.query.hidden ? t`Hidden sites` : t`Sites`;
  return html`<div class="page-head"><h1>${title}</h1>${data.permissions.includes('scans:write') && newScan}</div>
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
    ${
      sites.length > 0 &&
      html`<p>${link(t`Download CSV`, sitesHref({ ...query, after: null }, SITES_CSV))}${
        !query.hidden && data.hidden > 0 && html` · ${link(count(HIDDEN, data.hidden), HIDDEN_SITES_PATH)}`
      }</p>`
    }
  </div>`;
}

const HIDDEN = forms('{n} hidden site', '{n} hidden sites');

function filterForm(query: SiteQuery): Html {
  const active = activeSiteFilters(query);
  const form = html`<form class="fields-inline" method="get" action="${DASHBOARD_PATH}" role="search" aria-label="${t`Sites`}">
    ${query.hidden && hiddenField('hidden', 'yes')} ${textFilter('q', t`Site contains`, query.search)}
    ${choiceFilter('verdict', t`Verdict`, query.verdict, verdictChoices())}
    <div class="actions">${button({ text: t`Filter` })}${active > 0 && link(t`Clear filters`, DASHBOARD_PATH)}</div>
  </form>`;
  return filters({ form, active });
}

/** The list as CSV, with the filters of the page. */
export const SITES_CSV = '/dashboard/sites.csv';

const pages = (query: SiteQuery, next: Position | null): Html =>
  pagination({
    previous: query.after && sitesHref({ ...query, after: null }),
    next: next && sitesHref({ ...query, after: next }),
    words: { previous: t`First sites`, next: t`More sites` },
  });

/** Changes when a scan ends. */
const announcement = (first: ListedSite | undefined): string =>
  first === undefined
    ? ''
    : t`Last scan: ${first.host.name ?? first.host.site}, ${verdictWords(first.newest)?.text ?? tr(PHASE_WORDS[first.newest.phase].text)}.`;

function inProgress({ live: { rows, more } }: SiteListData): Html {
  if (rows.length === 0) return NOTHING;
  const all = listHref({ ...ALL_SCANS, state: 'live' });
  return html`<section id="in-progress" aria-labelledby="in-progress-title">
    <h2 class="heading-small" id="in-progress-title">${t`In progress`}</h2>
    <ul>
      ${rows.map(({ id, options, phase }) => {
        const { host, path } = partsOf(options.url);
        return html`<li id="live-${id}">${link(html`<span class="address">${host}<wbr />${path}</span>`, `/dashboard/scans/${id}`)} ${stateBadge(phase)}</li>`;
      })}
    </ul>
    ${more && html`<p>${link(t`All scans in progress`, all)}</p>`}
  </section>`;
}

const columns = (): readonly Column[] => [
  { text: t`Site`, class: 'scan-site' },
  { text: t`Verdict` },
  { text: t`Score`, numeric: true },
  { text: t`Violations` },
  { text: t`Since the baseline` },
  { text: t`Last scan`, class: 'scan-time' },
  { text: t`Next run`, class: 'scan-time' },
];

const siteTable = (sites: readonly ListedSite[]): Html =>
  table({
    id: 'site-table',
    bodyId: 'site-rows',
    caption: t`Sites, that of the newest scan first`,
    captionHidden: true,
    columns: columns(),
    rows: sites.map(siteRow),
  });

function siteRow(listed: ListedSite): TableRow {
  const { host, main, newest, done, nextAt } = listed;
  const points = main.history.filter(({ url }) => url === done?.options.url);
  return {
    id: `site-${host.site}`,
    cells: [
      html`<a href="${sitePath(host.site)}">${host.name ?? host.site}</a>
        <span class="small soft address">${host.name !== null && `${host.site}: `}${optionsText(newest)}</span> ${otherGroups(listed)}`,
      endBadge(newest),
      done?.outcome
        ? html`${number(done.outcome.score)} ${sparkline(t`Score`, points.map(({ score }) => score), SCORE_SPAN)}` // prettier-ignore
        : nothingYet(),
      done?.outcome
        ? html`${violations(done.outcome.violations)} ${sparkline(t`Violations`, points.map((point) => point.violations))}` // prettier-ignore
        : nothingYet(),
      done === null ? nothingYet() : changesCell(done),
      html`${scanLink(newest)}${done !== null && done.id !== newest.id && html`<span class="small soft">${t`Result of ${scanLink(done)}`}</span>`}`,
      nextAt === null ? nothingYet() : time(nextAt),
    ],
  };
}

/** A score that changed by less looks flat: a small change is no drama. In points. */
const SCORE_SPAN = 10;

/** The other groups of a site, folded. */
function otherGroups({ host: { site, groups }, others }: ListedSite): Html {
  if (others.length === 0) return NOTHING;
  const more = groups.length - 1 - others.length;
  return html`<details class="small" id="others-${site}">
    <summary>${count(OTHERS, groups.length - 1)}</summary>
    <ul>
      ${others.map((other) => html`<li>${otherGroup(other)}</li>`)} ${more > 0 && html`<li>${link(t`${more} more`, sitePath(site))}</li>`}
    </ul>
  </details>`;
}

const OTHERS = forms('{n} other configuration', '{n} other configurations');

function noSites({ query, next, steps, live, hidden, permissions, baseUrl }: SiteListData): Html {
  if (next !== null)
    return emptyState({ title: t`No match so far`, text: t`None of the sites that were searched matches. Continue with more sites.` });
  if (activeSiteFilters(query) > 0)
    return emptyState({
      title: t`No site matches`,
      text: t`Change the filters, or show all sites.`,
      action: linkButton({ text: t`Clear filters`, href: sitesHref(ALL_SITES) }),
    });
  if (query.after !== null) return emptyState({ title: t`No more sites`, text: t`The list ended with the part before.` });
  if (hidden > 0) return emptyState({ title: t`All sites are hidden`, text: link(count(HIDDEN, hidden), HIDDEN_SITES_PATH) });
  if (steps !== null && !steps.scan) return html`${firstSteps(steps, permissions)} ${firstCommand(baseUrl)}`;
  return emptyState({
    title: t`No site yet`,
    text:
      live.rows.length > 0 ? t`The site appears here when its first scan has ended.` : t`A site appears here when a scan of it has ended.`,
  });
}

export const ALL_SITES: SiteQuery = { search: '', verdict: null, hidden: false, after: null };

/** Reads the query of an address. Values that no form sends are ignored, so that an edited address still shows the list. */
export function readSiteQuery({ q, verdict, hidden, after }: Readonly<Record<string, unknown>>): SiteQuery {
  return {
    search: typeof q === 'string' ? q.trim().slice(0, SEARCH_TEXT_MAX) : '',
    verdict: VERDICTS.find((one) => one === verdict) ?? null,
    hidden: hidden === 'yes',
    after: positionOf(after),
  };
}

/** The address of a list. */
const sitesHref = ({ search, verdict, hidden, after }: SiteQuery, path: string = DASHBOARD_PATH): string =>
  addressOf(path, { q: search, verdict, hidden: hidden ? 'yes' : null, after: after && encodeCursor(after) });

/** The number of filters that are set. */
export const activeSiteFilters = ({ search, verdict, hidden }: SiteQuery): number =>
  [search !== '', verdict !== null, hidden].filter(Boolean).length;

/** @param baseUrl the address of this service */
const firstCommand = (baseUrl: string): Html =>
  card({
    title: t`From the command line`,
    body: html`<p>${t`With an API key, in a terminal or in a pipeline:`}</p>
      ${code({ id: 'first-command', label: t`the command`, text: `CURBCUT_URL=${baseUrl} CURBCUT_API_KEY=svc_live_… curbcut scan https://example.com/` })}
      <p>${t`New sites and scans appear here by themselves.`}</p>`,
  });
