/** What is stored of each schedule, as its digest, so that a restart does not write every schedule again. */

export interface Held {
  /** Resolves when the digests were read. @throws if MongoDB does not answer; the next call reads again */
  ready(): Promise<void>;
  /** Reads the digests again. @returns the keys whose digests are not the expected ones */
  refresh(): Promise<string[]>;
  get(key: string): string | undefined;
  set(key: string, digest: string): void;
  delete(key: string): void;
  keys(): string[];
}

export function createHeld(read: () => Promise<Map<string, string>>): Held {
  let held: Map<string, string> | null = null;
  let reading: Promise<void> | null = null;

  const ready = (): Promise<void> => {
    if (held !== null) return Promise.resolve();
    reading ??= read()
      .then((stored) => void (held = stored))
      .finally(() => (reading = null));
    return reading;
  };

  return {
    ready,
    async refresh() {
      if (held === null) {
        await ready();
        return [];
      }
      const before = held;
      const stored = await read();
      const changed = [...new Set([...before.keys(), ...stored.keys()])].filter((key) => before.get(key) !== stored.get(key));
      // A write during the read may be missing in the result. Its key is planned again, which repeats the write at worst.
      held = stored;
      return changed;
    },
    get: (key) => held?.get(key),
    set: (key, digest) => void held?.set(key, digest),
    delete: (key) => void held?.delete(key),
    keys: () => [...(held?.keys() ?? [])],
  };
}
