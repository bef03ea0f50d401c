/** The list of scans. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { versionText } from '../../../core/scan/metadata.ts';
import { DASHBOARD_PATH, SCANS_PATH } from '../../../core/web-paths.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import type { Position } from '../../../stores/scans/positions.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { type Column, emptyState, link, linkButton, notice, pagination, table, type TableRow, time } from '../../web/components.ts';
import { attributes, html, type Html } from '../../../report/html/html.ts';
import { actorNames, type ActorNames } from '../names.ts';
import { ALL_SCANS, filterForm, isFiltered, listHref, type ListQuery, readListQuery, toSearch } from './list-query.ts';
import { mayCall } from '../../../core/accounts.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { dashboardPage } from '../../web/layout.ts';
import { sendFragment } from './deps.ts';
import {
  count,
  kindBadge,
  nothingYet,
  number,
  originOf,
  type OriginWords,
  partsOf,
  PHASE_WORDS,
  progressText,
  shown,
  stateBadge,
  verdictBadge,
  verdictWords,
  violations,
} from './words.ts';
import { forms, t, tr } from '../../web/texts.ts';

/** Scans on one page. */
const PAGE_SIZE = 25;

const config = { permission: 'scans:read' } as const;

export const scanListPages: FastifyPluginAsync = async (scope) => {
  scope.get(SCANS_PATH, { config }, async (request, reply) => {
    const deleted = (request.query as Record<string, unknown>)['deleted'] !== undefined;
    const body = html`${deleted && notice({ kind: 'good', title: t`The scan was deleted.`, announce: true })}
    ${scanListBody(await listData(request))}`;
    return reply.page(dashboardPage({ request, title: t`Scans`, active: 'scans', scripts: ['dashboard.js'], body }));
  });

  scope.get(LIST_FRAGMENT, { config }, async (request, reply) => sendFragment(request, reply, scanListFragment(await listData(request))));
};

/** Two queries, however many scans there are, and a third one if filters need it. */
async function listData(request: FastifyRequest): Promise<ScanListData> {
  const { scans, credits } = storesOf(request);
  const query = readListQuery(request.query as Record<string, unknown>);
  const [{ rows, next }, account] = await Promise.all([scans.search(toSearch(query, PAGE_SIZE)), credits.account()]);
  return {
    query,
    rows,
    names: await actorNames(storesOf(request), rows, ({ submittedBy }) => submittedBy),
    next,
    account: { liveScans: account?.liveScans ?? 0, credits: account?.balance ?? 0 },
    maySubmit: mayCall(callerOf(request), 'scans:write'),
  };
}

export interface ScanListData {
  query: ListQuery;
  /** The scans of this page, newest first. */
  rows: readonly ScanRow[];
  names: ActorNames;
  /** The position to continue from; null at the end. */
  next: Position | null;
  /** The organisation's live scans and available credits. Null: unknown at the moment. */
  account: { liveScans: number; credits: number } | null;
  maySubmit: boolean;
}

/** The interval between two refreshes of the list, in seconds. */
const REFRESH_SECONDS = 4;
export const LIST_FRAGMENT = `${SCANS_PATH}/rows`;

export function scanListBody(data: ScanListData): Html {
  const { query, maySubmit } = data;
  const newScan = linkButton({ text: t`New scan`, href: '/dashboard/scans/new', kind: 'primary' });
  return html`<div class="page-head"><h1>${t`Scans`}</h1>${maySubmit && newScan}</div>
    ${filterForm(query)} ${scanListFragment(data)}`;
}

/** The part of the list that refreshes itself: numbers, rows and pages. */
export function scanListFragment(data: ScanListData): Html {
  const { query, rows } = data;
  const shownRows = rows.length === 0 ? emptyList(data) : scanTable(rows, data.names);
  return html`<div${attributes({
    id: 'scans',
    'data-fragment': listHref(query, LIST_FRAGMENT),
    'data-seconds': REFRESH_SECONDS,
    'data-announce': announcement(rows[0]),
  })}>
    ${accountLine(data)} ${shownRows} ${pages(data)}
  </div>`;
}

const pages = ({ query, next }: ScanListData): Html =>
  pagination({
    previous: query.after && listHref({ ...query, after: null }),
    next: next && listHref({ ...query, after: next }),
    words: { previous: t`Newest scans`, next: t`Older scans` },
  });

/** Changes when a scan arrives, and when the newest one ends. */
function announcement(newest: ScanRow | undefined): string {
  if (newest === undefined) return '';
  const { host, path } = partsOf(newest.options.url);
  const state = isTerminal(newest.phase) ? tr(PHASE_WORDS[newest.phase].text) : t`In progress`;
  return t`Newest scan: ${host + path}, ${[state, verdictWords(newest)?.text].filter(Boolean).join(', ')}.`;
}

const LIVE = forms('{n} scan in progress', '{n} scans in progress');
const CREDITS = forms('{n} credit left', '{n} credits left');

function accountLine({ account }: ScanListData): Html {
  if (account === null)
    return html`<p class="soft" id="scans-account">${t`The numbers of your organisation are unavailable at the moment.`}</p>`;
  return html`<p class="soft" id="scans-account">
    ${link(count(LIVE, account.liveScans), listHref({ ...ALL_SCANS, state: 'live' }))},
    ${link(count(CREDITS, account.credits), '/dashboard/credits')}
  </p>`;
}

const columns = (): readonly Column[] => [
  { text: t`Page`, class: 'scan-site' },
  { text: t`State` },
  { text: t`Score`, numeric: true },
  { text: t`Violations` },
  { text: t`Verdict` },
  { text: t`Origin`, class: 'scan-origin' },
  { text: t`Submitted`, class: 'scan-time' },
];

export const scanTable = (rows: readonly ScanRow[], names: ActorNames): Html =>
  table({
    id: 'scan-table',
    bodyId: 'scan-rows',
    caption: t`Scans, newest first`,
    captionHidden: true,
    columns: columns(),
    rows: rows.map((row) => scanRow(row, names)),
  });

function scanRow(row: ScanRow, names: ActorNames): TableRow {
  const { id, options, phase, pages, outcome, metadata = {} } = row;
  const version = versionText(metadata);
  const { host, path } = partsOf(options.url);
  const counting = !isTerminal(phase) && phase !== 'queued';
  return {
    id: `scan-${id}`,
    cells: [
      html`<a id="scan-link-${id}" href="/dashboard/scans/${id}">${host}<span class="soft address">${shown(path, 80)}</span></a>${version !== '' && html`<span class="small soft address">${shown(version, 80)}</span>`}`,
      html`${stateBadge(phase)} ${kindBadge(row)}${counting && html`<span class="small soft scan-progress">${progressText(pages)}</span>`}`,
      outcome === null ? nothingYet() : number(outcome.score),
      outcome === null ? nothingYet() : violations(outcome.violations),
      verdictBadge(row),
      originCell(originOf(row, names)),
      time(row.createdAt),
    ],
  };
}

const originCell = ({ text, who }: OriginWords): Html =>
  html`${text}${who !== null && html`<span class="small soft address">${who}</span>`}`;

function emptyList({ query, next }: ScanListData): Html {
  if (next !== null)
    return emptyState({
      title: t`No match so far`,
      text: t`None of the scans that were searched matches. Continue with older scans, or name the site to search all of its scans.`,
    });
  if (isFiltered(query))
    return emptyState({
      title: t`No scan matches`,
      text: t`Change the filters, or show all scans.`,
      action: linkButton({ text: t`Clear filters`, href: SCANS_PATH }),
    });
  if (query.after !== null)
    return emptyState({
      title: t`No more scans`,
      text: t`There are no scans here.`,
      action: linkButton({ text: t`Newest scans`, href: SCANS_PATH }),
    });
  return emptyState({
    title: t`No scans yet`,
    text: t`New scans appear here by themselves.`,
    action: linkButton({ text: t`First steps`, href: DASHBOARD_PATH }),
  });
}
