/** Routes of the public pages, in each language: the home page with its form, and the page of a scan by its token. */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ANONYMOUS } from '../../../core/organisation.ts';
import { LOCALES, type Locale } from '../../../core/scan/locales.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { judgeScanUrl, URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { PublicScan } from '../../../stores/scans/public-scans.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { QueuePosition } from '../../scans/queue-positions.ts';
import type { FormError } from '../../web/fields.ts';
import htmlScope, { formOf } from '../../web/html-scope.ts';
import { sendPicture } from '../../scans/scan-views.ts';
import { ApiError } from '../../http/errors.ts';
import { inLanguage } from '../../web/languages.ts';
import { LINK_SECONDS, reportLink, SHARED_LINK_SECONDS } from '../../scans/reports.ts';
import type { Place } from '../estimate.ts';
import { widgetOf } from '../turnstile.ts';
import { describeRefusal, homePage, readScanForm, type ScanForm, typedIn } from './home.ts';
import { type Access, pdfPath, picturePath, scanPage, sharePath, unknownScanPage } from './scan-page.ts';

const LIMITED = { network: 'links' } as const;

export const publicPages: FastifyPluginAsync = async (app) => {
  await app.register(htmlScope);
  for (const locale of LOCALES) {
    app.get<{ Querystring: { url?: string | string[] } }>(inLanguage(locale, '/'), async (request, reply) => {
      const [url = ''] = [request.query.url ?? ''].flat();
      return showForm(request, reply, { locale, typed: { url: url.slice(0, URL_MAX_LENGTH), email: '' }, errors: [], status: 200 });
    });
    // A form with errors has this address. Who opens it again starts with an empty form.
    app.get(inLanguage(locale, '/scan-request'), async (_request, reply) => reply.redirect(inLanguage(locale, '/'), 303));
    app.post(inLanguage(locale, '/scan-request'), async (request, reply) => submit(locale, request, reply));
    for (const access of ACCESSES)
      app.get<Route>(inLanguage(locale, PATHS[access]), { config: LIMITED }, async (request, reply) =>
        showScan({ locale, access }, request, reply),
      );
    app.post<Route>(inLanguage(locale, sharePath(':token')), { config: LIMITED }, async (request, reply) => share(locale, request, reply));
  }
  for (const access of ACCESSES) addFiles(app, access);
};

/** The pictures and the PDF of a result. */
function addFiles(app: FastifyInstance, access: Access): void {
  app.get<{ Params: { token: string; name: string } }>(picturePath(PATHS[access], ':name'), { config: LIMITED }, async (request, reply) => {
    const row = await rowOf(app, access, request.params.token);
    if (row === null || row.reports === null) throw new ApiError('report_not_found');
    return sendPicture(reply, app.scanViews, row, request.params.name);
  });
  app.get<Route>(pdfPath(PATHS[access]), { config: LIMITED }, async (request, reply) => {
    const row = await rowOf(app, access, request.params.token);
    const link = await reportLink(row, 'pdf', app.anonymousStores.reports, access === 'shared' ? SHARED_LINK_SECONDS : LINK_SECONDS);
    return reply.header('Cache-Control', 'no-store').redirect(link, 303);
  });
}
const ACCESSES = ['own', 'shared'] as const satisfies readonly Access[];
const PATHS: Readonly<Record<Access, string>> = { own: '/scan/:token', shared: '/shared/:token' };

interface Route {
  Params: { token: string };
}

function find({ anonymousStores: { publicScans } }: FastifyInstance, access: Access, token: string): Promise<PublicScan | null> {
  return access === 'own' ? publicScans.findByToken(token) : publicScans.findByShare(token);
}

async function rowOf(app: FastifyInstance, access: Access, token: string): Promise<ScanRow | null> {
  const scan = await find(app, access, token);
  return scan && app.anonymousStores.scans.find(scan.scanId, ANONYMOUS);
}

interface FormState {
  locale: Locale;
  typed: ScanForm;
  errors: readonly FormError[];
  status: number;
}

async function showForm(request: FastifyRequest, reply: FastifyReply, { status, ...state }: FormState): Promise<FastifyReply> {
  const { publicScanning, settings } = request.server;
  const turnstile = widgetOf(settings.publicScans?.turnstile);
  const seconds = await secondsUntil(request.server, undefined);
  const page = homePage({ request, enabled: publicScanning !== null, turnstile, seconds, ...state });
  return reply.page(page, { status, ...(turnstile !== null && { trust: new URL(turnstile.script).origin }) });
}

/** How long a page waits for an estimate, in milliseconds. */
const ESTIMATE_WAIT_MS = 500;

/** @returns null if it is unknown at the moment; the page then promises no time */
async function secondsUntil({ publicScanning }: FastifyInstance, place: Place | undefined): Promise<number | null> {
  if (publicScanning === null) return null;
  return withTimeLimit(publicScanning.estimate(place), ESTIMATE_WAIT_MS, 'estimating a public scan').catch(() => null);
}

async function submit(locale: Locale, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = formOf(request.body);
  const typed = typedIn(form);
  const read = readScanForm(form, locale);
  if (!read.ok) {
    const errors = [...(await targetErrors(request, read.url, locale)), ...read.errors];
    return showForm(request, reply, { locale, typed, errors, status: 422 });
  }
  const { url, httpFallback, email, turnstileToken } = read;
  const asked = {
    url,
    httpFallback,
    email,
    locale,
    turnstileToken,
    address: request.address,
    requestId: request.id,
    traceparent: request.span?.traceparent,
  };
  const { publicScanning, logger } = request.server;
  const outcome =
    publicScanning === null
      ? ({ ok: false, reason: 'public_scans_disabled' } as const)
      : await publicScanning.requestPublicScan(asked, logger);
  // 303, so that reloading the page of the scan sends nothing again.
  if (outcome.ok) return reply.redirect(inLanguage(locale, `/scan/${outcome.token}`), 303);
  const { status, errors, retryAfterSeconds } = describeRefusal(outcome, locale);
  if (retryAfterSeconds !== null) reply.header('Retry-After', retryAfterSeconds);
  return showForm(request, reply, { locale, typed, errors, status });
}

/** What is wrong with the target of a form that has another error. It counts as a request, because names are resolved. */
async function targetErrors({ server, address }: FastifyRequest, url: string | null, locale: Locale): Promise<FormError[]> {
  const { publicScanning, networkLimits, settings, resolver } = server;
  if (url === null || publicScanning === null || !networkLimits.admit('public-requests', address).ok) return [];
  const judged = await judgeScanUrl(url, settings.targets, resolver);
  if (judged.ok || judged.reason === 'dns_unavailable') return [];
  return describeRefusal({ ok: false, reason: 'target_refused', target: { ...judged, reason: judged.reason } }, locale).errors;
}

/** The token is the permission, as in the address of the page. */
async function share(locale: Locale, request: FastifyRequest<Route>, reply: FastifyReply): Promise<FastifyReply> {
  const { token } = request.params;
  const { publicScans } = request.server.anonymousStores;
  if (formOf(request.body).text('action') === 'revoke') await publicScans.unshare(token);
  else await publicScans.share(token);
  return reply.redirect(`${inLanguage(locale, `/scan/${token}`)}#share`, 303);
}

async function showScan(
  { locale, access }: { locale: Locale; access: Access },
  request: FastifyRequest<Route>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const app = request.server;
  const { scans, suppressions } = app.anonymousStores;
  const scan = await find(app, access, request.params.token);
  if (scan === null) return reply.page(unknownScanPage(request, locale), { status: 404 });
  const row = await scans.find(scan.scanId, ANONYMOUS);
  const position = row === null ? undefined : await app.queuePositions(row);
  const view = row?.phase === 'done' && row.reports !== null ? await app.scanViews.readView(row) : null;
  const live = row !== null && !isTerminal(row.phase);
  const seconds = live ? await secondsUntil(app, placeOf(row, position, app.now())) : null;
  const mailed = !live || (await suppressions.find(scan.email, 'public')) === null;
  return reply.page(scanPage({ request, locale, scan, row, position, seconds, mailed, access, view }));
}

/** Where a live scan is. A scan that has left the queue has no position. */
function placeOf({ phase, startedAt }: ScanRow, position: QueuePosition | undefined, now: Date): Place {
  if (phase === 'queued') return { before: position?.position == null ? null : position.position - 1, ranSeconds: 0 };
  return { before: 0, ranSeconds: startedAt === undefined ? 0 : Math.max(0, (now.getTime() - startedAt.getTime()) / 1000) };
}
