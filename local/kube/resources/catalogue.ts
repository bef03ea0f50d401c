/** All current resources: the built-in ones and those of CustomResourceDefinitions. */
import { BUILTINS, CRD_STORAGE } from './builtins.ts';
import { customResources } from './crd.ts';
import type { Store } from '../storage/store.ts';
import type { Resource } from '../types.ts';

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
