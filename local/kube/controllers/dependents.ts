/** An index from the UID of an owner to the objects that name it in their owner references. */
import type { Change } from '../storage/store.ts';

/** Where an object is stored. */
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

export const placeOf = ({ storage, object }: Change): Place => ({
  storage,
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name,
});

export function openDependents(): Dependents {
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
