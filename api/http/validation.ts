/** Validates requests against their schemas, and describes errors as the contract's validation items. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { isEmailAddress } from '../../core/email-address.ts';
import { readDateTime } from '../../core/date-time.ts';
import { METADATA_RULES } from '../../core/scan/metadata.ts';
import { ValidationFailure, type ValidationItem, type ValidationType } from './errors.ts';

/** Limits the size of a response to a body with thousands of unknown fields. */
const ITEMS_MAX = 50;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ABSOLUTE_URL = /^(?:https?:\/\/[^/?#\s\\]|(?!https?:)[a-z][a-z0-9+.-]*:)[^\s\\]*$/i;

/** Adds the formats that the OpenAPI document names. `uri` accepts what a browser accepts, such as `https://exämple.de/ü`. */
function withFormats(ajv: Ajv2020): Ajv2020 {
  ajv.addFormat('date-time', { type: 'string', validate: (value: string) => readDateTime(value) !== null });
  ajv.addFormat('uuid', UUID);
  ajv.addFormat('email', { type: 'string', validate: isEmailAddress });
  ajv.addFormat('uri', { type: 'string', validate: (value: string) => ABSOLUTE_URL.test(value) && URL.canParse(value) });
  return ajv;
}

const options = { allErrors: true, useDefaults: true, removeAdditional: false, allowUnionTypes: true, strict: true } as const;

/** Parts of a request: Fastify's name → the contract's name. */
const PARTS: Readonly<Record<string, string>> = { body: 'body', params: 'path', querystring: 'query', headers: 'header' };

/**
 * Creates a validator compiler for Fastify. Unlike Fastify's own, it keeps unknown fields, so that
 * `additionalProperties: false` rejects them. It converts types in the path, query and headers, where everything is text, but
 * not in a body: `"5"` is not a number there.
 */
export function createValidatorCompiler(): FastifySchemaCompiler<TSchema> {
  const exact = withFormats(new Ajv2020({ ...options, coerceTypes: false }));
  const text = withFormats(new Ajv2020({ ...options, coerceTypes: true }));
  return ({ schema, httpPart = 'body' }) => {
    const validate = (httpPart === 'body' ? exact : text).compile(httpPart === 'headers' ? withLowerCaseNames(schema) : schema);
    return (value: unknown) => {
      if (validate(value)) return { value };
      return { error: new ValidationFailure(describeErrors(PARTS[httpPart] ?? httpPart, validate.errors ?? [])) };
    };
  };
}

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

const FORMATS: Readonly<Record<string, [ValidationType, string]>> = {
  uuid: ['string.uuid', 'must be a UUID'],
  uri: ['string.uri', 'must be an absolute URL such as https://example.com/'],
  email: ['string.email', 'must be an e-mail address such as name@example.com'],
  'date-time': ['string.date_time', 'must be a date and time such as 2030-01-31T12:00:00Z'],
};

const TYPES: Readonly<Record<string, [ValidationType, string]>> = {
  object: ['type.object', 'a JSON object'],
  string: ['type.string', 'a string'],
  number: ['type.number', 'a number'],
  integer: ['type.integer', 'an integer'],
  boolean: ['type.boolean', 'true or false'],
  array: ['type.array', 'a list'],
};

const fields = (limit: unknown): string => `${String(limit)} field${limit === 1 ? '' : 's'}`;
const characters = (limit: unknown): string => `${String(limit)} character${limit === 1 ? '' : 's'}`;

type Params = Readonly<Record<string, unknown>>;

/** What is said of each keyword. */
const KEYWORDS: Readonly<Record<string, [ValidationType, (params: Params) => string]>> = {
  required: ['missing_field', () => 'is required'],
  additionalProperties: ['unexpected_field', () => 'is not a field of this request; check its spelling'],
  minimum: ['number.minimum', ({ limit }) => `must be at least ${String(limit)}`],
  maximum: ['number.maximum', ({ limit }) => `must be at most ${String(limit)}`],
  minItems: ['array.min_items', ({ limit }) => `must have at least ${String(limit)} ${limit === 1 ? 'item' : 'items'}`],
  maxItems: ['array.max_items', ({ limit }) => `must have at most ${String(limit)} items`],
  uniqueItems: ['array.unique_items', () => 'must not have the same item twice'],
  minProperties: ['object.min_properties', ({ limit }) => `must have at least ${fields(limit)}`],
  maxProperties: ['object.max_properties', ({ limit }) => `must have at most ${fields(limit)}`],
  minLength: ['string.min_length', ({ limit }) => `must have at least ${characters(limit)}`],
  maxLength: ['string.max_length', ({ limit }) => `must have at most ${characters(limit)}`],
  enum: ['enum', ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).map(String).join(', ')}`],
  pattern: ['string.pattern', ({ pattern }) => `must ${METADATA_RULES[String(pattern)] ?? `match ${String(pattern)}`}`],
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
  const [type, predicate] = predicateOf(error, params);
  return { loc: [part, ...path], msg: `${path.length > 0 ? path.join('.') : `The ${part}`} ${predicate}.`, type };
}

function predicateOf(error: ErrorObject, params: Params): [ValidationType, string] {
  if (error.keyword === 'format') return FORMATS[String(params.format)] ?? unknownKeyword(error);
  if (error.keyword === 'type') {
    const wanted = [params.type].flat().map(String);
    const [type, noun] = TYPES[wanted[0] ?? ''] ?? unknownKeyword(error);
    return [type, `must be ${noun}${wanted.includes('null') ? ' or null' : ''}`];
  }
  const [type, predicate] = KEYWORDS[error.keyword] ?? unknownKeyword(error);
  return [type, predicate(params)];
}

/** Reports a schema keyword without a message: a programming error, which the first test of that schema finds. */
function unknownKeyword(error: ErrorObject): never {
  throw new TypeError(`no message for the schema keyword ${error.keyword} (${JSON.stringify(error.params)})`);
}
