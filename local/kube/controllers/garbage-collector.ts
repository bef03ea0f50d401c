/** The garbage collector: dependents follow their owners, and what lives in a namespace or of a definition follows it. */
import type { Logger } from '../../../platform/logger.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import { CRD_STORAGE, EVENT_STORAGE } from '../resources/builtins.ts';
import type { Objects } from '../registry/registry.ts';
import { StatusError } from '../status.ts';
import type { Change, Store } from '../storage/store.ts';
import type { Json, KubeObject, OwnerReference, Resource } from '../types.ts';

interface Place {
  storage: string;
  namespace: string;
  name: string;
}

/** As long as a real API server keeps events. */
const EVENT_LIFETIME_MS = 3600_000;
const EVENT_SWEEP_MS = 60_000;

const keyOf = ({ storage, namespace, name }: Place): string => `${storage}/${namespace}/${name}`;

/** Starts it. @returns how to stop it */
export function startGarbageCollector(store: Store, objects: Objects, catalogue: Catalogue, now: () => Date, logger: Logger): () => void {
  const dependents = new Map<string, Map<string, Place>>();
  const tasks: (() => void)[] = [];
  let scheduled: NodeJS.Immediate | undefined;

  function later(task: () => void): void {
    tasks.push(task);
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      for (const next of tasks.splice(0)) {
        try {
          next();
        } catch (error) {
          if (!(error instanceof StatusError)) logger.error({ err: error }, 'the garbage collector failed');
        }
      }
    });
  }

  const resourceAt = (storage: string): Resource | undefined => catalogue.all().find((resource) => resource.storage === storage);
  const objectAt = ({ storage, namespace, name }: Place): KubeObject | undefined => store.get(storage, namespace, name);
  const dependentsOf = (uid: string): Place[] => [...(dependents.get(uid)?.values() ?? [])];

  function index(change: Change): void {
    const { namespace = '', name } = change.object.metadata;
    const place = { storage: change.storage, namespace, name };
    for (const { uid } of change.before?.metadata.ownerReferences ?? []) dependents.get(uid)?.delete(keyOf(place));
    if (change.type === 'DELETED') return;
    for (const { uid } of change.object.metadata.ownerReferences ?? []) {
      const known = dependents.get(uid) ?? new Map<string, Place>();
      dependents.set(uid, known.set(keyOf(place), place));
    }
  }

  function ownerExists(owner: OwnerReference, namespace: string): boolean {
    const resource = catalogue.ofKind(owner.apiVersion, owner.kind);
    // An owner of a kind that is not known here may well live elsewhere.
    if (resource === undefined) return true;
    return store.get(resource.storage, resource.namespaced ? namespace : '', owner.name)?.metadata.uid === owner.uid;
  }

  function remove(place: Place, propagationPolicy = 'Background'): void {
    const resource = resourceAt(place.storage);
    if (resource !== undefined && objectAt(place) !== undefined)
      objects.remove(resource, place.namespace, place.name, { propagationPolicy });
  }

  /** Deletes an object all of whose owners are gone. */
  function collect(place: Place): void {
    const object = objectAt(place);
    const owners = object?.metadata.ownerReferences ?? [];
    if (owners.length === 0 || owners.some((owner) => ownerExists(owner, place.namespace))) return;
    remove(place);
  }

  function edit(place: Place, change: (old: KubeObject) => KubeObject): void {
    const resource = resourceAt(place.storage);
    if (resource !== undefined && objectAt(place) !== undefined)
      objects.update(resource, place.namespace, place.name, (old) => change(old) as unknown as Json);
  }

  const withoutFinalizer = (place: Place, finalizer: string): void =>
    edit(place, (old) => ({
      ...old,
      metadata: { ...old.metadata, finalizers: old.metadata.finalizers?.filter((name) => name !== finalizer) },
    }));

  function orphan(place: Place, uid: string): void {
    for (const dependent of dependentsOf(uid)) {
      edit(dependent, (old) => ({
        ...old,
        metadata: { ...old.metadata, ownerReferences: old.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) },
      }));
    }
    withoutFinalizer(place, 'orphan');
  }

  /** Foreground deletion: the dependents first, then the owner. */
  function deleteInForeground(place: Place): void {
    const object = objectAt(place);
    if (object?.metadata.finalizers?.includes('foregroundDeletion') !== true) return;
    const { uid } = object.metadata;
    const blocks = (dependent: Place): boolean =>
      objectAt(dependent)?.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true) === true;
    for (const dependent of dependentsOf(uid)) {
      const { metadata } = objectAt(dependent) ?? {};
      if (metadata === undefined || metadata.deletionTimestamp !== undefined) continue;
      const others = metadata.ownerReferences?.some((owner) => owner.uid !== uid && ownerExists(owner, dependent.namespace));
      if (others !== true) remove(dependent, dependentsOf(metadata.uid).length > 0 ? 'Foreground' : 'Background');
    }
    if (!dependentsOf(uid).some(blocks)) withoutFinalizer(place, 'foregroundDeletion');
  }

  function emptyNamespace(name: string): void {
    const namespace = store.get('/namespaces', '', name);
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    const storages = new Set(
      catalogue
        .all()
        .filter((resource) => resource.namespaced)
        .map((resource) => resource.storage),
    );
    let left = 0;
    for (const storage of storages) {
      for (const object of store.list(storage, name)) {
        if (object.metadata.deletionTimestamp === undefined) remove({ storage, namespace: name, name: object.metadata.name });
        if (store.get(storage, name, object.metadata.name) !== undefined) left += 1;
      }
    }
    if (left === 0 && (namespace.metadata.finalizers?.length ?? 0) === 0) store.remove('/namespaces', namespace);
  }

  function follow(change: Change): void {
    index(change);
    const { object, storage } = change;
    const { namespace = '', name, uid, finalizers } = object.metadata;
    const place = { storage, namespace, name };
    if (change.type === 'DELETED') {
      const left = dependentsOf(uid);
      dependents.delete(uid);
      for (const dependent of left) later(() => collect(dependent));
      for (const owner of object.metadata.ownerReferences ?? []) {
        const resource = catalogue.ofKind(owner.apiVersion, owner.kind);
        if (resource !== undefined)
          later(() => deleteInForeground({ storage: resource.storage, namespace: resource.namespaced ? namespace : '', name: owner.name }));
      }
      if (namespace !== '' && store.get('/namespaces', '', namespace)?.metadata.deletionTimestamp !== undefined)
        later(() => emptyNamespace(namespace));
      return;
    }
    if (change.type === 'ADDED' && object.metadata.ownerReferences !== undefined) later(() => collect(place));
    if (object.metadata.deletionTimestamp === undefined) return;
    if (finalizers?.includes('orphan') === true) later(() => orphan(place, uid));
    if (finalizers?.includes('foregroundDeletion') === true) later(() => deleteInForeground(place));
    if (storage === '/namespaces') later(() => emptyNamespace(name));
  }

  for (const storage of new Set(catalogue.all().map((resource) => resource.storage))) {
    for (const object of store.list(storage)) follow({ type: 'ADDED', storage, revision: 0, object });
  }
  const unsubscribe = store.subscribe((change) => {
    follow(change);
    if (change.storage === CRD_STORAGE && change.type === 'DELETED') later(() => dropCustomObjects(change.object));
  });

  /** Nobody can reach the objects of a definition that is gone. */
  function dropCustomObjects(definition: KubeObject): void {
    const { group, names } = definition['spec'] as { group: string; names: { plural: string } };
    const storage = `${group}/${names.plural}`;
    for (const object of store.list(storage)) store.remove(storage, object);
  }

  const expiry = setInterval(() => dropOldEvents(), EVENT_SWEEP_MS);
  function dropOldEvents(): void {
    const oldest = now().getTime() - EVENT_LIFETIME_MS;
    for (const event of store.list(EVENT_STORAGE)) {
      const seen = event['lastTimestamp'] ?? event['eventTime'] ?? event.metadata.creationTimestamp;
      if (Date.parse(String(seen)) < oldest) store.remove(EVENT_STORAGE, event);
    }
  }

  return () => {
    unsubscribe();
    clearInterval(expiry);
    clearImmediate(scheduled);
  };
}
