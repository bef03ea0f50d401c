/** The garbage collector: deletes dependents after their owners, and everything in a deleted namespace. */
import type { V1OwnerReference } from '@kubernetes/client-node';
import type { Logger } from '../../../platform/logger.ts';
import type { Registry } from '../registry/registry.ts';
import { type Catalogue, CRD_STORAGE, EVENT_STORAGE } from '../resources/builtins.ts';
import { StatusError } from '../status.ts';
import type { Change, Store } from '../store.ts';
import type { Json, KubeObject, Resource } from '../types.ts';

/** What the garbage collector does to objects: collect, delete in the foreground, empty a namespace. */
interface CascadeDeps {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  dependents: Dependents;
}

interface Cascade {
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

function openCascade({ store, objects, catalogue, dependents }: CascadeDeps): Cascade {
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

/** An index from the UID of an owner to the objects that name it in their owner references. Where an object is stored. */
export interface Place {
  storage: string;
  namespace: string;
  name: string;
}

export interface Dependents {
  /** Updates the index after a change of an object. */
  update(change: Change): void;
  of(uid: string): Place[];
  /** Removes an owner. @returns its dependents */
  take(uid: string): Place[];
}

const keyOf = ({ storage, namespace, name }: Place): string => `${storage}/${namespace}/${name}`;

const placeOf = ({ storage, object }: Change): Place => ({
  storage,
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name,
});

function openDependents(): Dependents {
  const places = new Map<string, Map<string, Place>>();
  const of = (uid: string): Place[] => [...(places.get(uid)?.values() ?? [])];
  return {
    of,
    take(uid) {
      const dependents = of(uid);
      places.delete(uid);
      return dependents;
    },
    update(change) {
      const place = placeOf(change);
      for (const { uid } of change.before?.metadata.ownerReferences ?? []) places.get(uid)?.delete(keyOf(place));
      if (change.type === 'DELETED') return;
      for (const { uid } of change.object.metadata.ownerReferences ?? []) {
        const known = places.get(uid) ?? new Map<string, Place>();
        places.set(uid, known.set(keyOf(place), place));
      }
    },
  };
}

/** A real API server keeps events for the same time. */
const EVENT_LIFETIME_MS = 3600_000;
const EVENT_SWEEP_MS = 60_000;

export interface GarbageCollectorDeps {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  now: () => Date;
  logger: Logger;
}

/** Runs tasks after the write that caused them, in order. A failed task does not stop the next one. */
function openQueue(logger: Logger): { add(task: () => void): void; close(): void } {
  const tasks: (() => void)[] = [];
  let scheduled: NodeJS.Immediate | undefined;
  const run = (): void => {
    scheduled = undefined;
    for (const task of tasks.splice(0)) {
      try {
        task();
      } catch (error) {
        if (!(error instanceof StatusError)) logger.error({ err: error }, 'garbage collection failed');
      }
    }
  };
  return {
    add(task) {
      tasks.push(task);
      scheduled ??= setImmediate(run);
    },
    close: () => clearImmediate(scheduled),
  };
}

/** Removes the objects of a deleted definition: they are no longer reachable. */
function removeCustomObjects(store: Store, definition: KubeObject): void {
  const { group, names } = definition['spec'] as { group: string; names: { plural: string } };
  const storage = `${group}/${names.plural}`;
  for (const object of store.list(storage)) store.remove(storage, object);
}

function removeOldEvents(store: Store, now: Date): void {
  const oldest = now.getTime() - EVENT_LIFETIME_MS;
  for (const event of store.list(EVENT_STORAGE)) {
    const seen = event['lastTimestamp'] ?? event['eventTime'] ?? event.metadata.creationTimestamp;
    if (Date.parse(String(seen)) < oldest) store.remove(EVENT_STORAGE, event);
  }
}

/** Starts the garbage collector. @returns how to stop it */
export function startGarbageCollector({ store, objects, catalogue, now, logger }: GarbageCollectorDeps): () => void {
  const dependents = openDependents();
  const cascade = openCascade({ store, objects, catalogue, dependents });
  const queue = openQueue(logger);

  function afterDeletion({ object }: Change): void {
    const { namespace = '', uid } = object.metadata;
    for (const dependent of dependents.take(uid)) queue.add(() => cascade.collect(dependent));
    for (const owner of object.metadata.ownerReferences ?? []) {
      const resource = catalogue.ofKind(owner.apiVersion, owner.kind);
      if (resource === undefined) continue;
      const place = { storage: resource.storage, namespace: resource.namespaced ? namespace : '', name: owner.name };
      queue.add(() => cascade.deleteInForeground(place));
    }
    if (namespace !== '' && store.get('/namespaces', '', namespace)?.metadata.deletionTimestamp !== undefined)
      queue.add(() => cascade.emptyNamespace(namespace));
  }

  function follow(change: Change): void {
    dependents.update(change);
    if (change.type === 'DELETED') return afterDeletion(change);
    const place = placeOf(change);
    const { name, finalizers, ownerReferences, deletionTimestamp } = change.object.metadata;
    if (change.type === 'ADDED' && ownerReferences !== undefined) queue.add(() => cascade.collect(place));
    if (deletionTimestamp === undefined) return;
    if (finalizers?.includes('foregroundDeletion') === true) queue.add(() => cascade.deleteInForeground(place));
    if (change.storage === '/namespaces') queue.add(() => cascade.emptyNamespace(name));
  }

  for (const storage of new Set(catalogue.all().map((resource) => resource.storage))) {
    for (const object of store.list(storage)) follow({ type: 'ADDED', storage, revision: 0, object });
  }
  const unsubscribe = store.subscribe((change) => {
    follow(change);
    if (change.storage === CRD_STORAGE && change.type === 'DELETED') queue.add(() => removeCustomObjects(store, change.object));
  });
  const expiry = setInterval(() => removeOldEvents(store, now()), EVENT_SWEEP_MS);

  return () => {
    unsubscribe();
    clearInterval(expiry);
    queue.close();
  };
}
