/** The OpenAPI document as the reference reads it: its types, its operations, and where each named schema is shown. Pure. */

/** A JSON Schema, as far as the API uses it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  'x-extensible-enum'?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  uniqueItems?: boolean;
  pattern?: string;
}

export interface MediaType {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, { value?: unknown }>>;
}
export type Content = Readonly<Record<string, MediaType>>;

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}
export interface Header {
  description?: string;
  required?: boolean;
  schema?: Schema;
}
export interface Response {
  description: string;
  headers?: Readonly<Record<string, Header>>;
  content?: Content;
}
/** Schemes of which each must be fulfilled, with their scopes. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

interface OperationObject {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  security?: readonly SecurityRequirement[];
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; description?: string; content?: Content };
  responses?: Readonly<Record<string, Response>>;
}

export interface SecurityScheme {
  type: string;
  in?: string;
  name?: string;
  description?: string;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  servers?: readonly { url: string }[];
  tags?: readonly { name: string; description?: string }[];
  paths?: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  components?: { schemas?: Readonly<Record<string, Schema>>; securitySchemes?: Readonly<Record<string, SecurityScheme>> };
}

export interface Operation extends OperationObject {
  /** Its anchor in the page: the operation ID, else method and path. */
  id: string;
  /** In capitals. */
  method: string;
  path: string;
  title: string;
}

/** Turns a text into an anchor. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** Every operation, in the order of the document. */
export function operationsOf(document: OpenApi): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      id: operation.operationId ?? slug(`${method} ${path}`),
      method: method.toUpperCase(),
      path,
      title: operation.summary ?? `${method.toUpperCase()} ${path}`,
    })),
  );
}

export interface Tag {
  name: string;
  description?: string;
  operations: readonly Operation[];
}

/** Operations by their first tag: tags that the document describes first, in its order, then all others. No operation is left out. */
export function tagsOf(document: OpenApi): Tag[] {
  const byTag = Map.groupBy(operationsOf(document), ({ tags = [] }) => tags[0] ?? 'Other operations');
  const described = document.tags ?? [];
  const names = new Set([...described.map(({ name }) => name), ...byTag.keys()]);
  return [...names].flatMap((name) => {
    const operations = byTag.get(name) ?? [];
    return operations.length === 0 ? [] : [{ name, description: described.find((tag) => tag.name === name)?.description, operations }];
  });
}

const COMPONENT = /^#\/components\/schemas\/([^/]+)$/;

/** The name of the schema that is referred to; null for another kind of reference, or none. */
export const referredName = ({ $ref }: Schema): string | null => COMPONENT.exec($ref ?? '')?.[1] ?? null;

/** Named schemas, and which of them are shown in the list of objects. */
export interface Schemas {
  byName: Readonly<Record<string, Schema>>;
  /** Shown once and linked to. All others are shown at the only place that refers to them. */
  objects: ReadonlySet<string>;
  /** Those that requests contain. */
  sent: ReadonlySet<string>;
}

/**
 * Decides where each named schema is shown. A schema with exactly one reference is shown there. Schemas with several are objects
 * of their own, and so is one schema of each cycle: following references from any place therefore ends.
 */
export function schemasOf(document: OpenApi): Schemas {
  const byName = document.components?.schemas ?? {};
  const inside = new Map(Object.entries(byName).map(([name, schema]) => [name, namesIn(schema)]));
  const outside = namesIn(document.paths ?? {});
  const counts = new Map<string, number>();
  for (const name of [...outside, ...[...inside.values()].flat()]) counts.set(name, (counts.get(name) ?? 0) + 1);
  const objects = new Set(Object.keys(byName).filter((name) => counts.get(name) !== 1));
  const follow = (names: readonly string[], reached: Set<string>): Set<string> => {
    for (const name of names) {
      if (reached.has(name)) continue;
      reached.add(name);
      follow(inside.get(name) ?? [], reached);
    }
    return reached;
  };
  const shown = follow([...outside, ...objects], new Set());
  // What is left is referred to from within a cycle only.
  for (const name of Object.keys(byName)) {
    if (shown.has(name)) continue;
    objects.add(name);
    follow([name], shown);
  }
  const bodies = operationsOf(document).map(({ requestBody }) => requestBody);
  return { byName, objects, sent: follow(namesIn(bodies), new Set()) };
}

/** The names of all schemas that a part of the document refers to, with repetitions. */
function namesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  const own = '$ref' in part && typeof part.$ref === 'string' ? referredName({ $ref: part.$ref }) : null;
  return [...(own === null ? [] : [own]), ...Object.values(part).flatMap(namesIn)];
}

/** The examples of a body, by name. */
export function examplesOf({ example, examples = {} }: MediaType): { name: string; value: unknown }[] {
  const named = Object.entries(examples).map(([name, { value }]) => ({ name, value }));
  return example === undefined ? named : [{ name: 'example', value: example }, ...named];
}

/** JSON as examples show it. */
export const jsonText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
