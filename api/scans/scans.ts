/** Routes that submit and poll a scan. */
import { Type, type Static, type TOptional, type TSchema } from 'typebox';
import { Metadata } from '../../core/scan/metadata-schema.ts';
import { ScanResult } from '../../core/scan/result.ts';
import { BaselineChoice } from '../../core/scan/baseline.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { CrawlRules, HTTP_CRAWL_RULES, HTTP_OPTIONS, ScanOptions, withDefaults } from '../../core/scan/options.ts';
import { SubmittedAuth } from '../../core/scan/sign-in.ts';
import { fromSnakeStep, SnakeStep } from '../../core/scan/steps.ts';
import { THRESHOLDS, THRESHOLD_NAMES, type ThresholdName } from '../../core/scan/thresholds.ts';
import { fromSnakeKeys, nullable, oneOf, snakeKeys } from '../../core/schemas.ts';
import { scanObject } from '../../stores/scans/scan-object.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { auditName, isTest } from '../../core/accounts.ts';
import { callerOf, scanOf } from '../http/plugins/auth.ts';
import { annotate } from '../http/plugins/request-log.ts';
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError, VALIDATION_STATUS } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { idempotencyKeyOf } from '../http/plugins/idempotency.ts';
import type { QueuePosition } from './queue-positions.ts';
import {
  answer,
  idempotencyKeyHeader,
  KEYED,
  keyWith,
  LIMITED,
  reference,
  refusals,
  ValidationError,
  WITH_BODY,
} from '../http/responses.ts';
import { CheckOf, planCheck, refuseOptions } from './check.ts';
import { type AcceptedAnswer, errorOf } from './submission/submission.ts';
import { fingerprintOf } from './submission/fingerprint.ts';

/** Seconds between two polls (contract: 5 to 10). */
export const POLL_AGAIN_SECONDS = 5;

export const ScanPath = Type.Object({ scan_id: Type.String({ format: 'uuid' }) });

/** The options of a submission. An absent option has its default; a null threshold is not checked. */
function submissionOptions(maxPagesLimit: number) {
  const { url, maxPages } = ScanOptions.properties;
  const { prepare } = CrawlRules.properties;
  const { default: defaultPages } = maxPages as { default?: number };
  const schemas = {
    ...ScanOptions.properties,
    ...CrawlRules.properties,
    url: Type.String({ ...url, format: 'uri' }),
    maxPages: Type.Integer({ ...maxPages, maximum: maxPagesLimit, default: Math.min(defaultPages!, maxPagesLimit) }),
    prepare: Type.Array(SnakeStep, { ...prepare, items: SnakeStep }),
  };
  return { ...snakeKeys(pick(schemas, [...HTTP_OPTIONS, ...HTTP_CRAWL_RULES])), ...snakeKeys(nullableThresholds()) };
}

const pick = <T extends object, K extends keyof T>(values: T, names: readonly K[]): Pick<T, K> =>
  Object.fromEntries(names.map((name) => [name, values[name]])) as Pick<T, K>;

type NullableThresholds = { [K in ThresholdName]: TOptional<ReturnType<typeof nullable<(typeof THRESHOLDS)[K]['schema']>>> };

function nullableThresholds(): NullableThresholds {
  const schemas = THRESHOLD_NAMES.map((name) => [name, Type.Optional(nullable<TSchema>(THRESHOLDS[name].schema))]);
  return Object.fromEntries(schemas) as NullableThresholds;
}

const { check: _check, ...baselineFields } = BaselineChoice.properties;
const SubmittedBaseline = Type.Optional(
  Type.Object(baselineFields, {
    additionalProperties: false,
    description:
      'The earlier scan that the scan is compared with, for `max_new_violations`: exactly one of `scan`, `metadata` and `schedule`. ' +
      'The newest scan that is done when the scan starts is used.',
  }),
);

const submissionFields = (maxPagesLimit: number) => ({
  ...submissionOptions(maxPagesLimit),
  baseline: SubmittedBaseline,
  auth: Type.Optional(SubmittedAuth),
  fail_on_truncation: Type.Boolean({
    default: true,
    description: 'True: respond with 402 if there are not enough credits. False: test as many pages as the balance allows.',
  }),
  metadata: Type.Optional(Metadata),
});

const SUBMISSION = {
  title: 'ScanSubmission',
  additionalProperties: false,
  required: ['url'],
  examples: [
    {
      url: 'https://example.com/',
      min_score: 90,
      fail_on_severity: 'serious',
      max_pages: 5,
      metadata: { branch: 'main', commit: '4f371ac' },
    },
  ],
} as const;

/** What a caller says of a scan. Unknown fields are rejected, because a misspelt threshold must not let a build pass. */
export const scanSubmission = (maxPagesLimit: number) => Type.Object(submissionFields(maxPagesLimit), { ...SUBMISSION });
export type ScanSubmission = Static<ReturnType<typeof scanSubmission>>;

/** The body of a submission: of a scan, or of a check. */
const submissionBody = (maxPagesLimit: number) =>
  Type.Object({ ...submissionFields(maxPagesLimit), check_of: Type.Optional(CheckOf) }, { ...SUBMISSION });

export const ScanAccepted = Type.Object(
  {
    scan_id: Type.String({ format: 'uuid' }),
    status: oneOf(['queued']),
    status_url: Type.String({ description: 'The address to poll, relative to the base address.' }),
    message: Type.String(),
    pages_requested: Type.Integer({ minimum: 1 }),
    pages_reserved: Type.Integer({ minimum: 1, description: 'Reserved credits: fewer than `pages_requested` if the balance was too low.' }),
  },
  { $id: 'ScanAccepted' },
);
export type ScanAccepted = Static<typeof ScanAccepted>;

const SUBMIT_SCAN = {
  operationId: 'submitScan',
  tags: ['Scans'],
  summary: 'Submit a scan',
  description: 'Reserves one credit per page and queues the scan. Poll `status_url`, or follow the events.',
  security: keyWith('scans:write'),
  headers: idempotencyKeyHeader('For 24 hours, a request with the same key and body returns the first response and charges nothing.'),
  response: {
    202: answer('The scan is queued.', reference(ScanAccepted), [...LIMITED, 'Location', 'Retry-After', 'Idempotent-Replayed'], {
      accepted: EXAMPLES.accepted,
    }),
    ...refusals([
      ...KEYED,
      ...WITH_BODY,
      'insufficient_credits',
      'idempotency_conflict',
      'queue_paused',
      'queue_full',
      'live_scans_exceeded',
      'submission_unconfirmed',
    ]),
  },
};

const GET_SCAN = {
  operationId: 'getScan',
  tags: ['Scans'],
  summary: 'Poll a scan',
  description:
    'Returns 202 while the scan is in progress, 422 if it missed a threshold (a verdict, not an error), and 200 otherwise. Each has the scan result as its body.',
  security: keyWith('scans:read'),
  params: ScanPath,
  response: {
    ...refusals([...KEYED, 'scan_not_found'], { validated: false }),
    200: answer('The scan has ended and missed no threshold.', reference(ScanResult), LIMITED, { passed: EXAMPLES.result.passed }),
    202: answer('The scan is in progress.', reference(ScanResult), [...LIMITED, 'Retry-After'], {
      queued: EXAMPLES.result.queued,
      scanning: EXAMPLES.result.scanning,
    }),
    422: answer(
      'The scan has ended and missed a threshold, or the scan ID is not a UUID.',
      Type.Unsafe<ScanResult>({ anyOf: [reference(ScanResult), reference(ValidationError)] }),
      LIMITED,
      { missed: EXAMPLES.result.missed, failed: EXAMPLES.result.failed, validation: EXAMPLES.validation },
    ),
  },
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the body as it was sent; null without an Idempotency-Key. */
    fingerprint: string | null;
  }
}

export const scanRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { stores, submissions, metrics, logger, settings } = scope;
  scope.decorateRequest('fingerprint', null);
  scope.post(
    '/v1/ci/scans',
    {
      config: { permission: 'scans:write', limit: 'submissions', idempotency: 'own', testKeys: true },
      schema: { ...SUBMIT_SCAN, body: submissionBody(settings.maxPagesLimit) },
      // Before the validation, which adds the server's defaults to the body.
      preValidation: async (request) => {
        refuseOptions(request.body);
        if (idempotencyKeyOf(request) !== undefined) request.fingerprint = submissionFingerprint(request);
      },
    },
    async (request, reply) => {
      const { body } = request;
      const key = idempotencyKeyOf(request);
      const { organisation, actor } = callerOf(request);
      const scan =
        body.check_of === undefined
          ? { options: toScanOptions(body), ...(body.auth && { auth: body.auth }), ...(body.baseline && { baseline: body.baseline }) }
          : await planCheck(body.check_of, body.url, (id) => stores.scans.find(id, organisation.id));
      const outcome = await submissions.submit(
        {
          organisation: organisation.id,
          submittedBy: auditName(actor),
          test: isTest(actor),
          ...scan,
          metadata: body.metadata,
          partial: !body.fail_on_truncation,
          idempotency: key === undefined ? null : { key, fingerprint: request.fingerprint! },
          origin: { requestId: request.id, traceparent: request.span?.traceparent },
        },
        logger.child({ request: request.id }),
      );
      metrics.submission(outcome.ok ? (outcome.replayed ? 'replayed' : 'accepted') : outcome.reason);
      if (!outcome.ok) throw errorOf(outcome, scan.options.maxPages);
      const { scan_id: id } = outcome.answer.body as ScanAccepted;
      annotate(request, { scan: id, replayed: outcome.replayed });
      stores.organisations.recordStart(outcome.row);
      if (outcome.replayed) reply.header('Idempotent-Replayed', 'true');
      return reply.code(202).headers(outcome.answer.headers).send(outcome.answer.body);
    },
  );

  scope.get(
    '/v1/ci/scans/:scan_id',
    {
      config: { permission: 'scans:read', withScan: true },
      schema: GET_SCAN,
    },
    async (request, reply) => {
      const row = await scanOf(request);
      if (row === null) throw new ApiError('scan_not_found');
      const status = pollStatus(row);
      if (status === 202) reply.header('Retry-After', POLL_AGAIN_SECONDS);
      return reply.code(status).send(toResult(row, await scope.queuePositions(row)));
    },
  );
};

/** A test key and another one never share a scan. */
function submissionFingerprint(request: FastifyRequest): string {
  const fingerprint = fingerprintOf(request.body);
  return isTest(callerOf(request).actor) ? fingerprintOf({ test: fingerprint }) : fingerprint;
}

/** The status of a poll: 202 in progress, 422 not passed, else 200 (decisions, "Scan results"). */
export function pollStatus(row: Pick<ScanRow, 'phase' | 'passed'>): 200 | 202 | 422 {
  if (!isTerminal(row.phase)) return 202;
  return row.passed === false ? VALIDATION_STATUS : 200;
}

/** Converts a row to the contract's scan result. @param queue the position of a waiting scan */
export function toResult(row: ScanRow, queue?: QueuePosition): ScanResult {
  return { ...scanObject(row), ...(queue && { queue }) };
}

/** The response to an accepted submission. */
export function acceptedAnswer(row: ScanRow): AcceptedAnswer {
  const path = `/v1/ci/scans/${row.id}`;
  const partial = row.pagesReserved < row.pagesRequested;
  const body: ScanAccepted = {
    scan_id: row.id,
    status: 'queued',
    status_url: path,
    message: partial
      ? `The scan is queued for ${row.pagesReserved} of ${row.pagesRequested} pages, which is the number of available credits.`
      : 'The scan is queued.',
    pages_requested: row.pagesRequested,
    pages_reserved: row.pagesReserved,
  };
  return { headers: { Location: path, 'Retry-After': String(POLL_AGAIN_SECONDS) }, body };
}

/** The options of a submission, with all defaults. */
export function toScanOptions(body: Omit<ScanSubmission, 'auth' | 'fail_on_truncation'>): ScanOptions {
  const stated = fromSnakeKeys(body, HTTP_OPTIONS);
  const crawl = { ...fromSnakeKeys(body, HTTP_CRAWL_RULES), prepare: body.prepare.map(fromSnakeStep) };
  return withDefaults({ ...stated, url: body.url, crawl, thresholds: fromSnakeKeys(body, THRESHOLD_NAMES) });
}
