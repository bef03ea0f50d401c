/** The garbage collector: deletes dependents after their owners, and everything in a deleted namespace. */
import type { Logger } from '../../../platform/logger.ts';
import type { Registry } from '../registry/registry.ts';
import { CRD_STORAGE, EVENT_STORAGE } from '../resources/builtins.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import { StatusError } from '../status.ts';
import type { Change, Store } from '../storage/store.ts';
import type { KubeObject } from '../types.ts';
import { openCascade } from './cascade.ts';
import { openDependents, placeOf } from './dependents.ts';

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
