/** The pages of sites. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { DASHBOARD_PATH, sitePath } from '../../../core/web-paths.ts';
import { LIVE_PHASES } from '../../../core/scan/phases.ts';
import type { ScanRow } from '../../../stores/scans/scan-row.ts';
import type { Position } from '../../../stores/scans/positions.ts';
import { LABELS_MAX, type ListedHost, type Site } from '../../../stores/scans/sites.ts';
import { recordChange, type ScopedStores, storesOf } from '../../accounts/scoped-stores.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { actorNames } from '../names.ts';
import { ApiError } from '../../http/errors.ts';
import { type FormError, notice, titleWithErrors } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html } from '../../../report/html/html.ts';
import { dashboardPage } from '../../web/layout.ts';
import { watchPart } from '../account/mails.ts';
import { csrfField, doneOf } from '../forms.ts';
import { readSteps } from '../credits.ts';
import { admit, sendFragment } from '../scans/deps.ts';
import { pointsOf, TREND_MAX } from '../scans/routes.ts';
import { partsOf } from '../scans/words.ts';
import {
  activeSiteFilters,
  hasVerdict,
  isFor,
  type ListedSite,
  mainOf,
  type OtherGroup,
  OTHERS_LISTED,
  readSiteQuery,
  siteListBody,
  type SiteListData,
  siteListFragment,
  SITES_CSV,
  SITES_FRAGMENT,
  type SiteQuery,
  sitesCsv,
  toSiteSearch,
} from './list.ts';
import { SITE_NAME_MAX, sitePageBody, type SitePageData } from './page.ts';

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
      const found = await readSites(stores, { ...query, after }, CSV_PART, 0);
      listed.push(...found.sites);
      after = found.next;
    } while (after !== null && listed.length < CSV_SITES_MAX);
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="sites.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    return reply.send(sitesCsv(listed, after !== null));
  });

  async function sendSite(request: FastifyRequest<SiteRoute>, reply: FastifyReply, errors: readonly FormError[] = [], status = 200) {
    const caller = callerOf(request);
    const may = { mayWrite: mayCall(caller, 'scans:write'), mayDelete: mayCall(caller, 'members:write') };
    const found = await siteData(storesOf(request), request.params);
    const watch = await watchPart(request, found.site.site);
    const data = { ...found, ...may, csrf: csrfField(request), errors, watch };
    const done = doneOf(request, { label: 'The name, and whether the list has the site, are saved.' });
    const body = html`${done && notice({ kind: 'good', body: done, announce: true })} ${sitePageBody(data)}`;
    const title = titleWithErrors(`Site ${data.host.name ?? data.site.site}`, errors);
    return reply.page(dashboardPage({ request, title, active: 'sites', body }), { status });
  }

  for (const path of ['/dashboard/sites/:site', '/dashboard/sites/:site/:optionsKey'])
    scope.get<SiteRoute>(path, { config }, async (request, reply) => sendSite(request, reply));

  scope.post<SiteRoute>('/dashboard/sites/:site/label', { config: { permission: 'scans:write' } }, async (request, reply) => {
    const { sites } = storesOf(request);
    const before = await sites.of(request.params.site.toLowerCase());
    if (before.groups.length === 0) throw new ApiError('not_found');
    const form = formOf(request.body);
    const [name, hidden, site] = [form.text('name').trim() || null, form.text('hidden') !== '', before.site];
    if (name !== null && name.length > SITE_NAME_MAX)
      return sendSite(request, reply, [{ field: 'name', text: `Enter at most ${SITE_NAME_MAX} characters.` }], 422);
    if (!(await sites.label({ site, name, hidden }))) return sendSite(request, reply, [{ field: null, text: TOO_MANY_LABELS }], 409);
    const changes = [name !== before.name && 'site.name', hidden !== before.hidden && (hidden ? 'site.hide' : 'site.show')];
    for (const action of changes.filter((one) => one !== false))
      await recordChange(request, scope.logger, { action, subject: action === 'site.name' ? `${site}: ${name ?? '–'}` : site });
    return reply.redirect(`${sitePath(site)}?done=label`, 303);
  });
};

type SiteRoute = { Params: { site: string; optionsKey?: string } };

const TOO_MANY_LABELS = `The organisation has named or hidden ${LABELS_MAX} sites. Remove the name of one, or show it again.`;

/** Five queries, however many scans and sites there are, two others if filters need them, and others while there is no site. */
async function listData(request: FastifyRequest): Promise<SiteListData> {
  const stores = storesOf(request);
  const query = readSiteQuery(request.query as Record<string, unknown>);
  const [{ sites, next, hidden }, live] = await Promise.all([
    readSites(stores, query, PAGE_SIZE, OTHERS_LISTED),
    stores.scans.search({ phases: LIVE_PHASES, limit: LIVE_MAX }),
  ]);
  const isNew =
    sites.length === 0 && next === null && hidden === 0 && query.after === null && activeSiteFilters(query) === 0 && live.rows.length === 0;
  return {
    query,
    sites,
    next,
    hidden,
    live: { rows: live.rows, more: live.next !== null },
    steps: isNew ? await readSteps(stores) : null,
    permissions: request.viewer!.permissions,
    baseUrl: request.server.web.publicBaseUrl,
  };
}

/** @param others the most other groups of each site */
async function readSites(stores: ScopedStores, query: SiteQuery, limit: number, others: number) {
  const { sites, ...found } = await stores.sites.search(toSiteSearch(query, limit));
  const matching = (await withScans(stores, sites, others)).filter((one) => hasVerdict(one, query.verdict));
  const listed = matching.slice(0, limit);
  return { ...found, sites: listed, next: matching.length > limit ? listed.at(-1)!.host.position : found.next };
}

/** A site whose newest scan was removed a moment ago has its newest result instead. It is left out if that was removed, too. */
async function withScans({ scans, schedules }: ScopedStores, hosts: readonly ListedHost[], most: number): Promise<ListedSite[]> {
  if (hosts.length === 0) return [];
  const runs = await schedules.nextRuns(hosts.map(({ site }) => site));
  const chosen = hosts.map((host) => {
    const main = mainOf(host.groups, runs)!;
    return { host, main, others: host.groups.filter((one) => one !== main).slice(0, most) };
  });
  const ids = chosen.flatMap(({ main, others }) => [main.scan, main.done, ...others.map(({ scan }) => scan)]);
  const byId = new Map((await scans.findMany(ids.filter((id) => id !== null))).map((row) => [row.id, row]));
  return chosen.flatMap(({ host, main, others }) => {
    const { newest, done } = rowsOf(main, byId);
    const nextAt = runs.find((run) => isFor(run, main))?.nextAt ?? null;
    return newest === null ? [] : [{ host, main, newest, done, nextAt, others: othersOf(others, byId) }];
  });
}

/** A scan from another page of the host that ended without a result says nothing about the site: then the result is the newest. */
function rowsOf({ scan, done }: Site, byId: ReadonlyMap<string, ScanRow>): { newest: ScanRow | null; done: ScanRow | null } {
  const result = (done !== null && byId.get(done)) || null;
  const newest = byId.get(scan) ?? result;
  const isElsewhere = newest?.phase !== 'done' && partsOf(newest?.options.url ?? '').path !== partsOf(result?.options.url ?? '').path;
  return { newest: result !== null && isElsewhere ? result : newest, done: result };
}

const othersOf = (groups: readonly Site[], byId: ReadonlyMap<string, ScanRow>): OtherGroup[] =>
  groups.flatMap((site) => {
    const newest = byId.get(site.scan);
    return newest === undefined ? [] : [{ site, newest }];
  });

/** @throws ApiError if the organisation has no ended scan of the site with these options */
async function siteData(
  stores: ScopedStores,
  params: { site: string; optionsKey?: string },
): Promise<Omit<SitePageData, 'mayWrite' | 'mayDelete' | 'csrf' | 'errors' | 'watch'>> {
  const { scans, schedules } = stores;
  const host = params.site.toLowerCase();
  // Pages of scans lead to more groups than the page of a site names.
  const [{ groups, ...label }, chosen] = await Promise.all([
    stores.sites.of(host),
    params.optionsKey === undefined ? schedules.nextRuns([host]) : stores.sites.find(host, params.optionsKey),
  ]);
  const site = Array.isArray(chosen) ? mainOf(groups, chosen) : chosen;
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
  const others = othersOf(groups.filter(({ optionsKey }) => optionsKey !== site.optionsKey), byId); // prettier-ignore
  const names = await actorNames(stores, [newest, done, ...latest.rows], (row) => row?.submittedBy);
  return { host: label, site, newest, done, trend: pointsOf(trend), schedules: scheduled, latest: latest.rows, names, others };
}
