/** What the garbage collector does to objects: collect, delete in the foreground, empty a namespace. */
import type { V1OwnerReference } from '@kubernetes/client-node';
import type { Registry } from '../registry/registry.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import type { Store } from '../storage/store.ts';
import type { Json, KubeObject, Resource } from '../types.ts';
import type { Dependents, Place } from './dependents.ts';

export interface CascadeDeps {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  dependents: Dependents;
}

export interface Cascade {
  /** Deletes an object if all its owners are gone. */
  collect(place: Place): void;
  /** Foreground deletion: deletes the dependents first, then the owner. */
  deleteInForeground(place: Place): void;
  /** Deletes everything in a namespace that is terminating, then the namespace. */
  emptyNamespace(name: string): void;
}

/** Whether an object keeps its owner until it is deleted itself. */
const blocks = (dependent: KubeObject | undefined, owner: string): boolean =>
  dependent?.metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion === true) === true;

export function openCascade({ store, objects, catalogue, dependents }: CascadeDeps): Cascade {
  const resourceAt = (storage: string): Resource | undefined => catalogue.all().find((resource) => resource.storage === storage);
  const objectAt = ({ storage, namespace, name }: Place): KubeObject | undefined => store.get(storage, namespace, name);

  function ownerExists(owner: V1OwnerReference, namespace: string): boolean {
    const resource = catalogue.ofKind(owner.apiVersion, owner.kind);
    // An owner of an unknown kind may exist elsewhere.
    if (resource === undefined) return true;
    return store.get(resource.storage, resource.namespaced ? namespace : '', owner.name)?.metadata.uid === owner.uid;
  }

  function remove(place: Place, propagationPolicy = 'Background'): void {
    const resource = resourceAt(place.storage);
    if (resource !== undefined && objectAt(place) !== undefined)
      objects.remove(resource, place.namespace, place.name, { propagationPolicy });
  }

  function removeFinalizer({ storage, namespace, name }: Place, finalizer: string): void {
    const resource = resourceAt(storage);
    if (resource === undefined) return;
    objects.update(resource, namespace, name, ({ metadata, ...rest }) => {
      const finalizers = metadata.finalizers?.filter((other) => other !== finalizer);
      return { ...rest, metadata: { ...metadata, finalizers } } as unknown as Json;
    });
  }

  return {
    collect(place) {
      const owners = objectAt(place)?.metadata.ownerReferences ?? [];
      if (owners.length > 0 && !owners.some((owner) => ownerExists(owner, place.namespace))) remove(place);
    },

    deleteInForeground(place) {
      const object = objectAt(place);
      if (object?.metadata.finalizers?.includes('foregroundDeletion') !== true) return;
      const { uid } = object.metadata;
      for (const dependent of dependents.of(uid)) {
        const { metadata } = objectAt(dependent) ?? {};
        if (metadata === undefined || metadata.deletionTimestamp !== undefined) continue;
        const others = metadata.ownerReferences?.some((owner) => owner.uid !== uid && ownerExists(owner, dependent.namespace));
        if (others !== true) remove(dependent, dependents.of(metadata.uid).length > 0 ? 'Foreground' : 'Background');
      }
      if (!dependents.of(uid).some((dependent) => blocks(objectAt(dependent), uid))) removeFinalizer(place, 'foregroundDeletion');
    },

    emptyNamespace(name) {
      const namespace = store.get('/namespaces', '', name);
      if (namespace?.metadata.deletionTimestamp === undefined) return;
      const namespaced = catalogue.all().filter((resource) => resource.namespaced);
      let left = 0;
      for (const storage of new Set(namespaced.map((resource) => resource.storage))) {
        for (const object of store.list(storage, name)) {
          if (object.metadata.deletionTimestamp === undefined) remove({ storage, namespace: name, name: object.metadata.name });
          if (store.get(storage, name, object.metadata.name) !== undefined) left += 1;
        }
      }
      if (left === 0 && (namespace.metadata.finalizers?.length ?? 0) === 0) store.remove('/namespaces', namespace);
    },
  };
}
