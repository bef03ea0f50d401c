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
  minimum?: number;
  maximum?: number;
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

interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly [string];
  /** Ways to authenticate, each with one scheme and its scopes. */
  security?: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content: Content };
  responses: Readonly<Record<string, Response>>;
}

interface SecurityScheme {
  in: string;
  name: string;
  description: string;
}

/** What `plugins/openapi.ts` makes: parts that every document of ours has are not optional. */
export interface OpenApi {
  info: { title: string; version: string; description: string };
  servers: readonly [{ url: string }];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  components: { schemas: Readonly<Record<string, Schema>>; securitySchemes: Readonly<Record<string, SecurityScheme>> };
}

export interface Operation extends OperationObject {
  /** In capitals. */
  method: string;
  path: string;
}

/** Turns a text into an anchor. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** Every operation, in the order of the document. */
export const operationsOf = (document: OpenApi): Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

/** The tags, each with its operations. */
export const tagsOf = (document: OpenApi) =>
  document.tags.map((tag) => ({ ...tag, operations: operationsOf(document).filter(({ tags }) => tags[0] === tag.name) }));

const COMPONENT = '#/components/schemas/';

/** The name of the schema that is referred to; null if there is no reference. */
export const referredName = ({ $ref }: Schema): string | null => $ref?.slice(COMPONENT.length) ?? null;

/** Named schemas, and which of them are shown in the list of objects. */
export interface Schemas {
  byName: Readonly<Record<string, Schema>>;
  /** Shown once and linked to. All others are shown at the only place that refers to them. */
  objects: ReadonlySet<string>;
  /** Those that requests contain. */
  sent: ReadonlySet<string>;
}

/** Decides where each named schema is shown: at its only reference, or else as an object of its own. */
export function schemasOf(document: OpenApi): Schemas {
  const byName = document.components.schemas;
  const all = [document.paths, ...Object.values(byName)].flatMap(namesIn);
  const objects = new Set(Object.keys(byName).filter((name) => all.filter((one) => one === name).length !== 1));
  const sent = new Set<string>();
  const follow = (part: unknown): void => {
    for (const name of namesIn(part)) {
      if (sent.has(name)) continue;
      sent.add(name);
      follow(byName[name]);
    }
  };
  follow(operationsOf(document).map(({ requestBody }) => requestBody));
  return { byName, objects, sent };
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
