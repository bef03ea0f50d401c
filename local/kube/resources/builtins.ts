/** The built-in resources: only those that the product and kubectl use. */
import { builtinSchema, META_SCHEMA } from '../schemas/builtin-schemas.ts';
import { establish } from './crd.ts';
import { forbiddenValue, invalid, invalidValue, type Cause } from '../status.ts';
import { isDeepStrictEqual } from 'node:util';
import * as printed from '../printing/table-columns.ts';
import type { JsonObject, KubeObject, Resource, Schema } from '../types.ts';
import { prepareJob, prepareJobUpdate, preparePod, preparePodUpdate } from './workloads.ts';

export const CRD_STORAGE = 'apiextensions.k8s.io/customresourcedefinitions';
const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'] as const;

type Given = Partial<Resource> & Pick<Resource, 'plural' | 'kind' | 'schema' | 'columns' | 'cells'>;

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

function checkKeys(object: KubeObject, kind: 'Secret' | 'ConfigMap'): void {
  const causes: Cause[] = [];
  for (const part of ['data', 'binaryData']) {
    for (const key of Object.keys(object[part] ?? {})) {
      if (/^[-._a-zA-Z0-9]+$/.test(key)) continue;
      const rule =
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
      causes.push(invalidValue(`${part}[${key}]`, key, rule));
    }
  }
  if (causes.length > 0) throw invalid({ group: '', plural: `${kind.toLowerCase()}s`, kind }, object.metadata.name, causes);
}

function checkImmutable(object: KubeObject, old: KubeObject, kind: 'Secret' | 'ConfigMap'): void {
  const causes: Cause[] = [];
  if (old['immutable'] === true) {
    const why = 'field is immutable when `immutable` is set';
    if (object['immutable'] !== true) causes.push(forbiddenValue('immutable', why));
    for (const part of ['data', 'binaryData']) {
      if (!isDeepStrictEqual(object[part] ?? {}, old[part] ?? {})) causes.push(forbiddenValue(part, why));
    }
  }
  if (kind === 'Secret' && object['type'] !== old['type']) causes.push(invalidValue('type', String(object['type']), 'field is immutable'));
  if (causes.length > 0) throw invalid({ group: '', plural: `${kind.toLowerCase()}s`, kind }, object.metadata.name, causes);
}

function prepareSecret(object: KubeObject): void {
  const given = object['stringData'] as Record<string, string> | undefined;
  if (given !== undefined) {
    const encoded = Object.entries(given).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    object['data'] = { ...(object['data'] as JsonObject | undefined), ...Object.fromEntries(encoded) };
    delete object['stringData'];
  }
  object['type'] ??= 'Opaque';
  checkKeys(object, 'Secret');
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
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((name) => [
      `involvedObject.${name}`,
      field('involvedObject', name),
    ]),
  ),
  source: field('source', 'component'),
  reportingComponent: field('reportingComponent'),
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
  builtin({
    plural: 'configmaps',
    kind: 'ConfigMap',
    shortNames: ['cm'],
    schema: builtinSchema('ConfigMap'),
    ...printed.CONFIG_MAP,
    prepareCreate: (object) => checkKeys(object, 'ConfigMap'),
    prepareUpdate(object, old) {
      checkKeys(object, 'ConfigMap');
      checkImmutable(object, old, 'ConfigMap');
    },
  }),
  builtin({
    plural: 'events',
    kind: 'Event',
    shortNames: ['ev'],
    schema: builtinSchema('Event'),
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
    schema: builtinSchema('Namespace'),
    ...printed.NAMESPACE,
    fields: { 'status.phase': field('status', 'phase') },
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
    schema: builtinSchema('Pod'),
    ...printed.POD,
    fields: {
      'spec.nodeName': field('spec', 'nodeName'),
      'spec.restartPolicy': field('spec', 'restartPolicy'),
      'spec.schedulerName': field('spec', 'schedulerName'),
      'spec.serviceAccountName': field('spec', 'serviceAccountName'),
      'status.phase': field('status', 'phase'),
      'status.podIP': field('status', 'podIP'),
    },
    prepareCreate: preparePod,
    prepareUpdate: preparePodUpdate,
  }),
  builtin({
    plural: 'secrets',
    kind: 'Secret',
    schema: builtinSchema('Secret'),
    ...printed.SECRET,
    fields: { type: field('type') },
    prepareCreate: prepareSecret,
    prepareUpdate(object, old) {
      prepareSecret(object);
      checkImmutable(object, old, 'Secret');
    },
  }),
  builtin({
    group: 'batch',
    plural: 'jobs',
    kind: 'Job',
    categories: ['all'],
    statusSubresource: true,
    schema: builtinSchema('Job'),
    ...printed.JOB,
    fields: { 'status.successful': (object) => field('status', 'succeeded')(object) || '0' },
    prepareCreate: prepareJob,
    prepareUpdate: prepareJobUpdate,
  }),
  builtin({ group: 'coordination.k8s.io', plural: 'leases', kind: 'Lease', schema: builtinSchema('Lease'), ...printed.LEASE }),
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
    ...printed.DEFINITION,
    prepareCreate: establish,
    prepareUpdate: (object, _old, subresource) => {
      if (subresource === '') establish(object);
    },
  }),
];
