/** The built-in resources: only those that the product and kubectl use. */
import { builtinSchema, META_SCHEMA } from '../schemas/builtin-schemas.ts';
import { establish } from './crd.ts';
import * as printed from '../printing/table-columns.ts';
import type { JsonObject, KubeObject, Resource, Schema } from '../types.ts';
import { prepareJob, prepareJobUpdate, preparePod } from './workloads.ts';

export const CRD_STORAGE = 'apiextensions.k8s.io/customresourcedefinitions';
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'] as const;

type Given = Partial<Resource> & Pick<Resource, 'plural' | 'kind'>;

function builtin(given: Given): Resource {
  const group = given.group ?? '';
  return {
    group,
    version: 'v1',
    singular: given.kind.toLowerCase(),
    listKind: `${given.kind}List`,
    shortNames: [],
    categories: [],
    namespaced: true,
    storage: `${group}/${given.plural}`,
    statusSubresource: false,
    custom: false,
    verbs: VERBS,
    fields: {},
    schema: given.schema ?? builtinSchema(given.kind),
    ...printed.DEFAULT,
    ...given,
  };
}

/** Reads a nested field as a string, for field selectors. */
const field =
  (...path: string[]) =>
  (object: KubeObject): string => {
    let value: unknown = object;
    for (const part of path) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined;
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
  };

function prepareSecret(object: KubeObject): void {
  const given = object['stringData'] as Record<string, string> | undefined;
  if (given !== undefined) {
    const encoded = Object.entries(given).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    object['data'] = { ...(object['data'] as JsonObject | undefined), ...Object.fromEntries(encoded) };
    delete object['stringData'];
  }
  object['type'] ??= 'Opaque';
}

function prepareNamespace(object: KubeObject): void {
  object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  object['spec'] = { finalizers: ['kubernetes'] };
  object['status'] = { phase: 'Active' };
}

/** The real server always writes these fields, also if they are empty. */
function prepareEvent(object: KubeObject): void {
  object['source'] ??= {};
  object['firstTimestamp'] ??= null;
  object['lastTimestamp'] ??= null;
  object['eventTime'] ??= null;
  object['reportingComponent'] ??= '';
  object['reportingInstance'] ??= '';
}

export const EVENT_STORAGE = '/events';
const EVENT_FIELDS: Resource['fields'] = {
  ...Object.fromEntries(
    ['apiVersion', 'kind', 'namespace', 'name', 'uid'].map((name) => [`involvedObject.${name}`, field('involvedObject', name)]),
  ),
  reason: field('reason'),
  type: field('type'),
};

const DEFINITION_SCHEMA: Schema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: META_SCHEMA,
    spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};

export const BUILTINS: readonly Resource[] = [
  builtin({ plural: 'configmaps', kind: 'ConfigMap', shortNames: ['cm'] }),
  builtin({
    plural: 'events',
    kind: 'Event',
    shortNames: ['ev'],
    storage: EVENT_STORAGE,
    ...printed.EVENT,
    fields: EVENT_FIELDS,
    prepareCreate: prepareEvent,
  }),
  builtin({
    plural: 'namespaces',
    kind: 'Namespace',
    shortNames: ['ns'],
    namespaced: false,
    statusSubresource: true,
    prepareCreate: prepareNamespace,
    prepareUpdate(object, old) {
      object['spec'] = old['spec'];
      object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
    },
  }),
  builtin({
    plural: 'pods',
    kind: 'Pod',
    shortNames: ['po'],
    categories: ['all'],
    statusSubresource: true,
    ...printed.POD,
    fields: { 'spec.nodeName': field('spec', 'nodeName'), 'status.phase': field('status', 'phase') },
    prepareCreate: preparePod,
  }),
  builtin({
    plural: 'secrets',
    kind: 'Secret',
    fields: { type: field('type') },
    prepareCreate: prepareSecret,
    prepareUpdate: prepareSecret,
  }),
  builtin({
    group: 'batch',
    plural: 'jobs',
    kind: 'Job',
    categories: ['all'],
    statusSubresource: true,
    ...printed.JOB,
    prepareCreate: prepareJob,
    prepareUpdate: prepareJobUpdate,
  }),
  builtin({ group: 'coordination.k8s.io', plural: 'leases', kind: 'Lease' }),
  builtin({
    group: 'apiextensions.k8s.io',
    plural: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    namespaced: false,
    statusSubresource: true,
    schema: DEFINITION_SCHEMA,
    storage: CRD_STORAGE,
    prepareCreate: establish,
    prepareUpdate: (object, _old, subresource) => {
      if (subresource === '') establish(object);
    },
  }),
];
