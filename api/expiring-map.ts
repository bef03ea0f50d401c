/** A map whose entries end after a time, and whose size is bounded: it forgets the oldest entry when it is full. */

export interface ExpiringMap<V> {
  /** The value; null if the key is unknown or has expired. */
  get(key: string): V | null;
  set(key: string, value: V, forMs: number): void;
  delete(key: string): void;
}

/** @param options.now milliseconds of a clock that never goes back */
export function createExpiringMap<V>({ max, now = () => performance.now() }: { max: number; now?: () => number }): ExpiringMap<V> {
  const entries = new Map<string, { value: V; until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      if (entry.until > now()) return entry.value;
      entries.delete(key);
      return null;
    },
    set(key, value, forMs) {
      entries.delete(key);
      for (const oldest of entries.keys()) {
        if (entries.size < max) break;
        entries.delete(oldest);
      }
      entries.set(key, { value, until: now() + forMs });
    },
    delete: (key) => void entries.delete(key),
  };
}
