/** `Table` responses, which kubectl prints. */
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';

/** The part of JSONPath that printed columns use: fields, indexes, `[*]` and filters by equality. */

type Step = (value: unknown) => unknown[];

const TOKEN = /\.([\w-]+(?:\\\.[\w-]+)*)|\[(\d+|\*|'[^']*')\]|\[\?\(@\.([\w.-]+)\s*(==|!=)\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\)\]/y;

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

function steps(path: string): Step[] {
  const found: Step[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < path.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(path);
    if (match === null) throw new Error(`the JSONPath ${path} is not supported from here: ${path.slice(at)}`);
    const [, field, index, filtered, operator, ...literals] = match;
    if (field !== undefined) found.push((value) => [fieldOf(value, field.replace(/\\\./g, '.'))]);
    else if (index === '*') found.push((value) => (Array.isArray(value) ? value : Object.values(value ?? {})));
    else if (index?.startsWith("'") === true) found.push((value) => [fieldOf(value, index.slice(1, -1))]);
    else if (index !== undefined) found.push((value) => (Array.isArray(value) ? [value[Number(index)]] : []));
    else {
      const wanted = literals.find((literal) => literal !== undefined);
      const read = (item: unknown): unknown => (filtered ?? '').split('.').reduce(fieldOf, item);
      found.push((value) => (Array.isArray(value) ? value.filter((item) => (String(read(item)) === wanted) === (operator === '==')) : []));
    }
  }
  return found;
}

/** Compiles a path. The result returns the first value, or undefined. @throws Error if the path is not supported */
export function jsonPath(path: string): (object: unknown) => unknown {
  const all = steps(path.replace(/^\{|\}$/g, ''));
  return (object) => all.reduce<unknown[]>((values, step) => values.flatMap(step).filter((value) => value !== undefined), [object])[0];
}

/** Whether a client accepts tables. */
export const wantsTable = (accept: string): boolean =>
  accept
    .split(',')
    .some(
      (kind) =>
        /;as=Table(;|$)/.test(kind.replace(/\s/g, '')) && /;v=v1(;|$)/.test(kind.replace(/\s/g, '')) && kind.includes('g=meta.k8s.io'),
    );

/** @param include which part of the object each row contains: `Metadata` (default) or `Object` */
export function table(
  resource: Resource,
  objects: readonly KubeObject[],
  metadata: JsonObject,
  include: string,
  now: Date,
  withColumns = true,
): JsonObject {
  const definitions = resource.columns.map((column) => ({
    ...column,
    format: column.format ?? '',
    description: column.description ?? '',
    priority: column.priority ?? 0,
  }));
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: withColumns ? definitions : null,
    rows: objects.map((object) => row(resource, object, include, now)),
  };
}

function row(resource: Resource, object: KubeObject, include: string, now: Date): Json {
  const cells = resource.cells(object, now);
  if (include === 'Object') return { cells, object: object as unknown as Json };
  return { cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata as unknown as Json } };
}
