/** Validates requests against their schemas, and says what is wrong in the contract's words. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { ValidationFailure, type ValidationItem, type ValidationType } from './errors.ts';

/** The most items that one answer lists: a body of ten thousand misspelt fields is answered as one of fifty. */
const ITEMS_MAX = 50;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ABSOLUTE_URL = /^(?:https?:\/\/[^/?#\s\\]|(?!https?:)[a-z][a-z0-9+.-]*:)[^\s\\]*$/i;

/** Formats as the OpenAPI document names them. `uri` is what a browser takes: `https://exämple.de/ü` is one. */
function withFormats(ajv: Ajv2020): Ajv2020 {
  addFormats.default(ajv, ['date-time']);
  ajv.addFormat('uuid', UUID);
  ajv.addFormat('uri', { type: 'string', validate: (value: string) => ABSOLUTE_URL.test(value) && URL.canParse(value) });
  return ajv;
}

const options = { allErrors: true, useDefaults: true, removeAdditional: false, allowUnionTypes: true, strict: true } as const;

/** Parts of a request, as Fastify and as the contract call them. */
const PARTS: Readonly<Record<string, string>> = { body: 'body', params: 'path', querystring: 'query', headers: 'header' };

/**
 * A compiler of validators for Fastify. Unlike Fastify's own, unknown fields stay (so that `additionalProperties: false`
 * refuses them) and nothing in a body is converted: `"5"` is not a number there. Only the path and the query are text.
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

/** Headers are documented as they are written, and arrive from Node in lower case. */
function withLowerCaseNames(schema: TSchema): TSchema {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] };
  const lowered = Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...schema, properties: Object.fromEntries(lowered), required: required.map((name) => name.toLowerCase()) };
}

/** Ajv's errors as items of the contract, one for each place. */
export function describeErrors(part: string, errors: readonly ErrorObject[]): ValidationItem[] {
  const items = new Map<string, ValidationItem>();
  for (const error of errors) {
    const item = describe(part, error);
    const place = JSON.stringify(item.loc);
    if (!items.has(place)) items.set(place, item);
    if (items.size === ITEMS_MAX) break;
  }
  return [...items.values()];
}

const FORMATS: Readonly<Record<string, [ValidationType, string]>> = {
  uuid: ['string.uuid', 'must be a UUID'],
  uri: ['string.uri', 'must be an absolute URL such as https://example.com/'],
  'date-time': ['string.date_time', 'must be a date and time such as 2030-01-31T12:00:00Z'],
};

const TYPES: Readonly<Record<string, [ValidationType, string]>> = {
  object: ['type.object', 'a JSON object'],
  string: ['type.string', 'a string'],
  number: ['type.number', 'a number'],
  integer: ['type.integer', 'an integer'],
  boolean: ['type.boolean', 'true or false'],
};

function describe(part: string, error: ErrorObject): ValidationItem {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'required') path.push(String(params.missingProperty));
  if (error.keyword === 'additionalProperties') path.push(String(params.additionalProperty));
  const name = path.length > 0 ? path.join('.') : `The ${part}`;
  const item = (type: ValidationType, tail: string): ValidationItem => ({ loc: [part, ...path], msg: `${name} ${tail}.`, type });

  switch (error.keyword) {
    case 'required':
      return item('missing_field', 'is required');
    case 'additionalProperties':
      return item('unexpected_field', 'is not a field of this request; check its spelling');
    case 'minimum':
      return item('number.minimum', `must be at least ${String(params.limit)}`);
    case 'maximum':
      return item('number.maximum', `must be at most ${String(params.limit)}`);
    case 'minLength':
      return item('string.min_length', `must have at least ${characters(params.limit)}`);
    case 'maxLength':
      return item('string.max_length', `must have at most ${characters(params.limit)}`);
    case 'enum':
      return item('enum', `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}`);
    case 'pattern':
      return item('string.pattern', `must match ${String(params.pattern)}`);
    case 'format': {
      const [type, tail] = FORMATS[String(params.format)] ?? unknownKeyword(error);
      return item(type, tail);
    }
    case 'type': {
      const wanted = [params.type].flat().map(String);
      const [type, noun] = TYPES[wanted[0] ?? ''] ?? unknownKeyword(error);
      return item(type, `must be ${noun}${wanted.includes('null') ? ' or null' : ''}`);
    }
    default:
      return unknownKeyword(error);
  }
}

const characters = (limit: unknown): string => `${String(limit)} character${limit === 1 ? '' : 's'}`;

/** A schema uses a keyword that has no words yet: a mistake of ours, found by the first test that sends it. */
function unknownKeyword(error: ErrorObject): never {
  throw new TypeError(`no words for the schema keyword ${error.keyword} (${JSON.stringify(error.params)})`);
}
