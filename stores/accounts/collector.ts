/** Collects events for a moment and writes them together, outside the requests that report them. */

/** How long events are collected before they are written, in milliseconds. */
const COLLECT_MS = 1_000;

export interface CollectedEvent<T> {
  event: T;
  count: number;
}

/**
 * @param max different events that one write has at most; further ones are left out, so that no flood of events fills the memory
 * @param write writes the events, and gives up what cannot be written
 */
export function createCollector<T>({ max, write }: { max: number; write(events: CollectedEvent<T>[]): Promise<void> }) {
  const waiting = new Map<string, CollectedEvent<T>>();
  let timer: NodeJS.Timeout | undefined;
  /** The writes that were started; a connection may be closed only after them. */
  let written = Promise.resolve();

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const events = [...waiting.values()];
    waiting.clear();
    if (events.length > 0) written = written.then(() => write(events)).catch(() => undefined);
    return written;
  }

  return {
    /** Adds an event. Equal names count as one event that occurred several times. Never throws. */
    add(name: string, event: T) {
      const known = waiting.get(name);
      if (known !== undefined) known.count += 1;
      else if (waiting.size < max) waiting.set(name, { event, count: 1 });
      timer ??= setTimeout(() => void flush(), COLLECT_MS).unref();
    },
    /** Writes what was collected now, and waits for earlier writes. Never rejects. Call it before the connection is closed. */
    flush,
  };
}
