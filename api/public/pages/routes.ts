/** Routes of the public pages, in each language: the home page with its form, and the page of a scan by its token. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ANONYMOUS } from '../../../core/organisation.ts';
import { LOCALES, type Locale } from '../../../core/scan/locales.ts';
import { URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { PublicScans } from '../../../stores/public-scans/public-scans.ts';
import type { Scans } from '../../../stores/scans/scans.ts';
import type { QueuePositions } from '../../scans/queue-positions.ts';
import type { FormError } from '../../web/components/fields.ts';
import htmlScope, { formOf } from '../../web/html-scope.ts';
import { sendPicture } from '../../scans/element-pictures.ts';
import { ApiError } from '../../http/errors.ts';
import { inLanguage } from '../../web/languages.ts';
import type { PageReports } from '../../scans/views.ts';
import type { RequestPublicScan } from '../public-scan.ts';
import { describeRefusal, readScanForm, typedIn, type ScanForm } from './form.ts';
import { homePage, type TurnstileWidget } from './home.ts';
import { picturePath, scanPage, unknownScanPage } from './scan-page.ts';

export interface PublicPagesDeps {
  /** Null: this installation offers no public scans. */
  requestPublicScan: RequestPublicScan | null;
  /** Null: there is no check for programs. */
  turnstile: TurnstileWidget | null;
  publicScans: Pick<PublicScans, 'findByToken'>;
  scans: Pick<Scans, 'find'>;
  reports: PageReports;
  positions: QueuePositions;
  logger: Logger;
}

const LIMITED = { network: 'links' } as const;

/** The public pages. */
export const publicPages: FastifyPluginAsync<PublicPagesDeps> = async (app, deps) => {
  await app.register(htmlScope);
  for (const locale of LOCALES) {
    app.get<{ Querystring: { url?: string | string[] } }>(inLanguage(locale, '/'), async (request, reply) => {
      const [url = ''] = [request.query.url ?? ''].flat();
      return showForm(deps, request, reply, { locale, typed: { url: url.slice(0, URL_MAX_LENGTH), email: '' }, errors: [], status: 200 });
    });
    app.post(inLanguage(locale, '/scan-request'), async (request, reply) => submit(deps, locale, request, reply));
    app.get<{ Params: { token: string } }>(inLanguage(locale, '/scan/:token'), { config: LIMITED }, async (request, reply) =>
      showScan(deps, locale, request, reply),
    );
  }
  app.get<{ Params: { token: string; name: string } }>(picturePath(':token', ':name'), { config: LIMITED }, async (request, reply) => {
    const scan = await deps.publicScans.findByToken(request.params.token);
    const row = scan && (await deps.scans.find(scan.scanId, ANONYMOUS));
    if (row === null || row.reports === null) throw new ApiError('report_not_found');
    return sendPicture(reply, deps.reports, row, request.params.name);
  });
};

interface FormState {
  locale: Locale;
  typed: ScanForm;
  errors: readonly FormError[];
  status: number;
}

function showForm(deps: PublicPagesDeps, request: FastifyRequest, reply: FastifyReply, { status, ...state }: FormState): FastifyReply {
  const { requestPublicScan, turnstile } = deps;
  const page = homePage({ request, enabled: requestPublicScan !== null, turnstile, ...state });
  return reply.page(page, { status, ...(turnstile !== null && { trust: new URL(turnstile.script).origin }) });
}

async function submit(deps: PublicPagesDeps, locale: Locale, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = formOf(request.body);
  const typed = typedIn(form);
  const read = readScanForm(form, locale);
  if (!read.ok) return showForm(deps, request, reply, { locale, typed, errors: read.errors, status: 422 });
  const { url, email, turnstileToken } = read;
  const asked = { url, email, locale, turnstileToken, address: request.ip, requestId: request.id, traceparent: request.span?.traceparent };
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

async function showScan(
  deps: PublicPagesDeps,
  locale: Locale,
  request: FastifyRequest<{ Params: { token: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const scan = await deps.publicScans.findByToken(request.params.token);
  if (scan === null) return reply.page(unknownScanPage(request, locale), { status: 404 });
  const row = await deps.scans.find(scan.scanId, ANONYMOUS);
  const position = row === null ? undefined : await deps.positions(row);
  const view = row?.phase === 'done' && row.reports !== null ? await deps.reports.readView(row) : null;
  return reply.page(scanPage({ request, locale, scan, row, position, view }));
}
