/** Records when keys were last used, outside the requests that use them. */
import type { Collection } from 'mongodb';

/** The minimum interval between two writes of `lastUsedAt` of one key, in milliseconds. */
const RECORD_EVERY_MS = 60_000;
/** How long uses are collected before one command writes them, in milliseconds. */
const COLLECT_MS = 1_000;

export interface KeyUses {
  /** Records that a key was used: at most once per minute, in one command with other keys, within about a second. Never throws. */
  touch(id: string): void;
  /** Writes the collected uses now. Never rejects. Call it before the connection is closed. */
  flush(): Promise<void>;
}

export function createKeyUses(keys: Collection<{ _id: string; lastUsedAt: Date | null }>, now: () => Date): KeyUses {
  /** When this process last recorded the use of each key. */
  const recorded = new Map<string, number>();
  const waiting = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const ids = [...waiting];
    waiting.clear();
    if (ids.length === 0) return;
    const at = now();
    // Other replicas have their own maps. The filter limits the writes of all replicas together.
    const due = { $or: [{ lastUsedAt: null }, { lastUsedAt: { $lt: new Date(at.getTime() - RECORD_EVERY_MS) } }] };
    try {
      await keys.updateMany({ _id: { $in: ids }, ...due }, { $set: { lastUsedAt: at } });
    } catch {
      // The next use of each key is recorded again.
      for (const id of ids) recorded.delete(id);
    }
  }

  return {
    touch(id) {
      const at = now().getTime();
      const last = recorded.get(id);
      if (last !== undefined && at - last < RECORD_EVERY_MS) return;
      // Deleted and inserted again, so that the map is ordered by use and outdated entries come first.
      recorded.delete(id);
      recorded.set(id, at);
      for (const [key, time] of recorded) {
        if (at - time < RECORD_EVERY_MS) break;
        recorded.delete(key);
      }
      waiting.add(id);
      timer ??= setTimeout(() => void flush(), COLLECT_MS).unref();
    },
    flush,
  };
}
