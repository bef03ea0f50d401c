/** A map with a bounded size: it forgets the entry that was not used for the longest time. Entries may also end after a time. */
export class BoundedMap<V> {
  readonly #max: number;
  readonly #monotonic: () => number;
  /** The least recently used entry is the first. */
  readonly #entries = new Map<string, { value: V; until: number }>();

  /** @param options.monotonic milliseconds; only for entries that end */
  constructor({ max, monotonic = () => performance.now() }: { max: number; monotonic?: () => number }) {
    this.#max = max;
    this.#monotonic = monotonic;
  }

  /** Returns the value; null if the key is unknown or its entry has ended. Counts as a use. */
  get(key: string): V | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    if (entry.until <= this.#monotonic()) return null;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Stores a value. @param forMs when its entry ends, in milliseconds from now. Default: never */
  set(key: string, value: V, forMs = Infinity): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#monotonic() + forMs });
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value!);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
