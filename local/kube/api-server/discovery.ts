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

/** The versions of each group, in their order. */
function groups(resources: readonly Resource[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { group, version } of resources) {
    const versions = found.get(group) ?? [];
    if (!versions.includes(version)) found.set(group, [...versions, version]);
  }
  return found;
}

const apiGroup = (name: string, versions: string[]): JsonObject => {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
};

/** `/apis`. */
export function groupList(resources: readonly Resource[]): JsonObject {
  const named = [...groups(resources)].filter(([group]) => group !== '');
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(([group, versions]) => apiGroup(group, versions)) };
}

/** `/apis/<group>`; undefined if the group does not exist. */
export function oneGroup(resources: readonly Resource[], group: string): JsonObject | undefined {
  const versions = groups(resources).get(group);
  return versions === undefined || group === '' ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group, versions) };
}

/** `/api`. */
export const coreVersions = (): JsonObject => ({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });

export const ofGroupVersion = (resources: readonly Resource[], wanted: string): Resource[] =>
  resources.filter((resource) => groupVersion(resource) === wanted);
