/** Validates a value against a structural schema, with the messages of the real server. */
import { isDeepStrictEqual } from 'node:util';
import { type Cause, invalidValue, requiredValue, shown } from '../status.ts';
import type { Json, JsonObject, Schema } from '../types.ts';

/** Prunes unknown fields and applies defaults. */
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The path of a field: `spec.pages`, `spec.items[0].id`. */
export const fieldPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/**
 * A copy of `value` without the fields that are not in `schema`.
 * @param unknown receives the path of each dropped field
 */
export function pruned(value: Json | undefined, schema: Schema, path: string, unknown: string[]): Json | undefined {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item, index) => pruned(item, items, `${path}[${index}]`, unknown) ?? null);
  }
  if (!isObject(value)) return value;
  const keeps = schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const known = schema.properties ?? {};
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const below = known[key] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    if (below !== undefined) result[key] = pruned(item, below, fieldPath(path, key), unknown);
    else if (keeps) result[key] = item;
    else unknown.push(fieldPath(path, key));
  }
  return result;
}

/** A copy with the schema's defaults for absent fields, and for null if it is not nullable. */
export function defaulted(value: Json | undefined, schema: Schema): Json | undefined {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => defaulted(item, items) ?? null);
  }
  if (!isObject(value)) return value;
  const result: JsonObject = { ...value };
  for (const [key, below] of Object.entries(schema.properties ?? {})) {
    const isNull = result[key] === null && below.nullable !== true;
    if (isNull && below.default !== undefined) delete result[key];
    if (result[key] === undefined && below.default !== undefined) result[key] = structuredClone(below.default);
    if (result[key] !== undefined) result[key] = defaulted(result[key], below);
  }
  if (typeof schema.additionalProperties === 'object') {
    for (const [key, item] of Object.entries(result)) {
      if (schema.properties?.[key] === undefined) result[key] = defaulted(item, schema.additionalProperties);
    }
  }
  return result;
}

const FORMATS: Record<string, RegExp> = {
  'date-time': /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/,
  uuid: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
};

/** Causes after which CEL rules are not evaluated. */
const BLOCKING = new Set([
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueNotSupported',
]);
export const blocksRules = (causes: readonly Cause[]): boolean => causes.some((cause) => BLOCKING.has(cause.reason));

/** The name of a JSON value's type in Go. */
function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typeError(path: string, value: Json, wanted: string, said = typeName(value)): Cause {
  const message = `Invalid value: ${JSON.stringify(said)}: ${path} in body must be of type ${wanted}: ${JSON.stringify(said)}`;
  return { reason: 'FieldValueTypeInvalid', message, field: path };
}

function hasType(value: Json, type: string): boolean {
  const actual = typeName(value);
  return actual === type || (type === 'number' && actual === 'integer');
}

/** All errors in `value`, in the order of the schema. */
export function violations(value: Json, schema: Schema, path: string): Cause[] {
  if (value === null && schema.nullable === true) return [];
  if (schema['x-kubernetes-int-or-string'] === true) {
    return typeof value === 'string' || Number.isInteger(value) ? [] : [typeError(path, value, 'integer,string')];
  }
  if (schema.type !== undefined && !hasType(value, schema.type)) return [typeError(path, value, schema.type)];
  const found: Cause[] = [];
  if (typeof value === 'string') found.push(...stringViolations(value, schema, path));
  if (typeof value === 'number') found.push(...numberViolations(value, schema, path));
  if (schema.enum !== undefined && !schema.enum.some((allowed) => isDeepStrictEqual(allowed, value))) {
    const message = `Unsupported value: ${shown(value)}: supported values: ${schema.enum.map((allowed) => shown(allowed)).join(', ')}`;
    found.push({ reason: 'FieldValueNotSupported', message, field: path });
  }
  if (Array.isArray(value)) found.push(...listViolations(value, schema, path));
  else if (typeof value === 'object' && value !== null) found.push(...objectViolations(value, schema, path));
  found.push(...combinationViolations(value, schema, path));
  return found;
}

/** At most one error: the real server stops at the first. */
function stringViolations(value: string, schema: Schema, path: string): Cause[] {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    return [{ reason: 'FieldValueTooLong', message: `Too long: may not be more than ${schema.maxLength} bytes`, field: path }];
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    return [invalidValue(path, value, `${path} in body should be at least ${schema.minLength} chars long`)];
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    return [invalidValue(path, value, `${path} in body should match '${schema.pattern}'`)];
  }
  const format = schema.format === undefined ? undefined : FORMATS[schema.format];
  return format === undefined || format.test(value) ? [] : [typeError(path, value, schema.format ?? '', value)];
}

function numberViolations(value: number, { maximum, minimum }: Schema, path: string): Cause[] {
  return [
    ...(maximum !== undefined && value > maximum
      ? [invalidValue(path, value, `${path} in body should be less than or equal to ${maximum}`)]
      : []),
    ...(minimum !== undefined && value < minimum
      ? [invalidValue(path, value, `${path} in body should be greater than or equal to ${minimum}`)]
      : []),
  ];
}

function listViolations(value: Json[], schema: Schema, path: string): Cause[] {
  const found: Cause[] = [];
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    const message = `Too many: ${value.length}: must have at most ${schema.maxItems} items`;
    found.push({ reason: 'FieldValueTooMany', message, field: path });
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    found.push(invalidValue(path, value.length, `${path} in body should have at least ${schema.minItems} items`));
  }
  const { items } = schema;
  if (items !== undefined) value.forEach((item, index) => found.push(...violations(item, items, `${path}[${index}]`)));
  if (found.length === 0) found.push(...duplicates(value, schema, path));
  return found;
}

function duplicates(value: Json[], schema: Schema, path: string): Cause[] {
  const kind = schema['x-kubernetes-list-type'];
  if (kind !== 'set' && kind !== 'map') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identity = (item: Json): Json =>
    kind === 'set'
      ? item
      : Object.fromEntries(keys.map((key) => [key, (item as JsonObject)[key] ?? schema.items?.properties?.[key]?.default]));
  const seen = new Set<string>();
  return value.flatMap((item, index) => {
    const text = JSON.stringify(identity(item));
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [{ reason: 'FieldValueDuplicate', message: `Duplicate value: ${text}`, field: `${path}[${index}]` }];
  });
}

function objectViolations(value: JsonObject, schema: Schema, path: string): Cause[] {
  const found: Cause[] = [];
  const size = Object.keys(value).length;
  if (schema.maxProperties !== undefined && size > schema.maxProperties) {
    const message = `Too many: ${size}: must have at most ${schema.maxProperties} items`;
    found.push({ reason: 'FieldValueTooMany', message, field: path });
  }
  if (schema.minProperties !== undefined && size < schema.minProperties) {
    found.push(invalidValue(path, size, `${path} in body should have at least ${schema.minProperties} properties`));
  }
  for (const key of schema.required ?? []) if (value[key] === undefined) found.push(requiredValue(fieldPath(path, key)));
  for (const [key, item] of Object.entries(value)) {
    const below = schema.properties?.[key] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    if (below !== undefined && item !== undefined) found.push(...violations(item, below, fieldPath(path, key)));
  }
  return found;
}

function combinationViolations(value: Json, schema: Schema, path: string): Cause[] {
  const found: Cause[] = [];
  for (const part of schema.allOf ?? []) found.push(...violations(value, part, path));
  const holds = (part: Schema): boolean => violations(value, part, path).length === 0;
  if (schema.anyOf !== undefined && !schema.anyOf.some(holds)) {
    found.push(invalidValue('<nil>', '', `"${path}" must validate at least one schema (anyOf)`));
  }
  if (schema.oneOf !== undefined && schema.oneOf.filter(holds).length !== 1) {
    const none = !schema.oneOf.some(holds);
    found.push(
      invalidValue('<nil>', '', `"${path}" must validate one and only one schema (oneOf). Found ${none ? 'none' : 'more than one'} valid`),
    );
  }
  if (schema.not !== undefined && holds(schema.not)) found.push(invalidValue('<nil>', '', `"${path}" must not validate the schema (not)`));
  return found;
}
