/** The page of one scan, and the parts of it that load later. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { differencePath, SCANS_PATH } from '../../../core/web-paths.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { siteOf } from '../../../core/scan/site.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { CSV_TABLES } from '../../../report/schema/objects.ts';
import { titleOf } from '../../../report/html/cause.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { sendPicture } from '../../scans/scan-views.ts';
import { ApiError } from '../../http/errors.ts';
import { sessionCredential } from '../../streams/event-streams.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { annotate } from '../../http/plugins/request-log.ts';
import { formatLink, reportLink } from '../../scans/reports.ts';

import { storesOf } from '../../accounts/scoped-stores.ts';
import { breadcrumb } from '../../web/components.ts';
import { html } from '../../../report/html/html.ts';
import { isOfManifest } from '../../scans/cancellation.ts';
import { dashboardPage } from '../../web/layout.ts';
import { actorNames } from '../names.ts';
import { picturePath, targetsOf } from '../findings/list.ts';
import { findCause, findingsReader, readCauseQuery, selectCauses } from '../findings/select.ts';
import { causeOfCheck, newestByCause } from './check.ts';
import { type Difference, differenceSection } from './difference.ts';
import { listBefore } from './list-query.ts';
import { eventsPath, liveFragment, scanBody, scanEnded, type ScanPageData, scanProgress, scanTitle } from './page.ts';
import type { TrendPoint } from './trend.ts';
import { admit, scanIdOf, sendFragment } from './deps.ts';
import { t } from '../../web/texts.ts';

/** Scans in the chart. */
export const TREND_MAX = 30;
const VIEW_TIMEOUT_MS = 4_000;

const config = { permission: 'scans:read' } as const;

/** The scan of the path. @throws ApiError if the organisation has no such scan */
export async function scanOf(request: FastifyRequest): Promise<ScanRow> {
  const id = scanIdOf(request);
  annotate(request, { scan: id });
  const row = await storesOf(request).scans.find(id);
  if (row === null) throw new ApiError('scan_not_found');
  return row;
}

export interface ScanPageReply {
  row: ScanRow;
  /** The result of what the person did. */
  message: ScanPageData['message'];
  status?: number;
  /** The key of the form that scans again. Default: a new one. */
  idempotencyKey?: string | null;
}

export async function sendScanPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { row, message, status, idempotencyKey }: ScanPageReply,
): Promise<FastifyReply> {
  const { scans, credits } = storesOf(request);
  const ended = isTerminal(row.phase);
  const mayWrite = mayCall(callerOf(request), 'scans:write');
  const [position, view, trend, account, names, checks, checkedCause] = await Promise.all([
    request.server.queuePositions(row),
    row.reports !== null ? viewOf(request, row) : null,
    ended && !row.test && !isCheck(row) ? scans.trend(row, TREND_MAX) : [],
    ended && mayWrite ? credits.account() : null,
    actorNames(storesOf(request), [row], ({ submittedBy }) => submittedBy),
    row.reports !== null ? scans.checksOf(row.id) : [],
    checkedCauseName(request, row),
  ]);
  const query = readCauseQuery(request.query as Record<string, unknown>);
  const causes = view === null || view === 'unavailable' ? null : await selectCauses(view, query, findingsReader(request, row));
  const about = causes === null ? [] : causes.causes.flatMap((cause) => targetsOf(causes.query.list, cause));
  const body = scanBody({
    row,
    list: listBefore(request.headers.referer, request.host),
    names,
    position,
    checks: newestByCause(checks),
    checkedCause,
    view,
    causes,
    trend: pointsOf(trend),
    ofManifest: isOfManifest(row, request.server.stores.scanResources.namespace),
    mayAccept: mayCall(callerOf(request), 'known-issues:write'),
    issues: await storesOf(request).knownIssues.about(siteOf(row.options.url), about, request.server.now()),
    write: mayWrite
      ? {
          csrfToken: request.viewer!.csrfToken,
          idempotencyKey: idempotencyKey ?? randomUUID(),
          credits: account?.balance ?? null,
        }
      : null,
    message,
  });
  return reply.page(dashboardPage({ request, title: scanTitle(row), active: 'scans', scripts: ['dashboard.js'], body }), { status });
}

/** What the root cause of a check is called. Null: unknown, or there is none. */
async function checkedCauseName(request: FastifyRequest, row: ScanRow): Promise<string | null> {
  const asked = causeOfCheck(row);
  const origin = asked && (await storesOf(request).scans.find(asked.scan));
  const view = origin && (await viewOf(request, origin));
  const line = view && view !== 'unavailable' ? findCause(view, 'violations', asked!.cause) : undefined;
  return line === undefined ? null : t`“${titleOf(view as ReportView, line.rule)}” (${line.element})`;
}

/** The page is of use without its findings. */
async function viewOf({ server: { scanViews, logger } }: FastifyRequest, row: ScanRow): Promise<ScanPageData['view']> {
  try {
    return await withTimeLimit(scanViews.readView(row), VIEW_TIMEOUT_MS, 'reading a view');
  } catch (error) {
    logger.warn({ scan: row.id, err: error }, 'view not read');
    return 'unavailable';
  }
}

/** Oldest first. */
export const pointsOf = (rows: readonly ScanRow[]): TrendPoint[] =>
  rows
    .flatMap(({ id, createdAt, outcome }) =>
      outcome === null
        ? []
        : [
            {
              id,
              at: createdAt,
              score: outcome.score,
              violations: outcome.violations.total,
              difference: outcome.baseline?.difference ?? null,
            },
          ],
    )
    .reverse();

export const scanPages: FastifyPluginAsync = async (scope) => {
  scope.get('/dashboard/scans/:id', { config }, async (request, reply) => {
    const canceling = (request.query as Record<string, unknown>)['canceling'] !== undefined;
    const row = await scanOf(request);
    const message = canceling && !isTerminal(row.phase) ? ({ kind: 'note', text: t`The scan is being canceled.` } as const) : null;
    return sendScanPage(request, reply, { row, message });
  });

  scope.get(liveFragment(':id'), { config }, async (request, reply) => {
    const row = await scanOf(request);
    if (isTerminal(row.phase)) return sendFragment(request, reply, scanEnded(row));
    const csrfToken = mayCall(callerOf(request), 'scans:write') ? request.viewer!.csrfToken : null;
    const ofManifest = isOfManifest(row, scope.stores.scanResources.namespace);
    return sendFragment(request, reply, scanProgress({ row, position: await request.server.queuePositions(row), ofManifest, csrfToken }));
  });

  // The response to HEAD would be a stream that never ends.
  scope.get(eventsPath(':id'), { config, exposeHeadRoute: false }, async (request, reply) => {
    const { organisation, actor } = callerOf(request);
    if (actor.kind !== 'user') throw new ApiError('session_required');
    const id = scanIdOf(request);
    annotate(request, { scan: id });
    return scope.eventStreams.send(reply, { credential: sessionCredential(actor.sessionId), organisation: organisation.id }, id);
  });

  scope.get(differencePath(':id'), { config }, async (request, reply) => {
    const row = await scanOf(request);
    const section = differenceSection(row, await differenceOf(request, row));
    const trail = breadcrumb([
      { text: t`Scans`, href: SCANS_PATH },
      { text: t`Scan`, href: `/dashboard/scans/${row.id}` },
      { text: t`Difference` },
    ]);
    const body = html`${trail}
      <h1>${t`Difference of two scans`}</h1>
      ${section}`;
    return reply.page(dashboardPage({ request, title: t`Difference of two scans`, active: 'scans', body }));
  });

  scope.get<{ Params: { name: string } }>(picturePath(':id', ':name'), { config }, async (request, reply) => {
    const row = await scanOf(request);
    if (row.reports === null) throw new ApiError('report_not_found');
    return sendPicture(reply, scope.scanViews, row, request.params.name);
  });

  const { reports } = scope.stores;
  for (const [path, linkOf] of Object.entries<(row: ScanRow) => Promise<string>>({
    report: (row) => reportLink(row, 'pdf', reports),
    'report/json': (row) => reportLink(row, 'export', reports),
    'report/html': (row) => formatLink(row, 'html', scope),
    'report/openacr': (row) => formatLink(row, 'openacr', scope),
    'report/barriers': (row) => formatLink(row, 'barriers', scope),
    ...Object.fromEntries(
      Object.entries(CSV_TABLES).map(([table, format]) => [`report/${table}.csv`, (row: ScanRow) => formatLink(row, format, scope)]),
    ),
  }))
    scope.get(`/dashboard/scans/:id/${path}`, { config }, async (request, reply) => {
      await admit(request, reply, 'reports');
      return reply.header('Cache-Control', 'no-store').redirect(await linkOf(await scanOf(request)), 303);
    });
};

async function differenceOf(request: FastifyRequest, row: ScanRow): Promise<Difference> {
  if (row.phase !== 'done') return null;
  const { scans } = storesOf(request);
  const { scanId } = row.outcome?.baseline ?? {};
  const previous = scanId === undefined ? await scans.previousDone(row) : await scans.find(scanId);
  if (previous === null) return null;
  return { previous, compared: await request.server.comparisons.between(previous, row) };
}
