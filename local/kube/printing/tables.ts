/** `Table` responses, which kubectl prints. */
import type { Json, JsonObject, KubeObject, Resource } from '../types.ts';

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
