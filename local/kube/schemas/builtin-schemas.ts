/** Schemas of the built-in kinds, generated from the list of their fields. */
import { BUILTIN_FIELDS } from './builtin-fields.ts';
import type { Schema } from '../types.ts';

const ANY: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const SCALARS: Record<string, Schema> = {
  string: { type: 'string' },
  byte: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  time: { type: 'string', format: 'date-time' },
  any: ANY,
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

for (const paragraph of BUILTIN_FIELDS.replace(/\n {2}/g, ' ')
  .trim()
  .split('\n')) {
  const [name = '', list = ''] = paragraph.split(/:\s*/, 2);
  const fields = list.split(/,\s*/);
  const isOpen = fields.at(-1) === '...';
  const properties = (isOpen ? fields.slice(0, -1) : fields).map((field) => {
    const [key = '', type = ''] = field.split(' ');
    return [key, typeOf(type)] as const;
  });
  named.set(name, { type: 'object', ...(isOpen && ANY), properties: Object.fromEntries(properties) });
}

/** The schema of every object's metadata. */
export const META_SCHEMA: Schema = named.get('ObjectMeta') ?? undefinedType('ObjectMeta');

/** The schema of a built-in kind with the common fields. */
export function builtinSchema(name: string): Schema {
  const schema = named.get(name) ?? undefinedType(name);
  return { ...schema, properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties } };
}
