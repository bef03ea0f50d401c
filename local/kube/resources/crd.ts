/** The resources of a CustomResourceDefinition, one per served version. */
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { errorMessage } from '../../../platform/errors.ts';
import { META_SCHEMA } from '../schemas/builtin-schemas.ts';
import { checkRules } from '../schemas/cel.ts';
import { timestamp } from '../../../platform/clock.ts';
import { age, NAME_COLUMN } from '../printing/table-columns.ts';
import { jsonPath } from '../printing/tables.ts';
import { StatusError } from '../status.ts';
import type { Column, Json, KubeObject, Resource, Schema } from '../types.ts';

interface Names {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

interface PrinterColumn {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

interface DefinitionSpec {
  group: string;
  scope: 'Namespaced' | 'Cluster';
  names: Names;
  versions: {
    name: string;
    served: boolean;
    storage: boolean;
    schema?: { openAPIV3Schema?: Schema };
    subresources?: { status?: object };
    additionalPrinterColumns?: PrinterColumn[];
    selectableFields?: { jsonPath: string }[];
  }[];
}

export const CUSTOM_VERBS = ['delete', 'get', 'list', 'patch', 'create', 'update', 'watch'] as const;

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Reads the definitions in a YAML file. @throws Error that names the file if it contains anything else */
export function readDefinitions(path: string): KubeObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).flatMap((document) => {
    if (document.errors[0] !== undefined) throw new Error(`${path}: ${document.errors[0].message}`);
    const object = document.toJS() as KubeObject | null;
    if (object === null) return [];
    if (object.kind !== 'CustomResourceDefinition') throw new Error(`${path}: expected a CustomResourceDefinition, not a ${object.kind}`);
    return [object];
  });
}

/** Completes a definition's names and marks it as established. @throws StatusError 422 if its schema is invalid */
export function establish(definition: KubeObject): void {
  const spec = definition['spec'] as DefinitionSpec;
  const names = {
    ...spec.names,
    singular: spec.names.singular ?? spec.names.kind.toLowerCase(),
    listKind: spec.names.listKind ?? `${spec.names.kind}List`,
  };
  definition['spec'] = { conversion: { strategy: 'None' }, ...spec, names };
  const expected = `${names.plural}.${spec.group}`;
  const kind = { group: 'apiextensions.k8s.io', plural: 'customresourcedefinitions', kind: 'CustomResourceDefinition' };
  const invalidDefinition = (message: string): StatusError =>
    new StatusError(422, 'Invalid', `${kind.kind}.${kind.group} "${definition.metadata.name}" is invalid: ${message}`, {
      kind: kind.kind,
      group: kind.group,
    });
  if (definition.metadata.name !== expected)
    throw invalidDefinition(`metadata.name: Invalid value: "${definition.metadata.name}": must be spec.names.plural+"."+spec.group`);
  for (const version of spec.versions) {
    try {
      checkRules(version.schema?.openAPIV3Schema ?? {});
    } catch (error) {
      throw invalidDefinition(`spec.versions: ${errorMessage(error)}`);
    }
  }
  const at = timestamp(new Date());
  const status = (definition['status'] ?? {}) as { conditions?: unknown };
  definition['status'] = {
    conditions: status.conditions ?? [
      { type: 'NamesAccepted', status: 'True', lastTransitionTime: at, reason: 'NoConflicts', message: 'no conflicts found' },
      {
        type: 'Established',
        status: 'True',
        lastTransitionTime: at,
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      },
    ],
    acceptedNames: names,
    storedVersions: spec.versions.filter((version) => version.storage).map((version) => version.name),
  };
}

export function customResources(definition: KubeObject): Resource[] {
  const spec = definition['spec'] as DefinitionSpec;
  return spec.versions
    .filter((version) => version.served)
    .map((version) => {
      const given = version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
      const schema: Schema = {
        ...given,
        properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...given.properties, metadata: META_SCHEMA },
      };
      const columns = version.additionalPrinterColumns ?? [AGE];
      const readers = columns.map((column) => jsonPath(column.jsonPath));
      const selectable = (version.selectableFields ?? []).map(({ jsonPath: path }) => [path.slice(1), jsonPath(path)] as const);
      return {
        group: spec.group,
        version: version.name,
        plural: spec.names.plural,
        singular: spec.names.singular ?? spec.names.kind.toLowerCase(),
        kind: spec.names.kind,
        listKind: spec.names.listKind ?? `${spec.names.kind}List`,
        shortNames: spec.names.shortNames ?? [],
        categories: spec.names.categories ?? [],
        namespaced: spec.scope === 'Namespaced',
        storage: `${spec.group}/${spec.names.plural}`,
        statusSubresource: version.subresources?.status !== undefined,
        custom: true,
        schema,
        verbs: CUSTOM_VERBS,
        columns: [NAME_COLUMN, ...columns.map(tableColumn)],
        cells: (object, now) => [object.metadata.name, ...columns.map((column, index) => cell(column, readers[index]?.(object), now))],
        fields: Object.fromEntries(selectable.map(([name, reader]) => [name, (object: KubeObject) => String(reader(object) ?? '')])),
      };
    });
}

const tableColumn = (column: PrinterColumn): Column => ({
  name: column.name,
  type: column.type,
  format: column.format ?? '',
  description: column.description ?? `Custom resource definition column (in JSONPath format): ${column.jsonPath}`,
  priority: column.priority ?? 0,
});

function cell(column: PrinterColumn, value: unknown, now: Date): Json {
  if (value === undefined || value === null) return null;
  switch (column.type) {
    case 'date':
      return typeof value === 'string' ? age(value, now) : null;
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
}
