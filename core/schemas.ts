/** JSON schemas that TypeBox lacks, those of responses, which may gain fields and values, and the snake_case names of HTTP and the JSON export. */
import { Type, type Static, type TSchema } from 'typebox';

/** One of several strings. `Type.Enum` omits `type`, which Kubernetes and OpenAPI tools require. */
export function oneOf<const T extends readonly string[]>(values: T, options: Record<string, unknown> = {}) {
  return Type.Unsafe<T[number]>({ ...options, type: 'string', enum: [...values] });
}

/** A schema of a single type that also accepts null. The result keeps one `type` list, which OpenAPI tools render well. */
export function nullable<T extends TSchema>(schema: T) {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] };
  return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'], ...(values && { enum: [...values, null] }) });
}

/**
 * A string of a response that has one of these values today. The document does not close the set, because responses may gain
 * values within `/v1`. The tests do.
 */
export function growing<const T extends readonly string[]>(values: T, options: { description?: string } = {}) {
  const description = [options.description, 'More values may be added.'].filter(Boolean).join(' ');
  return Type.Unsafe<T[number]>({ type: 'string', 'x-extensible-enum': [...values], description });
}

/** A schema that is closed elsewhere as a part of a response: its objects may gain fields, and its strings values. */
export function open<T extends TSchema>(schema: T): T {
  return opened(schema) as T;
}

function opened(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(opened);
  if (typeof node !== 'object' || node === null) return node;
  const { additionalProperties: _, enum: values, ...rest } = node as Record<string, unknown>;
  const fields = Object.entries(rest).map(([name, value]) => [name, opened(value)]);
  return { ...Object.fromEntries(fields), ...(values !== undefined && { 'x-extensible-enum': values }) };
}

/** `maxPages` → `max_pages`. */
export type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${SnakeCase<Tail>}`
  : S;

export type SnakeKeys<T> = { [K in keyof T as K extends string ? SnakeCase<K> : never]: T[K] };

export function snakeCase<const S extends string>(name: S): SnakeCase<S> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<S>;
}

/** The same values under snake_case names. Not recursive. */
export function snakeKeys<const T extends object>(values: T): SnakeKeys<T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [snakeCase(name), value])) as SnakeKeys<T>;
}

/** Reads the named values from an object with snake_case keys. Absent and null values are left out. */
export function fromSnakeKeys<const N extends string, V extends { [K in N as SnakeCase<K>]?: unknown }>(
  values: V,
  names: readonly N[],
): { [K in N]?: SnakeCase<K> extends keyof V ? NonNullable<V[SnakeCase<K>]> : never } {
  const found = names.map((name) => [name, (values as Record<string, unknown>)[snakeCase(name)]] as const);
  return Object.fromEntries(found.filter(([, value]) => value != null)) as ReturnType<typeof fromSnakeKeys<N, V>>;
}
