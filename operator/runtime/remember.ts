/** A least-recently-used map. */
const MAX_REMEMBERED = 4096;

export interface Remembered<V> {
  set(key: string, value: V): V;
  /** Does not count as a use. */
  peek(key: string): V | undefined;
  get(key: string, make: () => V): V;
}

/** Keeps the 4,096 entries that were used last. */
export function remember<V>(): Remembered<V> {
  const map = new Map<string, V>();
  const set = (key: string, value: V) => {
    map.delete(key);
    map.set(key, value);
    if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value!);
    return value;
  };
  return {
    set,
    peek: (key) => map.get(key),
    get: (key, make) => set(key, map.get(key) ?? make()),
  };
}
