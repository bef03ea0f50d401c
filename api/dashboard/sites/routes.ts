/** The pages of sites. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { DASHBOARD_PATH } from '../../../core/web-paths.ts';
import { LIVE_PHASES } from '../../../core/scan/phases.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import type { NextRun } from '../../../stores/schedules/schedules.ts';
import type { Position } from '../../../stores/scans/positions.ts';
import type { Site } from '../../../stores/scans/sites.ts';
import { type ScopedStores, storesOf } from '../../accounts/scoped-stores.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { actorNames } from '../names.ts';
import { ApiError } from '../../http/errors.ts';
import { notice } from '../../web/components.ts';
import { html } from '../../../report/html/html.ts';
import { dashboardPage } from '../../web/layout.ts';
import { doneOf } from '../forms.ts';
import { readSteps } from '../credits.ts';
import { admit, sendFragment } from '../scans/deps.ts';
import { pointsOf, TREND_MAX } from '../scans/routes.ts';
import {
  activeSiteFilters,
  type ListedSite,
  readSiteQuery,
  siteListBody,
  type SiteListData,
  siteListFragment,
  SITES_CSV,
  SITES_FRAGMENT,
  sitesCsv,
  toSiteSearch,
} from './list.ts';
import { sitePageBody, type SitePageData } from './page.ts';

/** Sites on one page. */
const PAGE_SIZE = 25;
/** Sites in the CSV, and how many are read at a time. */
const CSV_SITES_MAX = 2_000;
const CSV_PART = 200;
/** Scans in progress above the list. */
const LIVE_MAX = 5;
/** Scans and schedules on the page of a site. */
const LATEST_MAX = 10;
const SCHEDULES_MAX = 20;

const config = { permission: 'scans:read' } as const;

export const sitePages: FastifyPluginAsync = async (scope) => {
  scope.get(DASHBOARD_PATH, { config }, async (request, reply) => {
    const done = doneOf(request, { 'site-deleted': 'The site was deleted. Its reports follow within minutes.' });
    const body = html`${done && notice({ kind: 'good', body: done, announce: true })} ${siteListBody(await listData(request))}`;
    return reply.page(dashboardPage({ request, title: 'Sites', active: 'sites', scripts: ['dashboard.js'], body }));
  });

  scope.get(SITES_FRAGMENT, { config }, async (request, reply) => sendFragment(request, reply, siteListFragment(await listData(request))));

  scope.get(SITES_CSV, { config }, async (request, reply) => {
    await admit(request, reply, 'reports');
    const stores = storesOf(request);
    const query = readSiteQuery(request.query as Record<string, unknown>);
    const listed: ListedSite[] = [];
    let after: Position | null = null;
    do {
      const found = await stores.sites.search(toSiteSearch({ ...query, after }, CSV_PART));
      listed.push(...(await withScans(stores, found.sites)));
      after = found.next;
    } while (after !== null && listed.length < CSV_SITES_MAX);
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="sites.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    return reply.send(sitesCsv(listed, after !== null));
  });

  for (const path of ['/dashboard/sites/:site', '/dashboard/sites/:site/:optionsKey'])
    scope.get<{ Params: { site: string; optionsKey?: string } }>(path, { config }, async (request, reply) => {
      const caller = callerOf(request);
      const may = { maySchedule: mayCall(caller, 'scans:write'), mayDelete: mayCall(caller, 'members:write') };
      const data = { ...(await siteData(storesOf(request), request.params)), ...may };
      const title = `Site ${data.site.site}`;
      return reply.page(dashboardPage({ request, title, active: 'sites', body: sitePageBody(data) }));
    });
};

/** Four queries, however many scans and sites there are, a fifth one if filters need it, and others while there is no site. */
async function listData(request: FastifyRequest): Promise<SiteListData> {
  const stores = storesOf(request);
  const query = readSiteQuery(request.query as Record<string, unknown>);
  const [{ sites, next }, live] = await Promise.all([
    stores.sites.search(toSiteSearch(query, PAGE_SIZE)),
    stores.scans.search({ phases: LIVE_PHASES, limit: LIVE_MAX }),
  ]);
  const isNew = sites.length === 0 && next === null && query.after === null && activeSiteFilters(query) === 0 && live.rows.length === 0;
  return {
    query,
    sites: await withScans(stores, sites),
    next,
    live: { rows: live.rows, more: live.next !== null },
    steps: isNew ? await readSteps(stores) : null,
    permissions: request.viewer!.permissions,
    baseUrl: request.server.web.publicBaseUrl,
  };
}

/** A site whose newest scan was removed a moment ago has its newest result instead. It is left out if that was removed, too. */
async function withScans({ scans, schedules }: ScopedStores, sites: readonly Site[]): Promise<ListedSite[]> {
  if (sites.length === 0) return [];
  const [rows, runs] = await Promise.all([
    scans.findMany([...new Set(sites.flatMap(({ scan, done }) => (done === null ? [scan] : [scan, done])))]),
    schedules.nextRuns([...new Set(sites.map(({ site }) => site))]),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return sites.flatMap((site) => {
    const { newest, done } = rowsOf(site, byId);
    return newest === null ? [] : [{ site, newest, done, nextAt: nextOf(site, runs) }];
  });
}

function rowsOf({ scan, done }: Site, byId: ReadonlyMap<string, ScanRow>): { newest: ScanRow | null; done: ScanRow | null } {
  const result = (done !== null && byId.get(done)) || null;
  return { newest: byId.get(scan) ?? result, done: result };
}

/** The soonest run. */
const nextOf = ({ site, optionsKey }: Site, runs: readonly NextRun[]): Date | null =>
  runs.find((run) => run.site === site && run.optionsKey === optionsKey)?.nextAt ?? null;

/** @throws ApiError if the organisation has no ended scan of the site with these options */
async function siteData(
  stores: ScopedStores,
  params: { site: string; optionsKey?: string },
): Promise<Omit<SitePageData, 'maySchedule' | 'mayDelete'>> {
  const { scans, schedules } = stores;
  const host = params.site.toLowerCase();
  // The list of sites leads to more groups than the page of one names.
  const [groups, asked] = await Promise.all([
    stores.sites.of(host),
    params.optionsKey === undefined ? null : stores.sites.find(host, params.optionsKey),
  ]);
  const site = params.optionsKey === undefined ? groups[0] : asked;
  if (!site) throw new ApiError('not_found');
  const rows = await scans.findMany([site.scan, ...groups.map(({ scan }) => scan), ...(site.done === null ? [] : [site.done])]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const { newest, done } = rowsOf(site, byId);
  if (newest === null) throw new ApiError('not_found');
  const of = { site: site.site, optionsKey: site.optionsKey };
  const [trend, scheduled, latest] = await Promise.all([
    done === null ? [] : scans.trend(done, TREND_MAX),
    schedules.list({ of, limit: SCHEDULES_MAX }),
    scans.search({ ...of, limit: LATEST_MAX }),
  ]);
  const others = groups.flatMap((one) => {
    const row = byId.get(one.scan);
    return one.optionsKey === site.optionsKey || row === undefined ? [] : [{ site: one, newest: row }];
  });
  const names = await actorNames(stores, [newest, done, ...latest.rows], (row) => row?.submittedBy);
  return { site, newest, done, trend: pointsOf(trend), schedules: scheduled, latest: latest.rows, names, others };
}
