/** The pages of sites. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { DASHBOARD_PATH, sitePath } from '../../../core/web-paths.ts';
import { LIVE_PHASES } from '../../../core/scan/phases.ts';
import { LABELS_MAX } from '../../../stores/scans/sites.ts';
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
import { mainOf, othersOf, readSites, readSitesCsv, rowsOf } from '../../scans/sites.ts';
import { admit, sendFragment } from '../scans/deps.ts';
import { pointsOf, TREND_MAX } from '../scans/routes.ts';
import {
  activeSiteFilters,
  OTHERS_LISTED,
  readSiteQuery,
  siteListBody,
  type SiteListData,
  siteListFragment,
  SITES_CSV,
  SITES_FRAGMENT,
} from './list.ts';
import { SITE_NAME_MAX, sitePageBody, type SitePageData } from './page.ts';
import { t } from '../../web/texts.ts';

/** Sites on one page. */
const PAGE_SIZE = 25;
/** Scans in progress above the list. */
const LIVE_MAX = 5;
/** Scans and schedules on the page of a site. */
const LATEST_MAX = 10;
const SCHEDULES_MAX = 20;

const config = { permission: 'scans:read' } as const;

export const sitePages: FastifyPluginAsync = async (scope) => {
  scope.get(DASHBOARD_PATH, { config }, async (request, reply) => {
    const done = doneOf(request, { 'site-deleted': t`The site was deleted. Its reports follow within minutes.` });
    const body = html`${done && notice({ kind: 'good', body: done, announce: true })} ${siteListBody(await listData(request))}`;
    return reply.page(dashboardPage({ request, title: t`Sites`, active: 'sites', scripts: ['dashboard.js'], body }));
  });

  scope.get(SITES_FRAGMENT, { config }, async (request, reply) => sendFragment(request, reply, siteListFragment(await listData(request))));

  scope.get(SITES_CSV, { config }, async (request, reply) => {
    await admit(request, reply, 'reports');
    const query = readSiteQuery(request.query as Record<string, unknown>);
    const csv = await readSitesCsv(storesOf(request), { ...query, after: null });
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="sites.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    return reply.send(csv);
  });

  async function sendSite(request: FastifyRequest<SiteRoute>, reply: FastifyReply, errors: readonly FormError[] = [], status = 200) {
    const caller = callerOf(request);
    const may = { mayWrite: mayCall(caller, 'scans:write'), mayDelete: mayCall(caller, 'members:write') };
    const found = await siteData(storesOf(request), request.params);
    const watch = await watchPart(request, found.site.site);
    const data = { ...found, ...may, csrf: csrfField(request), errors, watch };
    const done = doneOf(request, { label: t`The name, and whether the list has the site, are saved.` });
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
      return sendSite(request, reply, [{ field: 'name', text: t`Enter at most ${SITE_NAME_MAX} characters.` }], 422);
    if (!(await sites.label({ site, name, hidden }))) return sendSite(request, reply, [{ field: null, text: tooManyLabels() }], 409);
    const changes = [name !== before.name && 'site.name', hidden !== before.hidden && (hidden ? 'site.hide' : 'site.show')];
    for (const action of changes.filter((one) => one !== false))
      await recordChange(request, scope.logger, { action, subject: action === 'site.name' ? `${site}: ${name ?? '–'}` : site });
    return reply.redirect(`${sitePath(site)}?done=label`, 303);
  });
};

type SiteRoute = { Params: { site: string; optionsKey?: string } };

const tooManyLabels = (): string => t`The organisation has named or hidden ${LABELS_MAX} sites. Remove the name of one, or show it again.`;

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
