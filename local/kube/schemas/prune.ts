/** Prunes unknown fields and applies defaults. */
import type { Json, JsonObject, Schema } from '../types.ts';

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
