/** Validates requests against their schemas, and describes errors as the contract's validation items. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyPluginAsync, FastifySchemaCompiler, RouteOptions } from 'fastify';
import type { TSchema } from 'typebox';
import fp from 'fastify-plugin';
import { isEmailAddress } from '../../core/email-address.ts';
import { readDateTime } from '../../core/date-time.ts';
import { isUuid } from '../../core/uuid.ts';
import { type SchemaErrorType, type ValidationBounds, validationText } from '../../core/validation-texts.ts';
import { ValidationFailure, type ValidationItem } from './errors.ts';

/** Limits the size of a response to a body with thousands of unknown fields. */
const ITEMS_MAX = 50;

const ABSOLUTE_URL = /^(?:https?:\/\/[^/?#\s\\]|(?!https?:)[a-z][a-z0-9+.-]*:)[^\s\\]*$/i;

/** An Ajv with the formats that the OpenAPI document names. `uri` accepts what a browser accepts, such as `https://exämple.de/ü`. */
function validating(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults: true,
    removeAdditional: false,
    allowUnionTypes: true,
    strict: true,
    coerceTypes,
  });
  ajv.addFormat('date-time', { type: 'string', validate: (value: string) => readDateTime(value) !== null });
  ajv.addFormat('uuid', isUuid);
  ajv.addFormat('email', { type: 'string', validate: isEmailAddress });
  ajv.addFormat('uri', { type: 'string', validate: (value: string) => ABSOLUTE_URL.test(value) && URL.canParse(value) });
  return ajv;
}

/** One for all routes and forms, because to compile the schema of schemas takes longer than a schema. */
const EXACT = validating(false);
const TEXT = validating(true);
/** The validators of `EXACT` and `TEXT` by their schema: a form has the one of its route. */
const compiled = new Map<string, ValidateFunction>();

/** Parts of a request: Fastify's name → the contract's name. */
const PARTS: Readonly<Record<string, string>> = { body: 'body', params: 'path', querystring: 'query', headers: 'header' };

/**
 * Compiles a validator for Fastify. Unlike Fastify's own, it keeps unknown fields, so that `additionalProperties: false`
 * rejects them. It converts types in the path, query and headers, where everything is text, but not in a body: `"5"` is not a
 * number there.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const ajv = httpPart === 'body' ? EXACT : TEXT;
  const wanted = httpPart === 'headers' ? withLowerCaseNames(schema) : schema;
  const key = `${ajv === EXACT} ${JSON.stringify(wanted)}`;
  const validate = compiled.get(key) ?? ajv.compile(wanted);
  compiled.set(key, validate);
  return (value: unknown) => {
    if (validate(value)) return { value };
    return { error: new ValidationFailure(describeErrors(PARTS[httpPart] ?? httpPart, validate.errors ?? [])) };
  };
};

/** Schemas write header names in their usual case, but Node lower-cases them. */
function withLowerCaseNames(schema: TSchema): TSchema {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] };
  const lowered = Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...schema, properties: Object.fromEntries(lowered), required: required.map((name) => name.toLowerCase()) };
}

/** Converts Ajv's errors to validation items: the first error of each location. */
export function describeErrors(part: string, errors: readonly ErrorObject[]): ValidationItem[] {
  const items = new Map<string, ValidationItem>();
  for (const error of errors) {
    // The error of the name itself is in the list too.
    if (error.keyword === 'propertyNames') continue;
    const item = describe(part, error);
    const location = JSON.stringify(item.loc);
    if (!items.has(location)) items.set(location, item);
    if (items.size === ITEMS_MAX) break;
  }
  return [...items.values()];
}

const FORMATS: Readonly<Record<string, SchemaErrorType>> = {
  uuid: 'string.uuid',
  uri: 'string.uri',
  email: 'string.email',
  'date-time': 'string.date_time',
};

type Params = Readonly<Record<string, unknown>>;
type Found = [type: SchemaErrorType, bounds?: ValidationBounds];

const limited =
  (type: SchemaErrorType) =>
  ({ limit }: Params): Found => [type, { limit: Number(limit) }];

/** What each keyword finds. */
const KEYWORDS: Readonly<Record<string, (params: Params) => Found | null>> = {
  required: () => ['missing_field'],
  additionalProperties: () => ['unexpected_field'],
  minimum: limited('number.minimum'),
  maximum: limited('number.maximum'),
  minItems: limited('array.min_items'),
  maxItems: limited('array.max_items'),
  uniqueItems: () => ['array.unique_items'],
  minProperties: limited('object.min_properties'),
  maxProperties: limited('object.max_properties'),
  minLength: limited('string.min_length'),
  maxLength: limited('string.max_length'),
  enum: ({ allowedValues }) => ['enum', { allowed: allowedValues as unknown[] }],
  pattern: ({ pattern }) => ['string.pattern', { pattern: String(pattern) }],
  format: ({ format }) => (Object.hasOwn(FORMATS, String(format)) ? [FORMATS[String(format)]!] : null),
  type({ type }) {
    const [first = '', ...others] = [type].flat().map(String);
    return [`type.${first}` as SchemaErrorType, others.includes('null') ? { nullable: true } : undefined];
  },
};

function describe(part: string, error: ErrorObject): ValidationItem {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const params = error.params as Params;
  if (error.keyword === 'required') path.push(String(params.missingProperty));
  if (error.propertyName !== undefined) path.push(error.propertyName);
  if (error.keyword === 'additionalProperties') path.push(String(params.additionalProperty));
  const [type, bounds] = KEYWORDS[error.keyword]?.(params) ?? unknownKeyword(error);
  const msg = validationText(path.length > 0 ? path.join('.') : `The ${part}`, { type, bounds }) ?? unknownKeyword(error);
  return { loc: [part, ...path], msg, type, ...(bounds && { bounds }) };
}

/** Reports a schema keyword without a message: a programming error, which the first test of that schema finds. */
function unknownKeyword(error: ErrorObject): never {
  throw new TypeError(`no message for the schema keyword ${error.keyword} (${JSON.stringify(error.params)})`);
}

/** Refuses unknown query parameters of REST routes, because a misspelt one that is ignored gives another answer than the one asked for. */
function closeQuery(route: RouteOptions): void {
  if (!route.url.startsWith('/v1/')) return;
  const query = (route.schema?.querystring ?? { type: 'object', properties: {} }) as object;
  route.schema = { ...route.schema, querystring: { ...query, additionalProperties: false } };
}

/** Accepts only JSON request bodies, validates them without type conversion, and sends responses unchanged. */
const jsonBodies: FastifyPluginAsync = async (app) => {
  app.setValidatorCompiler(compileValidator);
  app.addHook('onRoute', closeQuery);
  // Fastify's serializer drops and converts fields silently. Instead, the tests check every response against its schema.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // An empty body counts as no body.
    if (body.length === 0) done(null, undefined);
    else void parse(request, body, done);
  });
};

export default fp(jsonBodies, { name: 'json-bodies' });
