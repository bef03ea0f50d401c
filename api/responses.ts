/** Parts of the OpenAPI document that routes share: responses, errors and headers. */
import { Type, type Static, type TSchema } from 'typebox';
import { oneOf } from '../core/schemas.ts';
import { ERROR_CODES, ERRORS, VALIDATION_STATUS, VALIDATION_TYPES, type ErrorCode } from './errors.ts';

/** References a schema of `components` by its `$id`. */
export function reference<T extends TSchema>(schema: T) {
  const { $id } = schema as { $id?: string };
  if ($id === undefined) throw new TypeError('only a schema with an $id can be referenced');
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
  RateLimit: header('string', 'The remaining requests of each limit (draft-ietf-httpapi-ratelimit-headers).', true),
  'RateLimit-Policy': header('string', 'The limits that apply (draft-ietf-httpapi-ratelimit-headers).', true),
  'Idempotent-Replayed': header('string', '`true` if this is the stored response of an earlier request with the same Idempotency-Key.'),
  'WWW-Authenticate': header('string', 'How to authenticate.', true),
  Allow: header('string', 'The methods that this path accepts.', true),
} as const;
type HeaderName = keyof typeof HEADERS;

const headersOf = (names: readonly HeaderName[]) =>
  Object.fromEntries(['X-Request-Id' as const, ...names].map((name) => [name, HEADERS[name]]));

/** A response with a JSON body. */
export function answer(description: string, schema: TSchema, headers: readonly HeaderName[] = []) {
  return { description, headers: headersOf(headers), content: { 'application/json': { schema } } };
}

/** A response with a body of another media type. */
export function textAnswer(description: string, mediaType: string, headers: readonly HeaderName[] = []) {
  return { description, headers: headersOf(headers), content: { [mediaType]: { schema: Type.String() } } };
}

/** A response without a body. */
export function emptyAnswer(description: string, headers: readonly HeaderName[] = []) {
  return { description, headers: headersOf(headers), type: 'null' };
}

/** Headers of every response to a request that passed the rate limit check or exceeded its limit. */
export const LIMITED = ['RateLimit', 'RateLimit-Policy'] as const;

export const ErrorBody = Type.Object(
  {
    detail: oneOf(ERROR_CODES, { description: 'A stable code.' }),
    message: Type.String({ description: 'What to do, in one sentence.' }),
  },
  { $id: 'Error', description: 'An error.' },
);

export const InsufficientCredits = Type.Object(
  {
    detail: oneOf(['insufficient_credits']),
    message: Type.String(),
    balance: Type.Integer({ minimum: 0, description: 'Credits that can be reserved now.' }),
    pages_requested: Type.Integer({ minimum: 1 }),
  },
  { $id: 'InsufficientCredits', additionalProperties: false },
);

export const ValidationError = Type.Object(
  {
    detail: Type.Array(
      Type.Object(
        {
          loc: Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] }), {
            minItems: 1,
            description: '`body`, `path`, `query` or `header`, followed by the path to the value.',
          }),
          msg: Type.String({ description: 'The error, in one sentence.' }),
          type: oneOf(VALIDATION_TYPES, { description: 'A stable name of the error.' }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1 },
    ),
  },
  { $id: 'ValidationError', additionalProperties: false },
);

/** Statuses with a Retry-After header. */
const WAITS = new Set<number>([429, 503]);

/**
 * The error responses of a route by status, each with exactly its codes. Every error after the rate limit check has the
 * limit headers.
 */
export function refusals(codes: readonly ErrorCode[], options: { limited?: boolean; validated?: boolean } = {}): Record<number, object> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status as number);
  const responses: Record<number, object> = {};
  for (const [status, ofStatus] of byStatus) {
    const headers: HeaderName[] = [];
    if (status === 401) headers.push('WWW-Authenticate');
    if (WAITS.has(status)) headers.push('Retry-After');
    // A 503 may precede the rate limit check: the database is needed to look up the key.
    if (options.limited && ![401, 403, 500, 503].includes(status)) headers.push(...LIMITED);
    responses[status] = answer(ofStatus.map((code) => ERRORS[code].message).join(' Or: '), refusalSchema(ofStatus), headers);
  }
  if (options.validated)
    responses[VALIDATION_STATUS] = answer('The request is invalid.', reference(ValidationError), options.limited ? LIMITED : []);
  return responses;
}

function refusalSchema(codes: readonly ErrorCode[]): TSchema {
  if (codes.includes('insufficient_credits')) return reference(InsufficientCredits);
  return Type.Object({ detail: oneOf(codes), message: Type.String() }, { additionalProperties: false });
}

/** Errors of every route that requires an API key. */
export const KEYED: readonly ErrorCode[] = [
  'invalid_api_key',
  'account_blocked',
  'rate_limit_exceeded',
  'service_unavailable',
  'internal_error',
];
