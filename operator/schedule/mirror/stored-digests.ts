/** What is stored of each schedule, as its digest, so that a restart does not write every schedule again. */

export interface StoredDigests {
  /** Resolves when the digests were read. @throws if MongoDB does not answer; the next call reads again */
  ready(): Promise<void>;
  /** Reads the digests again. @returns the keys whose digests are not the expected ones */
  refresh(): Promise<string[]>;
  get(key: string): string | undefined;
  set(key: string, digest: string): void;
  delete(key: string): void;
  keys(): string[];
}

export function createStoredDigests(read: () => Promise<Map<string, string>>): StoredDigests {
  let digests: Map<string, string> | null = null;
  let reading: Promise<void> | null = null;

  const ready = (): Promise<void> => {
    if (digests !== null) return Promise.resolve();
    reading ??= read()
      .then((stored) => void (digests = stored))
      .finally(() => (reading = null));
    return reading;
  };

  return {
    ready,
    async refresh() {
      if (digests === null) {
        await ready();
        return [];
      }
      const before = digests;
      const stored = await read();
      const changed = [...new Set([...before.keys(), ...stored.keys()])].filter((key) => before.get(key) !== stored.get(key));
      // A write during the read may be missing in the result. Its key is planned again, which repeats the write at worst.
      digests = stored;
      return changed;
    },
    get: (key) => digests?.get(key),
    set: (key, digest) => void digests?.set(key, digest),
    delete: (key) => void digests?.delete(key),
    keys: () => [...(digests?.keys() ?? [])],
  };
}
