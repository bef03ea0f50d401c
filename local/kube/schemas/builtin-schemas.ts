/** Schemas of the built-in kinds, generated from the list of their fields. */
import { OTHER_FIELDS, POD_FIELDS } from './builtin-fields.ts';
import type { Schema } from '../types.ts';

const SCALARS: Record<string, Schema> = {
  string: { type: 'string' },
  byte: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  time: { type: 'string', format: 'date-time' },
  microtime: { type: 'string', format: 'date-time' },
  quantity: { 'x-kubernetes-int-or-string': true },
  intstr: { 'x-kubernetes-int-or-string': true },
  any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

const named = new Map<string, Schema>();

function typeOf(text: string): Schema {
  if (text.startsWith('[')) return { type: 'array', items: typeOf(text.slice(1, -1)) };
  if (text.startsWith('{')) return { type: 'object', additionalProperties: typeOf(text.slice(1, -1)) };
  return SCALARS[text] ?? named.get(text) ?? undefinedType(text);
}

function undefinedType(text: string): never {
  throw new Error(`the list of built-in fields uses '${text}' before its definition`);
}

for (const paragraph of `${POD_FIELDS}${OTHER_FIELDS}`
  .replace(/\n {2}/g, ' ')
  .trim()
  .split(/\n+/)) {
  const [name = '', fields = ''] = paragraph.split(/:\s*/, 2);
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const field of fields.split(/,\s*/)) {
    const [label = '', type = ''] = field.split(/\s+/);
    const key = label.replace('!', '');
    if (label.endsWith('!')) required.push(key);
    properties[key] = typeOf(type);
  }
  named.set(name, { type: 'object', properties, ...(required.length === 0 ? {} : { required }) });
}

/** The schema of every object's metadata. */
export const META_SCHEMA: Schema = named.get('ObjectMeta') ?? undefinedType('ObjectMeta');

/** The schema of a built-in kind with the common fields. */
export function builtinSchema(name: string): Schema {
  const schema = named.get(name) ?? undefinedType(name);
  return { ...schema, properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties } };
}
