/**
 * Read-your-writes consistency over a cache: keeps a controller's own writes and deletions until the cache has received them.
 * Otherwise a controller would decide on stale objects; an admission loop would admit too many scans.
 */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

export interface OwnWrites<T extends KubernetesObject> {
  /** Returns the own write if the cached object is older than it, else the cached object; undefined after an own deletion. */
  newest(cached: T): T | undefined;
  /** Records that a write to `base` produced `written`, or null if it deleted the object, while the cache holds the object. */
  record(base: T, written: T | null): void;
  /** Called for each cache event. Drops the own write if the cache is at least as new. */
  observe(object: T, deleted: boolean): void;
}

/** The object after the last own write, and the resourceVersions that precede this write. All precede a deletion. */
interface Write<T> {
  object: T | null;
  before: Set<string>;
}

/** @param isCached whether the cache holds this object */
export function createOwnWrites<T extends KubernetesObject>(isCached: (object: T) => boolean): OwnWrites<T> {
  const writes = new Map<string, Write<T>>();
  const isOlder = ({ metadata }: T, { object, before }: Write<T>) => object === null || before.has(metadata.resourceVersion!);
  return {
    newest(cached) {
      const own = writes.get(cached.metadata.uid!);
      return own !== undefined && isOlder(cached, own) ? (own.object ?? undefined) : cached;
    },
    record(base, written) {
      // A patch without changes keeps the resourceVersion.
      if (written?.metadata.resourceVersion === base.metadata.resourceVersion) return;
      // Its deletion may arrive before the response to the write that deleted it. No later event would drop the write.
      if (!isCached(base)) return;
      const uid = base.metadata.uid!;
      const own = writes.get(uid);
      const continues = own?.object?.metadata.resourceVersion === base.metadata.resourceVersion;
      const before = new Set(continues ? own!.before : []).add(base.metadata.resourceVersion!);
      writes.set(uid, { object: written, before });
    },
    observe(object, deleted) {
      const own = writes.get(object.metadata.uid!);
      if (own !== undefined && (deleted || !isOlder(object, own))) writes.delete(object.metadata.uid!);
    },
  };
}
