/** Routes of the public pages, in each language: the home page with its form, and the page of a scan by its token. */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ANONYMOUS } from '../../../core/organisation.ts';
import { LOCALES, type Locale } from '../../../core/scan/locales.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import type { Logger } from '../../../platform/logger.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { PublicScan, PublicScans } from '../../../stores/public-scans/public-scans.ts';
import type { Suppressions } from '../../../stores/mail/suppressions.ts';
import type { ScanRow, Scans } from '../../../stores/scans/scans.ts';
import type { QueuePosition, QueuePositions } from '../../scans/queue-positions.ts';
import type { FormError } from '../../web/components/fields.ts';
import htmlScope, { formOf } from '../../web/html-scope.ts';
import { sendPicture } from '../../scans/element-pictures.ts';
import { ApiError } from '../../http/errors.ts';
import { inLanguage } from '../../web/languages.ts';
import { LINK_SECONDS, reportLink, SHARED_LINK_SECONDS, type ReportObjects } from '../../scans/report-links.ts';
import type { PageReports } from '../../scans/views.ts';
import type { Estimate, Place } from '../estimate.ts';
import type { RequestPublicScan } from '../public-scan.ts';
import { describeRefusal, readScanForm, typedIn, type ScanForm } from './form.ts';
import { homePage, type TurnstileWidget } from './home.ts';
import { scanPage, unknownScanPage } from './scan-page.ts';
import { pdfPath, picturePath, sharePath, type Access } from './share.ts';

export interface PublicPagesDeps {
  /** Null: this installation offers no public scans. */
  requestPublicScan: RequestPublicScan | null;
  /** Null as `requestPublicScan`. */
  estimate: Estimate | null;
  now(): Date;
  /** Null: there is no check for programs. */
  turnstile: TurnstileWidget | null;
  publicScans: Pick<PublicScans, 'findByToken' | 'findByShare' | 'share' | 'unshare'>;
  scans: Pick<Scans, 'find'>;
  suppressions: Pick<Suppressions, 'find'>;
  reports: Pick<PageReports, 'readView' | 'readPicture'>;
  reportObjects: ReportObjects;
  positions: QueuePositions;
  logger: Logger;
}

const LIMITED = { network: 'links' } as const;

export const publicPages: FastifyPluginAsync<PublicPagesDeps> = async (app, deps) => {
  await app.register(htmlScope);
  for (const locale of LOCALES) {
    app.get<{ Querystring: { url?: string | string[] } }>(inLanguage(locale, '/'), async (request, reply) => {
      const [url = ''] = [request.query.url ?? ''].flat();
      return showForm(deps, request, reply, { locale, typed: { url: url.slice(0, URL_MAX_LENGTH), email: '' }, errors: [], status: 200 });
    });
    // A form with errors has this address. Who opens it again starts with an empty form.
    app.get(inLanguage(locale, '/scan-request'), async (_request, reply) => reply.redirect(inLanguage(locale, '/'), 303));
    app.post(inLanguage(locale, '/scan-request'), async (request, reply) => submit(deps, locale, request, reply));
    for (const access of ACCESSES)
      app.get<Route>(inLanguage(locale, PATHS[access]), { config: LIMITED }, async (request, reply) =>
        showScan(deps, { locale, access }, request, reply),
      );
    app.post<Route>(inLanguage(locale, sharePath(':token')), { config: LIMITED }, async (request, reply) =>
      share(deps, locale, request, reply),
    );
  }
  for (const access of ACCESSES) addFiles(app, deps, access);
};

/** The pictures and the PDF of a result. */
function addFiles(app: FastifyInstance, deps: PublicPagesDeps, access: Access): void {
  app.get<{ Params: { token: string; name: string } }>(picturePath(PATHS[access], ':name'), { config: LIMITED }, async (request, reply) => {
    const row = await rowOf(deps, access, request.params.token);
    if (row === null || row.reports === null) throw new ApiError('report_not_found');
    return sendPicture(reply, deps.reports, row, request.params.name);
  });
  app.get<Route>(pdfPath(PATHS[access]), { config: LIMITED }, async (request, reply) => {
    const row = await rowOf(deps, access, request.params.token);
    const link = await reportLink(row, 'pdf', deps.reportObjects, access === 'shared' ? SHARED_LINK_SECONDS : LINK_SECONDS);
    return reply.header('Cache-Control', 'no-store').redirect(link, 303);
  });
}
const ACCESSES = ['own', 'shared'] as const satisfies readonly Access[];
const PATHS: Readonly<Record<Access, string>> = { own: '/scan/:token', shared: '/shared/:token' };

interface Route {
  Params: { token: string };
}

const find = ({ publicScans }: PublicPagesDeps, access: Access, token: string): Promise<PublicScan | null> =>
  access === 'own' ? publicScans.findByToken(token) : publicScans.findByShare(token);

async function rowOf(deps: PublicPagesDeps, access: Access, token: string): Promise<ScanRow | null> {
  const scan = await find(deps, access, token);
  return scan && deps.scans.find(scan.scanId, ANONYMOUS);
}

interface FormState {
  locale: Locale;
  typed: ScanForm;
  errors: readonly FormError[];
  status: number;
}

async function showForm(
  deps: PublicPagesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { status, ...state }: FormState,
): Promise<FastifyReply> {
  const { requestPublicScan, turnstile } = deps;
  const seconds = await secondsUntil(deps, undefined);
  const page = homePage({ request, enabled: requestPublicScan !== null, turnstile, seconds, ...state });
  return reply.page(page, { status, ...(turnstile !== null && { trust: new URL(turnstile.script).origin }) });
}

/** How long a page waits for an estimate, in milliseconds. */
const ESTIMATE_WAIT_MS = 500;

/** @returns null if it is unknown at the moment; the page then promises no time */
async function secondsUntil({ estimate }: PublicPagesDeps, place: Place | undefined): Promise<number | null> {
  if (estimate === null) return null;
  return withTimeLimit(estimate(place), ESTIMATE_WAIT_MS, 'estimating a public scan').catch(() => null);
}

async function submit(deps: PublicPagesDeps, locale: Locale, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = formOf(request.body);
  const typed = typedIn(form);
  const read = readScanForm(form, locale);
  if (!read.ok) return showForm(deps, request, reply, { locale, typed, errors: read.errors, status: 422 });
  const { url, httpFallback, email, turnstileToken } = read;
  const asked = {
    url,
    httpFallback,
    email,
    locale,
    turnstileToken,
    address: request.ip,
    requestId: request.id,
    traceparent: request.span?.traceparent,
  };
  const outcome =
    deps.requestPublicScan === null
      ? ({ ok: false, reason: 'public_scans_disabled' } as const)
      : await deps.requestPublicScan(asked, deps.logger);
  // 303, so that reloading the page of the scan sends nothing again.
  if (outcome.ok) return reply.redirect(inLanguage(locale, `/scan/${outcome.token}`), 303);
  const { status, errors, retryAfterSeconds } = describeRefusal(outcome, locale);
  if (retryAfterSeconds !== null) reply.header('Retry-After', retryAfterSeconds);
  return showForm(deps, request, reply, { locale, typed, errors, status });
}

/** The token is the permission, as in the address of the page. */
async function share(deps: PublicPagesDeps, locale: Locale, request: FastifyRequest<Route>, reply: FastifyReply): Promise<FastifyReply> {
  const { token } = request.params;
  if (formOf(request.body).text('action') === 'revoke') await deps.publicScans.unshare(token);
  else await deps.publicScans.share(token);
  return reply.redirect(`${inLanguage(locale, `/scan/${token}`)}#share`, 303);
}

async function showScan(
  deps: PublicPagesDeps,
  { locale, access }: { locale: Locale; access: Access },
  request: FastifyRequest<Route>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const scan = await find(deps, access, request.params.token);
  if (scan === null) return reply.page(unknownScanPage(request, locale), { status: 404 });
  const row = await deps.scans.find(scan.scanId, ANONYMOUS);
  const position = row === null ? undefined : await deps.positions(row);
  const view = row?.phase === 'done' && row.reports !== null ? await deps.reports.readView(row) : null;
  const live = row !== null && !isTerminal(row.phase);
  const seconds = live ? await secondsUntil(deps, placeOf(row, position, deps.now())) : null;
  const mailed = !live || (await deps.suppressions.find(scan.email, 'public')) === null;
  return reply.page(scanPage({ request, locale, scan, row, position, seconds, mailed, access, view }));
}

/** Where a live scan is. A scan that has left the queue has no position. */
function placeOf({ phase, startedAt }: ScanRow, position: QueuePosition | undefined, now: Date): Place {
  if (phase === 'queued') return { before: position?.position == null ? null : position.position - 1, ranSeconds: 0 };
  return { before: 0, ranSeconds: startedAt === undefined ? 0 : Math.max(0, (now.getTime() - startedAt.getTime()) / 1000) };
}
