/** What a controller keeps in memory about each object, by uid. */
export interface States<T> {
  /** Returns the state of an object. Callers mutate it. Only for objects that the cache holds, because their deletion forgets it. */
  of(uid: string): T;
  /** Returns the state of an object if it has one. */
  find(uid: string): T | undefined;
  forget(uid: string): void;
}

export function createStates<T>(create: () => T): States<T> {
  const states = new Map<string, T>();
  return {
    of(uid) {
      const state = states.get(uid) ?? create();
      states.set(uid, state);
      return state;
    },
    find: (uid) => states.get(uid),
    forget: (uid) => void states.delete(uid),
  };
}
