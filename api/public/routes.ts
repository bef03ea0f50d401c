/** Routes of public scans. They require no API key. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import type { FastifyReply } from 'fastify';
import { EMAIL_MAX_LENGTH } from '../../core/email-address.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { ScanOptions } from '../../core/scan/options.ts';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import { ApiError, ValidationFailure } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { refuseCrossSite } from '../web/html-scope.ts';
import { rateLimited, rateLimitHeaders } from '../http/plugins/denials.ts';
import { annotate } from '../http/plugins/request-log.ts';
import { answer, LIMITED, reference, refusals } from '../http/responses.ts';
import { errorOf, queueFull } from '../scans/submission/submission.ts';
import { PHASES } from '../../core/scan/phases.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { ReportView } from '../../report/view/view.ts';
import type { PublicScan } from '../../stores/scans/public-scans.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { TURNSTILE_TOKEN_MAX_LENGTH } from './turnstile.ts';
import type { PublicScanRefusal } from './request-public-scan.ts';

/** Unknown fields are rejected, as in every request. */
const PublicScanSubmission = Type.Object(
  {
    url: Type.String({ ...ScanOptions.properties.url, format: 'uri', description: 'The page to test, http or https.' }),
    email: Type.String({ format: 'email', maxLength: EMAIL_MAX_LENGTH, description: 'The address that the result is sent to.' }),
    cf_turnstile_token: Type.String({
      default: '',
      maxLength: TURNSTILE_TOKEN_MAX_LENGTH,
      description: 'The token of Cloudflare Turnstile, if the installation checks visitors.',
    }),
    locale: oneOf(LOCALES, { default: 'en', description: 'The language of the findings and the mail.' }),
  },
  {
    title: 'PublicScanSubmission',
    additionalProperties: false,
    required: ['url', 'email'],
    examples: [{ url: 'https://example.com/', email: 'name@example.com', locale: 'de' }],
  },
);

export const PublicScanAccepted = Type.Object(
  {
    token: Type.String({ description: 'Opens the status and the result. Everyone who has it can read them.' }),
    estimated_seconds: Type.Integer({ minimum: 1, description: 'An estimate of the time until the result is there.' }),
  },
  { $id: 'PublicScanAccepted' },
);

/** The issues of a status without `full`. */
const ISSUES_SHOWN = 10;

const PublicIssue = Type.Object(
  {
    rule: Type.String({ description: "The rule's ID in axe-core." }),
    impact: growing(IMPACTS),
    help: Type.String({ description: 'What is wrong, in the language of the request.' }),
    help_url: Type.String({ description: 'A page about the rule.' }),
    wcag: Type.Array(Type.String(), { description: 'Success criteria, such as 1.1.1.' }),
    selector: Type.String({ description: 'The element, as a CSS selector.' }),
    html: Type.String({ description: "The element's own HTML. It comes from the page: never show it as HTML." }),
  },
  { $id: 'PublicIssue' },
);

const PublicScanStatus = Type.Object(
  {
    token: Type.String(),
    status: growing(PHASES, { description: 'Treat an unknown status as not terminal.' }),
    url: Type.String(),
    violation_count: nullable(Type.Integer({ minimum: 0, description: 'Failing elements. Null until the scan is done.' })),
    issues: Type.Array(reference(PublicIssue), { description: 'Failing elements, worst first. Empty until the scan is done.' }),
    truncated: Type.Boolean({ description: 'Whether there are more issues than listed.' }),
  },
  { $id: 'PublicScanStatus' },
);
type PublicScanStatus = Static<typeof PublicScanStatus>;

const REQUEST_SCAN = {
  operationId: 'requestPublicScan',
  summary: 'Scan one page for free',
  description:
    'The result is sent by mail. A request from the same network for the URL and e-mail address of a scan that is under way answers ' +
    'with the token of that scan. Results are those of automated tests: they are not evidence of conformance and no legal certificate.',
  tags: ['Public scans'],
  body: PublicScanSubmission,
  response: {
    ...refusals(
      [
        'public_scans_disabled',
        'cross_site_request',
        'payload_too_large',
        'unsupported_media_type',
        'rate_limit_exceeded',
        'queue_paused',
        'queue_full',
        'service_unavailable',
        'submission_unconfirmed',
        'internal_error',
      ],
      { limited: false },
    ),
    200: answer('The scan is queued, or the same scan is under way.', reference(PublicScanAccepted), LIMITED, {
      queued: EXAMPLES.publicScan.accepted,
    }),
  },
};

const GET_STATUS = {
  operationId: 'getPublicScanStatus',
  summary: 'Get the status and the findings of a public scan',
  description: 'Poll it every 5 seconds until the status is `done`, `failed` or `canceled`.',
  tags: ['Public scans'],
  params: Type.Object({ token: Type.String() }),
  querystring: Type.Object({
    full: Type.Boolean({ default: false, description: 'List all issues (at most 1,000) and not only the first 10.' }),
  }),
  response: {
    ...refusals(['scan_not_found', 'rate_limit_exceeded', 'service_unavailable', 'internal_error']),
    200: answer('The status.', reference(PublicScanStatus), LIMITED, {
      scanning: EXAMPLES.publicScan.scanning,
      done: EXAMPLES.publicScan.done,
    }),
  },
};

export const publicRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { anonymousStores: stores, publicScanning, metrics, logger } = scope;
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('Cache-Control', 'no-store');
  });

  scope.post(
    '/v1/public/scan-request',
    {
      schema: REQUEST_SCAN,
      onRequest: async (request) => {
        await refuseCrossSite(request);
        if (publicScanning !== null) return;
        metrics.publicScan('public_scans_disabled');
        throw new ApiError('public_scans_disabled');
      },
    },
    async (request, reply) => {
      const { url, email, cf_turnstile_token: turnstileToken, locale } = request.body;
      const origin = {
        address: request.address,
        requestId: request.id,
        traceparent: request.span?.traceparent,
        idempotent: request.idempotent,
      };
      const asked = { url, email, locale, turnstileToken, ...origin };
      const outcome = await publicScanning!.requestPublicScan(asked, logger.child({ request: request.id }));
      if (!outcome.ok) throw publicErrorOf(outcome, reply);
      annotate(request, { organisation: ANONYMOUS, replayed: outcome.repeated });
      return reply.headers(rateLimitHeaders(outcome.limits)).send({ token: outcome.token, estimated_seconds: outcome.estimatedSeconds });
    },
  );

  scope.get('/v1/public/scan-status/:token', { schema: GET_STATUS, config: { network: 'public-status' } }, async (request) => {
    const scan = await stores.publicScans.findByToken(request.params.token);
    const row = scan && (await stores.scans.find(scan.scanId, ANONYMOUS));
    if (scan === null || row === null) throw new ApiError('scan_not_found');
    annotate(request, { scan: row.id, organisation: ANONYMOUS });
    const view = row.reports === null ? null : await scope.scanViews.readView(row);
    return statusOf(scan, row, view, request.query.full);
  });
};

/** The error responses of refused public scans. */
const TURNSTILE_REFUSED = 'cf_turnstile_token is missing, was used before or is too old; repeat the check.';
const TURNSTILE_UNAVAILABLE = 'The check for programs is unavailable; retry after the number of seconds in Retry-After.';
const IN_PROGRESS = 'The same scan is being submitted by another request; retry after the number of seconds in Retry-After.';

/** Converts a refusal to an error. Adds the headers of the limits to the reply. */
function publicErrorOf(refusal: PublicScanRefusal, reply: FastifyReply): ApiError | ValidationFailure {
  switch (refusal.reason) {
    case 'public_scans_disabled':
      return new ApiError('public_scans_disabled');
    case 'rate_limited':
      return rateLimited(reply, refusal);
    case 'turnstile_refused':
      return new ValidationFailure([{ loc: ['body', 'cf_turnstile_token'], msg: TURNSTILE_REFUSED, type: 'turnstile.refused' }]);
    case 'turnstile_unavailable':
      return new ApiError('service_unavailable', { fields: { message: TURNSTILE_UNAVAILABLE } });
    case 'in_progress':
      return new ApiError('service_unavailable', { fields: { message: IN_PROGRESS } });
    case 'organisation_full':
      return queueFull('public');
    default:
      return errorOf(refusal, 1);
  }
}

/** @param view null if the scan is not done, or its report was removed */
function statusOf({ token, url }: PublicScan, row: ScanRow, view: ReportView | null, full: boolean): PublicScanStatus {
  const total = row.outcome?.violations.total ?? null;
  const issues = (view?.issues ?? []).slice(0, full ? undefined : ISSUES_SHOWN);
  return {
    token,
    status: row.phase,
    url,
    violation_count: total,
    issues: issues.map(({ rule, impact, help, help_url, wcag, selector, html }) => ({
      rule,
      impact,
      help,
      help_url,
      wcag,
      selector,
      html,
    })),
    truncated: issues.length < (total ?? 0),
  };
}
