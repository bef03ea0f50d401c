/** The error codes of the API, and the only place that knows their HTTP statuses. */
import { DASHBOARD_SCHEDULES_MAX } from '../../core/protocol/scan-schedules.ts';
import { KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import type { ValidationBounds } from '../../core/validation-texts.ts';
import type { SemaphoreLimit } from '../../platform/concurrency/semaphore.ts';
import { errorDocsPath } from '../../core/web-paths.ts';
import { CONVERTED_MAX_BYTES } from '../../report/schema/export-size.ts';
import { WEBHOOKS_MAX } from '../../core/webhooks/webhooks.ts';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';

/** Event streams of one key on one replica (decisions, "Limits"). */
export const STREAMS_PER_KEY = 20;

interface ErrorEntry {
  status: number;
  /** What the caller can do, in one sentence. Sent with the code in every body. */
  message: string;
  /** Default seconds for `Retry-After`. */
  retryAfterSeconds?: number;
}

/** All error codes: the contract's, then those of HTTP itself. */
export const ERRORS = {
  invalid_api_key: { status: 401, message: 'Send a live API key in the X-API-Key header.' },
  account_blocked: { status: 403, message: 'This account is blocked; ask the operator of this service to unblock it.' },
  second_factor_required: {
    status: 403,
    message: 'The organisation requires a second factor; set one up at /dashboard/account/second-factor, or sign in with it.',
  },
  proof_required: {
    status: 403,
    message: 'The last proof of who you are was more than ten minutes ago; confirm it at /dashboard/account/confirm, or use an API key.',
  },
  session_required: { status: 401, message: 'The session has ended; sign in again.' },
  permission_denied: { status: 403, message: 'The key or the user lacks the permission for this; ask an owner of the organisation.' },
  invalid_csrf_token: {
    status: 403,
    message: 'Send the token of the current session in the X-CSRF-Token header; load the page again to get it.',
  },
  cross_site_request: {
    status: 403,
    message: 'Another site sent this request; open the page of this service and send its form, or send the request from a program.',
  },
  insufficient_credits: {
    status: 402,
    message: 'There are not enough credits for the requested pages; request fewer pages, add credits, or set fail_on_truncation to false.',
  },
  rate_limit_exceeded: { status: 429, message: 'Too many requests; retry after the number of seconds in Retry-After.' },
  too_many_streams: {
    status: 429,
    message: 'The key or the organisation has as many open event streams as it may have; close one, or poll the scan.',
    retryAfterSeconds: 10,
  },
  streams_full: {
    status: 503,
    message:
      'This replica has as many open event streams as it may have; retry after the number of seconds in Retry-After, or poll the scan.',
    retryAfterSeconds: 10,
  },
  queue_paused: {
    status: 503,
    message: 'The scan queue is paused and nothing was charged; retry after the number of seconds in Retry-After.',
    retryAfterSeconds: 30,
  },
  queue_full: {
    status: 503,
    message: 'Too many scans are in progress and nothing was charged; retry after the number of seconds in Retry-After.',
    retryAfterSeconds: 30,
  },
  live_scans_exceeded: {
    status: 429,
    message:
      "Too many of this organisation's scans are in progress and nothing was charged; wait for some of them to end, " +
      'and retry after the number of seconds in Retry-After.',
    retryAfterSeconds: 30,
  },
  service_unavailable: {
    status: 503,
    message:
      'A part of the service is down or did not answer in time, and nothing was charged; retry after the number of seconds in Retry-After.',
    retryAfterSeconds: 5,
  },
  submission_unconfirmed: {
    status: 503,
    message:
      'A part of the service failed, so the scan may or may not have been accepted and charged; retry with the same Idempotency-Key, or look for the scan in the list before you submit it again.',
    retryAfterSeconds: 5,
  },
  replica_busy: {
    status: 503,
    message: 'This replica is busy; retry after the number of seconds in Retry-After.',
    retryAfterSeconds: 5,
  },
  public_scans_disabled: { status: 403, message: 'This installation offers no public scans; use an API key and POST /v1/ci/scans.' },
  webhooks_off: {
    status: 403,
    message: 'This installation sends no webhooks; ask its administrator to turn them on (webhooks.enabled of the chart).',
  },
  scan_not_found: { status: 404, message: 'The scan does not exist; check its ID.' },
  report_not_found: { status: 404, message: 'The report does not exist; check the scan ID and that the scan has a report_url.' },
  json_export_unavailable: { status: 404, message: 'This scan has no JSON export; scan the site again to get one.' },
  pictures_unavailable: {
    status: 404,
    message: 'This scan has no pictures of elements; scan the site again with the option `pictures`, which is on by default.',
  },
  report_format_unavailable: {
    status: 404,
    message:
      `The JSON export of this scan is larger than the service converts (${CONVERTED_MAX_BYTES / 1024 / 1024} MiB, or too many values); ` +
      'run `curbcut report ID` with the option of the format, such as `--html FILE`, which has no limit.',
  },
  report_version_unsupported: {
    status: 404,
    message:
      'Another version of Curbcut made the JSON export of this scan, and this version cannot convert it; ' +
      'scan the site again, or run `curbcut report ID` of that version.',
  },
  key_not_found: { status: 404, message: 'No API key has this ID, or it is not live; list the keys to see their IDs.' },
  too_many_keys: {
    status: 409,
    message: `The organisation has ${LIVE_KEYS_MAX} live API keys, which is the limit; revoke one, then create the new one.`,
  },
  webhook_not_found: { status: 404, message: 'No webhook has this ID; list the webhooks to see their IDs.' },
  delivery_not_found: {
    status: 404,
    message: 'The webhook has no delivery with this ID; list its deliveries, which are kept for 30 days.',
  },
  too_many_webhooks: {
    status: 409,
    message: `The organisation has ${WEBHOOKS_MAX} webhooks, which is the limit; delete one, then create the new one.`,
  },
  webhook_managed_by_manifest: {
    status: 409,
    message: 'The manifest of the organisation declares this webhook; change spec.webhooks of the manifest.',
  },
  webhook_disabled: { status: 409, message: 'The webhook is disabled, so nothing is delivered to it; enable it first.' },
  known_issue_not_found: { status: 404, message: 'No known issue has this ID; list the known issues to see their IDs.' },
  too_many_known_issues: {
    status: 409,
    message: `The site has ${KNOWN_ISSUES_MAX} known issues, which is the limit; remove one, then accept the new one.`,
  },
  known_issue_exists: {
    status: 409,
    message: 'The site has a known issue that is about the same; change that one, or remove it first.',
  },
  known_issue_managed_by_manifest: {
    status: 409,
    message: 'A KnownIssues manifest declares this known issue; change the manifest.',
  },
  schedule_not_found: { status: 404, message: 'The organisation has no schedule of this name; list the schedules.' },
  too_many_schedules: {
    status: 409,
    message: `The organisation has ${DASHBOARD_SCHEDULES_MAX} schedules, which is the limit; delete one, then create the new one.`,
  },
  schedule_read_only: {
    status: 409,
    message: 'A manifest or another program in the cluster writes this schedule, so it is changed there; `source` names it.',
  },
  schedule_changed: {
    status: 409,
    message: 'The schedule was changed meanwhile, and nothing was stored; get it, then change it again.',
  },
  schedule_run_requested: {
    status: 409,
    message: 'A run was requested already and has not started yet; request another one when it has started.',
  },
  schedule_refused: {
    status: 409,
    message:
      'The cluster does not accept this schedule, and nothing was stored; change it, or ask your administrator: the reason is in the log of the API.',
  },
  scan_not_complete: {
    status: 409,
    message: 'The scan is not complete; poll it or follow its events, and retry when it is done.',
    retryAfterSeconds: 5,
  },
  scan_already_ended: { status: 409, message: 'The scan has ended and cannot be canceled; poll it to get its result.' },
  scan_managed_by_manifest: {
    status: 409,
    message: 'A Kubernetes manifest created this scan; cancel it in the cluster: set spec.cancel to true, or delete the resource.',
  },
  idempotency_conflict: {
    status: 409,
    message:
      'A request with this Idempotency-Key is in progress or was interrupted; retry after the number of seconds in Retry-After to get its response.',
    retryAfterSeconds: 1,
  },
  already_created: {
    status: 409,
    message:
      'This Idempotency-Key was used: its request succeeded, and a secret is shown once; use what `id` names, or send a new key for a new secret.',
  },
  precondition_failed: {
    status: 412,
    message: 'It was changed meanwhile: If-Match does not have its current ETag, so nothing was stored; get it, then change it again.',
  },
  payload_too_large: { status: 413, message: 'The request body is too large; send at most 64 KiB.' },
  unsupported_media_type: { status: 415, message: 'Send the request body as application/json.' },
  not_found: {
    status: 404,
    message:
      'This path does not exist; check that it has no empty ID and no slash at its end, and see /docs/api for the paths of this API.',
  },
  method_not_allowed: { status: 405, message: 'This path does not accept this method; the Allow header lists the accepted methods.' },
  bad_request: { status: 400, message: 'The request is not valid HTTP; check the client that sent it.' },
  request_timeout: { status: 408, message: 'The request did not arrive completely in time; send it again.' },
  headers_too_large: { status: 431, message: 'The request headers are too large; send at most 16 KiB.' },
  internal_error: { status: 500, message: 'The service has an internal error; report it with the X-Request-Id of this response.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** Every code, for documentation and tests. */
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** The status of a validation error: its `detail` is a list and not a code. */
export const VALIDATION_STATUS = 422;

/** Whose share of the live scans is used up: `limit` in the body of `queue_full`. */
export const QUEUE_LIMITS = ['installation', 'public'] as const;
export type QueueLimit = (typeof QUEUE_LIMITS)[number];

/** Whose event streams are too many: `limit` in the body of `too_many_streams` and `streams_full`. */
export const STREAM_LIMITS = ['key', 'organisation', 'replica'] as const;

/** Whose work keeps a replica busy: `limit` in the body of `replica_busy`. */
export const BUSY_LIMITS = ['organisation', 'replica'] as const;

/** Every `type` of a validation item. They are stable: clients may branch on them. */
export const VALIDATION_TYPES = [
  'missing_field',
  'unexpected_field',
  'json.invalid',
  'type.object',
  'type.string',
  'type.number',
  'type.integer',
  'type.boolean',
  'type.array',
  'array.min_items',
  'array.max_items',
  'array.unique_items',
  'object.min_properties',
  'object.max_properties',
  'number.minimum',
  'number.maximum',
  'string.min_length',
  'string.max_length',
  'string.pattern',
  'string.uuid',
  'string.uri',
  'string.email',
  'string.date_time',
  'enum',
  'date.past',
  'date.after_creator',
  'date.too_late',
  'known_issue.target',
  'known_issue.site',
  'schedule.times',
  'schedule.time_zone',
  'cursor.invalid',
  'url.private_address',
  'url.scheme',
  'url.credentials',
  'url.port',
  'url.unresolvable',
  'urls.invalid',
  'urls.other_host',
  'urls.too_many',
  'baseline.invalid',
  'baseline.not_found',
  'check.not_found',
  'check.options',
  'check.refused',
  'test_key_target',
  'test_key.test_only',
  'auth.secret_refused',
  'prepare.disabled',
  'prepare.other_site',
  'idempotency_key.reused',
  'turnstile.refused',
] as const;
export type ValidationType = (typeof VALIDATION_TYPES)[number];

/** One error of an invalid request. */
export interface ValidationItem {
  /** The location: `body`, `path`, `query` or `header`, followed by the path to the value. */
  loc: (string | number)[];
  /** The error, in one English sentence. */
  msg: string;
  type: ValidationType;
  /** What the value must keep to, if a schema found the error. */
  bounds?: ValidationBounds;
}

/** An error with a code of the table. Throw it from any route or plugin; `plugins/errors.ts` sends the response. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  /** Fields of the body in addition to `detail` and `message`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Seconds for `Retry-After`; null if a retry cannot succeed. */
  readonly retryAfterSeconds: number | null;
  constructor(code: ErrorCode, options: { fields?: Record<string, unknown>; retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(code, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.fields = options.fields ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds ?? (ERRORS[code] as ErrorEntry).retryAfterSeconds ?? null;
  }
}

const BUSY: Readonly<Record<SemaphoreLimit, { limit: (typeof BUSY_LIMITS)[number]; message: string }>> = {
  key: {
    limit: 'organisation',
    message:
      'The organisation has as many requests of this kind in progress as it may have on this replica; retry after the number of seconds in Retry-After.',
  },
  total: {
    limit: 'replica',
    message: 'This replica has as many requests of this kind in progress as it may have; retry after the number of seconds in Retry-After.',
  },
};

/** The error of a request that a semaphore with a share for each organisation refused. */
export const replicaBusy = (limit: SemaphoreLimit): ApiError => new ApiError('replica_busy', { fields: BUSY[limit] });

/** An invalid request, with at least one item. Throw it like `ApiError`. */
export class ValidationFailure extends Error {
  readonly items: readonly ValidationItem[];
  constructor(items: readonly ValidationItem[]) {
    super(items.map((item) => item.msg).join(' '));
    this.name = 'ValidationFailure';
    this.items = items;
  }
}

/** The message of an error for people. */
export const messageOf = ({ code, fields }: ApiError): string => String(fields['message'] ?? ERRORS[code].message);

/** The response body of an error. */
export function bodyOf(error: ApiError | ValidationFailure, requestId: string): Record<string, unknown> {
  if (error instanceof ValidationFailure) return { detail: error.items, docs_url: errorDocsPath(null), request_id: requestId };
  return { detail: error.code, ...error.fields, message: messageOf(error), docs_url: errorDocsPath(error.code), request_id: requestId };
}

export function statusOf(error: ApiError | ValidationFailure): number {
  return error instanceof ValidationFailure ? VALIDATION_STATUS : ERRORS[error.code].status;
}
