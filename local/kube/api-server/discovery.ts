/** API discovery: one list per group. Clients that ask for the aggregated form accept this one too. */
import { createHash } from 'node:crypto';
import { groupVersion } from '../resources/builtins.ts';
import type { Json, JsonObject, Resource, Schema } from '../types.ts';
import { META_SCHEMA } from '../schemas/builtin-schemas.ts';

/** OpenAPI v3 documents, one per group and version, for `kubectl explain` and `kubectl apply`. */
const META_NAME = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** `batch/v1` Job → `io.k8s.api.batch.v1.Job`; the group of a custom kind is reversed, as on the real server. */
function schemaName(resource: Resource): string {
  if (!resource.custom) return `io.k8s.api.${(resource.group.split('.')[0] ?? '') || 'core'}.${resource.version}.${resource.kind}`;
  return `${resource.group.split('.').reverse().join('.')}.${resource.version}.${resource.kind}`;
}

/** Descriptions of the common fields, for `kubectl explain`. */
const COMMON: Record<string, Schema> = {
  apiVersion: { type: 'string', description: 'The version of the schema of this object.' },
  kind: { type: 'string', description: 'The kind of this object.' },
};

function documented(resource: Resource): JsonObject {
  const { 'x-kubernetes-validations': _rules, ...schema } = resource.schema;
  const metadata = {
    description: "The object's name, namespace, labels and other metadata.",
    allOf: [{ $ref: `#/components/schemas/${META_NAME}` }],
  };
  return {
    ...schema,
    properties: { ...schema.properties, ...COMMON, metadata },
    'x-kubernetes-group-version-kind': [{ group: resource.group, version: resource.version, kind: resource.kind }],
  } as unknown as JsonObject;
}

const queryParameter = (name: string): Json => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });
const pathParameter = (name: string): Json => ({ name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } });

/** The operations, limited to what kubectl reads: whether a PATCH accepts `fieldValidation` and `dryRun`. */
function paths(resource: Resource): [string, Json][] {
  const base = resource.group === '' ? `/api/${resource.version}` : `/apis/${groupVersion(resource)}`;
  const collection = `${base}/${resource.namespaced ? 'namespaces/{namespace}/' : ''}${resource.plural}`;
  const kind = { group: resource.group, version: resource.version, kind: resource.kind };
  const schema = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const content = { 'application/json': { schema } };
  const operation = (action: string, ...parameters: string[]): Json => ({
    operationId: `${action}${resource.kind}`,
    parameters: parameters.map(queryParameter),
    responses: { '200': { description: 'OK', content } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': kind,
  });
  const write = ['dryRun', 'fieldManager', 'fieldValidation'];
  const space = resource.namespaced ? [pathParameter('namespace')] : [];
  const verbs = new Set(resource.verbs);
  const of = (verb: string, method: string, action: string, ...parameters: string[]): JsonObject =>
    verbs.has(verb) ? { [method]: operation(action, ...parameters) } : {};
  return [
    [collection, { ...of('list', 'get', 'list'), ...of('create', 'post', 'post', ...write), parameters: space }],
    [
      `${collection}/{name}`,
      {
        ...of('get', 'get', 'get'),
        ...of('update', 'put', 'put', ...write),
        ...of('patch', 'patch', 'patch', ...write, 'force'),
        ...of('delete', 'delete', 'delete', 'dryRun', 'propagationPolicy'),
        parameters: [pathParameter('name'), ...space],
      },
    ],
  ];
}

/** The document of one group and version. */
function document(resources: readonly Resource[]): JsonObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.0' },
    paths: Object.fromEntries(resources.flatMap(paths)),
    components: {
      schemas: {
        [META_NAME]: META_SCHEMA as unknown as Json,
        ...Object.fromEntries(resources.map((resource) => [schemaName(resource), documented(resource)])),
      },
    },
  };
}

/** The document of a path: `v3` itself, or one group's document; undefined if it does not exist. */
export function openapiDocument(resources: readonly Resource[], path: string): Json | undefined {
  const groups = Map.groupBy(resources, (resource) =>
    resource.group === '' ? `api/${resource.version}` : `apis/${groupVersion(resource)}`,
  );
  if (path === 'v3') {
    const entry = (name: string, members: readonly Resource[]): [string, Json] => {
      // kubectl caches a document by this hash.
      const hash = createHash('sha256').update(JSON.stringify(members)).digest('hex').toUpperCase();
      return [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${hash}` }];
    };
    return { paths: Object.fromEntries([...groups].map(([name, members]) => entry(name, members))) };
  }
  const members = groups.get(path.replace(/^v3\//, ''));
  return members === undefined ? undefined : document(members);
}

export const VERSION = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0-curbcut',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: 'linux/amd64',
};

const STATUS_VERBS = ['get', 'patch', 'update'];

function subresources(resource: Resource): { name: string; verbs: string[] }[] {
  return [
    ...(resource.storage === '/pods' ? [{ name: 'log', verbs: ['get'] }] : []),
    ...(resource.statusSubresource ? [{ name: 'status', verbs: STATUS_VERBS }] : []),
  ];
}

const common = (resource: Resource): JsonObject => ({
  ...(resource.shortNames.length === 0 ? {} : { shortNames: resource.shortNames }),
  ...(resource.categories.length === 0 ? {} : { categories: resource.categories }),
});

/** `/api/v1` and `/apis/<group>/<version>`. */
export function resourceList(resources: readonly Resource[], version: string): JsonObject {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: version,
    resources: resources.flatMap((resource) => [
      {
        name: resource.plural,
        singularName: resource.singular,
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs: [...resource.verbs],
        ...common(resource),
      },
      ...subresources(resource).map(({ name, verbs }) => ({
        name: `${resource.plural}/${name}`,
        singularName: '',
        namespaced: resource.namespaced,
        kind: resource.kind,
        verbs,
      })),
    ]),
  };
}

/** `/apis`. */
export function groupList(resources: readonly Resource[]): JsonObject {
  const named = Map.groupBy(
    resources.filter(({ group }) => group !== ''),
    ({ group }) => group,
  );
  const groups = [...named].map(([name, members]) => {
    const versions = [...new Set(members.map(({ version }) => version))].map((version) => ({
      groupVersion: `${name}/${version}`,
      version,
    }));
    return { name, versions, preferredVersion: versions[0] };
  });
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** `/api`. */
export const coreVersions = (): JsonObject => ({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });

export const ofGroupVersion = (resources: readonly Resource[], wanted: string): Resource[] =>
  resources.filter((resource) => groupVersion(resource) === wanted);
