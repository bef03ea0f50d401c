/** The built-in resources: only those that the product and kubectl use. */
import { isDeepStrictEqual } from 'node:util';
import { builtinSchema, META_SCHEMA } from '../schemas/builtin-schemas.ts';
import * as printed from '../printing/table-columns.ts';
import type { JsonObject, KubeObject, Resource, Schema } from '../types.ts';
import { type Cause, forbiddenValue, invalid, invalidValue } from '../status.ts';
import type { Store } from '../store.ts';
import { customResources, establish } from './crd.ts';

/** What the server adds to pods and Jobs. It refuses those that nothing here runs. */
const POD = { group: '', plural: 'pods', kind: 'Pod' };
const JOB = { group: 'batch', plural: 'jobs', kind: 'Job' };
/** What an update of a Job may not change. A real cluster allows some changes of a suspended one's template. */
const FIXED = ['completions', 'selector', 'template', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex'];

const refuse = (named: typeof POD, { metadata }: KubeObject, causes: readonly Cause[]): void => {
  if (causes.length > 0) throw invalid(named, metadata.name, causes);
};

const runsOnce = (spec: JsonObject | undefined): boolean =>
  spec?.['restartPolicy'] === 'Never' && Array.isArray(spec['containers']) && spec['containers'].length === 1;

function preparePod(object: KubeObject): void {
  const spec = object['spec'] as JsonObject | undefined;
  const why = 'the embedded Kubernetes runs only pods with one container and restartPolicy Never';
  refuse(POD, object, runsOnce(spec) ? [] : [forbiddenValue('spec', why)]);
  object['spec'] = { terminationGracePeriodSeconds: 30, schedulerName: 'default-scheduler', ...spec };
  object.metadata.generation = 1;
  object['status'] = { phase: 'Pending' };
}

/** The labels that assign a pod to its Job, with the current prefix and in the legacy form. */
function ownLabels(uid: string, name: string): Record<string, string> {
  return {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
}

function jobCauses(spec: JsonObject): Cause[] {
  const template = spec['template'] as { spec?: JsonObject } | undefined;
  const isSupported =
    spec['completionMode'] === 'Indexed' &&
    spec['completions'] === 1 &&
    spec['backoffLimitPerIndex'] !== undefined &&
    spec['podReplacementPolicy'] === 'Failed' &&
    spec['ttlSecondsAfterFinished'] === undefined &&
    runsOnce(template?.spec);
  const why =
    'the embedded Kubernetes runs only Jobs with completionMode Indexed, completions 1, backoffLimitPerIndex, podReplacementPolicy Failed, one container and restartPolicy Never, and without ttlSecondsAfterFinished';
  return isSupported ? [] : [forbiddenValue('spec', why)];
}

function prepareJob(object: KubeObject): void {
  const spec = (object['spec'] ?? {}) as JsonObject;
  refuse(JOB, object, jobCauses(spec));
  const { uid, name } = object.metadata;
  const template = spec['template'] as { metadata?: { labels?: Record<string, string> } };
  const labels = { ...template.metadata?.labels, ...ownLabels(uid, name) };
  template.metadata = { ...template.metadata, labels };
  object.metadata.labels ??= labels;
  object.metadata.generation = 1;
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  object['status'] = {};
}

function prepareJobUpdate(object: KubeObject, old: KubeObject, subresource: string): void {
  if (subresource !== '') return;
  const [spec, before] = [object['spec'], old['spec']] as [JsonObject, JsonObject];
  const changed = FIXED.filter((name) => !isDeepStrictEqual(spec[name], before[name]));
  refuse(JOB, object, [...jobCauses(spec), ...changed.map((name) => invalidValue(`spec.${name}`, spec[name], 'field is immutable'))]);
  if (!isDeepStrictEqual(spec, before)) object.metadata.generation = (old.metadata.generation ?? 1) + 1;
}

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

/** All current resources: the built-in ones and those of CustomResourceDefinitions. */
export interface Catalogue {
  all(): readonly Resource[];
  find(group: string, version: string, plural: string): Resource | undefined;
  /** Any version of a resource. @throws Error if it does not exist, which is a bug */
  named(group: string, plural: string): Resource;
  /** Finds the resource of an object or owner reference. */
  ofKind(apiVersion: string, kind: string): Resource | undefined;
}

/** Opens the catalogue, which follows the definitions in the store. */
export function openCatalogue(store: Store): Catalogue {
  const build = (): Resource[] => [...BUILTINS, ...store.list(CRD_STORAGE).flatMap(customResources)];
  let resources = build();
  store.subscribe((change) => {
    if (change.storage === CRD_STORAGE) resources = build();
  });
  return {
    all: () => resources,
    find: (group, version, plural) =>
      resources.find((resource) => resource.plural === plural && resource.group === group && resource.version === version),
    named(group, plural) {
      const found = resources.find((resource) => resource.plural === plural && resource.group === group);
      if (found === undefined) throw new Error(`there is no resource ${plural} in group '${group}'`);
      return found;
    },
    ofKind: (apiVersion, kind) => resources.find((resource) => resource.kind === kind && groupVersion(resource) === apiVersion),
  };
}

/** `v1`, `batch/v1`. */
export const groupVersion = (resource: { group: string; version: string }): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
