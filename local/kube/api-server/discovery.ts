/** API discovery: one list per group. Clients that ask for the aggregated form accept this one too. */
import { groupVersion } from '../resources/catalogue.ts';
import type { JsonObject, Resource } from '../types.ts';

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
