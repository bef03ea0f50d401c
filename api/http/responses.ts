/** Parts of the OpenAPI document that routes share: responses, errors and headers. */
import { ValidationBounds } from '../../core/validation-texts.ts';
import { Type, type Static, type TSchema } from 'typebox';
import { PERMISSIONS, type KeyScope } from '../../core/accounts.ts';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import {
  ApiError,
  bodyOf,
  BUSY_LIMITS,
  ERROR_CODES,
  ERRORS,
  QUEUE_LIMITS,
  STREAM_LIMITS,
  VALIDATION_STATUS,
  VALIDATION_TYPES,
  type ErrorCode,
} from './errors.ts';
import { EXAMPLES } from './examples.ts';

/** The schemas of `components`: those that modules reference while they load. */
export const COMPONENTS = new Set<TSchema>();

/** References a schema by its `$id`, and makes it a component of the document. */
export function reference<T extends TSchema>(schema: T) {
  const { $id } = schema as { $id?: string };
  if ($id === undefined) throw new TypeError('only a schema with an $id can be referenced');
  COMPONENTS.add(schema);
  return Type.Unsafe<Static<T>>({ $ref: `${$id}#` });
}

/** A response header. `plugins/openapi.ts` moves `required` from the schema to the header object. */
const header = (type: 'string' | 'integer', description: string, required = false) => ({
  type,
  description,
  ...(required && { required }),
});

export const HEADERS = {
  'X-Request-Id': header('string', "The caller's own X-Request-Id if it is a safe token, else a new one.", true),
  'Retry-After': header('integer', 'Seconds to wait before the next request.', true),
  Location: header('string', 'The address of the new resource, relative to the base address.', true),
  ETag: header('string', 'The version of what can be changed, for `If-Match`. Absent if it is a schedule that a manifest declares.'),
  RateLimit: header('string', 'The remaining requests of each limit (draft-ietf-httpapi-ratelimit-headers).', true),
  'RateLimit-Policy': header('string', 'The limits that apply (draft-ietf-httpapi-ratelimit-headers).', true),
  'Idempotent-Replayed': header('string', '`true` if this is the stored response of an earlier request with the same Idempotency-Key.'),
  'WWW-Authenticate': header('string', 'How to authenticate.', true),
  Allow: header('string', 'The methods that this path accepts.', true),
} as const;
type HeaderName = keyof typeof HEADERS;

const headersOf = (names: readonly HeaderName[]) =>
  Object.fromEntries(['X-Request-Id' as const, ...names].map((name) => [name, HEADERS[name]]));

/** Example bodies by name. The tests check them against the schema of their response. */
type Examples = Readonly<Record<string, unknown>>;

const content = (mediaType: string, schema: TSchema, examples: Examples) => ({
  [mediaType]: {
    schema,
    ...(Object.keys(examples).length > 0 && {
      examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
    }),
  },
});

/** A response with a JSON body. Its schema must not be closed with `additionalProperties: false`: responses may gain fields. */
export function answer(description: string, schema: TSchema, headers: readonly HeaderName[] = [], examples: Examples = {}) {
  return { description, headers: headersOf(headers), content: content('application/json', schema, examples) };
}

/** The response 201 of a limited route. `Location` is set for all of them (`app.ts`): the body must have the `id`. */
export const created = (description: string, schema: TSchema, examples: Examples, headers: readonly HeaderName[] = []) =>
  answer(description, schema, [...LIMITED, 'Location', ...headers], examples);

/** A response with a body of another media type. @param schema of the text, or of each item if the body is a stream */
export function textAnswer(
  description: string,
  mediaType: string,
  headers: readonly HeaderName[] = [],
  schema: TSchema = Type.String(),
  examples: Examples = {},
) {
  return { description, headers: headersOf(headers), content: content(mediaType, schema, examples) };
}

/** A response without a body. */
export function emptyAnswer(description: string, headers: readonly HeaderName[] = []) {
  return { description, headers: headersOf(headers), type: 'null' };
}

/** Headers of every response to a request that passed the rate limit check or exceeded its limit. */
export const LIMITED = ['RateLimit', 'RateLimit-Policy'] as const;

/** Headers of a response with one thing that a PATCH changes. */
export const VERSIONED = [...LIMITED, 'ETag'] as const;

const LIMIT_OWNERS = [...new Set([...QUEUE_LIMITS, ...STREAM_LIMITS, ...BUSY_LIMITS])];

/** What every error body has. */
const ERROR_FIELDS = {
  docs_url: Type.String({ description: 'The address of the page about the error, relative to the base address.' }),
  request_id: Type.String({ description: 'The X-Request-Id of the response, by which the logs name the request.' }),
};

/** Names a resource in the cluster. */
export const MANIFEST_FIELDS = { namespace: Type.String(), name: Type.String() };

/** Says who writes a schedule. */
export const SOURCE_FIELDS = {
  by: growing(['api', 'manifest'], { description: '`api`: this API and the dashboard change it. `manifest`: only its manifest does.' }),
  tool: nullable(Type.String({ description: 'What applies the manifest, such as `Argo CD`, `Flux` or `Helm`. Null: unknown.' })),
  application: nullable(Type.String({ description: 'What the tool calls the application that it belongs to.' })),
  writer: nullable(
    Type.String({ description: 'A program that has changed it in the cluster: it can only be suspended and deleted here. Null in lists.' }),
  ),
};

export const ErrorBody = Type.Object(
  {
    detail: growing(ERROR_CODES, { description: 'A stable code.' }),
    message: Type.String({ description: 'What to do, in one sentence.' }),
    ...ERROR_FIELDS,
    permission: Type.Optional(growing(PERMISSIONS, { description: 'The missing permission. The scopes of API keys have these names.' })),
    limit: Type.Optional(
      growing(LIMIT_OWNERS, { description: 'Whose limit is reached: of live scans, event streams, or work in progress on a replica.' }),
    ),
    id: Type.Optional(Type.String({ format: 'uuid', description: 'What an earlier request with the Idempotency-Key created or changed.' })),
    known_issue_id: Type.Optional(Type.String({ format: 'uuid', description: 'The known issue that is about the same.' })),
    manifest: Type.Optional(Type.Object(MANIFEST_FIELDS, { description: 'The KnownIssues resource that declares the known issue.' })),
    source: Type.Optional(Type.Object(SOURCE_FIELDS, { description: 'Who writes the schedule.' })),
  },
  { $id: 'Error', description: 'An error.' },
);

export const InsufficientCredits = Type.Object(
  {
    detail: oneOf(['insufficient_credits']),
    message: Type.String(),
    ...ERROR_FIELDS,
    balance: Type.Integer({ minimum: 0, description: 'Credits that can be reserved now.' }),
    pages_requested: Type.Integer({ minimum: 1 }),
  },
  { $id: 'InsufficientCredits', description: 'An error, with what is missing.' },
);

export const ValidationError = Type.Object(
  {
    detail: Type.Array(
      Type.Object({
        loc: Type.Array(Type.Union([Type.String(), Type.Integer()]), {
          minItems: 1,
          description: '`body`, `path`, `query` or `header`, followed by the path to the value.',
        }),
        msg: Type.String({ description: 'The error, in one sentence.' }),
        type: growing(VALIDATION_TYPES, { description: 'A stable name of the error.' }),
        bounds: Type.Optional(ValidationBounds),
      }),
      { minItems: 1 },
    ),
    ...ERROR_FIELDS,
  },
  { $id: 'ValidationError', description: 'The errors of an invalid request.' },
);

/** Whether every response with one of these codes has a Retry-After header. */
function wait(codes: readonly ErrorCode[]): boolean {
  return codes.every((code) => code === 'rate_limit_exceeded' || 'retryAfterSeconds' in ERRORS[code]);
}

/**
 * The error responses of a route by status, each with exactly its codes. Every error after the rate limit check has the
 * limit headers.
 * @param limited whether requests are limited
 * @param validated whether there is a schema of the request
 */
export function refusals(codes: readonly ErrorCode[], { limited = true, validated = true } = {}): Record<number, object> {
  // A route that waits for a store may also find every connection in use.
  const all = new Set([...codes, ...(codes.includes('service_unavailable') ? (['replica_busy'] as const) : [])]);
  const byStatus = Map.groupBy(all, (code) => ERRORS[code].status as number);
  const responses: Record<number, object> = {};
  for (const [status, ofStatus] of byStatus) {
    const headers: HeaderName[] = [];
    if (status === 401) headers.push('WWW-Authenticate');
    if (wait(ofStatus)) headers.push('Retry-After');
    // A 503 may precede the rate limit check: the database is needed to look up the key.
    if (limited && ![401, 403, 500, 503].includes(status)) headers.push(...LIMITED);
    const description = ofStatus.map((code) => ERRORS[code].message).join(' Or: ');
    responses[status] = answer(description, errorSchema(ofStatus), headers, errorExamples(ofStatus));
  }
  if (validated)
    responses[VALIDATION_STATUS] = answer('The request is invalid.', reference(ValidationError), limited ? LIMITED : [], {
      validation: EXAMPLES.validation,
    });
  return responses;
}

function errorSchema(codes: readonly ErrorCode[]): TSchema {
  return codes.includes('insufficient_credits') ? reference(InsufficientCredits) : reference(ErrorBody);
}

/** One example per code, so that the document lists the codes of each response. The tests accept no other. */
function errorExamples(codes: readonly ErrorCode[]): Examples {
  const fields: Partial<Record<ErrorCode, Record<string, unknown>>> = {
    insufficient_credits: EXAMPLES.insufficientCredits,
    permission_denied: { permission: 'scans:write' },
    queue_full: { limit: 'installation' },
    too_many_streams: { limit: 'key' },
    streams_full: { limit: 'replica' },
    replica_busy: { limit: 'organisation' },
    already_created: { id: EXAMPLES.issuedKey.id },
  };
  return Object.fromEntries(codes.map((code) => [code, bodyOf(new ApiError(code, { fields: fields[code] }), EXAMPLES.requestId)]));
}

/** Errors of every route that requires an API key. */
export const KEYED: readonly ErrorCode[] = [
  'invalid_api_key',
  'account_blocked',
  'permission_denied',
  'rate_limit_exceeded',
  'service_unavailable',
  'internal_error',
];

/** Errors of every route that also accepts the session of a user. */
export const WITH_SESSION: readonly ErrorCode[] = [...KEYED, 'second_factor_required'];

/** Errors of every route with which a key or a session changes something. */
export const CHANGES: readonly ErrorCode[] = [...WITH_SESSION, 'invalid_csrf_token'];

/** Errors of every route that takes a body. */
export const WITH_BODY: readonly ErrorCode[] = ['bad_request', 'payload_too_large', 'unsupported_media_type'];

/** The header of a POST that can be repeated. @param meaning what a repeated request gets */
export const idempotencyKeyHeader = (meaning: string) =>
  Type.Object({
    'Idempotency-Key': Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          `${meaning} Bodies are compared as they were sent: an explicit default differs from an absent field, null equals absent, and the ` +
          'order of the fields does not matter.',
      }),
    ),
  });

/** The `security` of a route that also accepts the session of a user. */
export const keyOrSession = (...scopes: KeyScope[]) => [...keyWith(...scopes), { session: [] }];

/** The `security` of a route that requires an API key with these scopes. */
export const keyWith = (...scopes: KeyScope[]) => [{ apiKey: scopes }];
