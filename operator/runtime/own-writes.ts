/**
 * Read-your-writes consistency over a cache: keeps a controller's own writes until the cache has received them. Otherwise a
 * controller would decide on stale objects; an admission loop would admit too many scans.
 */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

export interface OwnWrites<T extends KubernetesObject> {
  /** Returns the own write if the cached object is older than it, else the cached object. */
  newest(cached: T): T;
  /** Records that a write to `base` produced `written`, while the cache holds the object. @returns `written` */
  record(base: T, written: T): T;
  /** Called for each cache event. Drops the own write if the cache is at least as new. */
  observe(object: T, deleted: boolean): void;
}

/** The object after the last own write, and the resourceVersions that precede this write. */
interface Write<T> {
  object: T;
  before: Set<string>;
}

/** @param isCached whether the cache holds this object */
export function createOwnWrites<T extends KubernetesObject>(isCached: (object: T) => boolean): OwnWrites<T> {
  const writes = new Map<string, Write<T>>();
  return {
    newest(cached) {
      const own = writes.get(cached.metadata.uid!);
      return own?.before.has(cached.metadata.resourceVersion!) ? own.object : cached;
    },
    record(base, written) {
      // A patch without changes keeps the resourceVersion.
      if (written.metadata.resourceVersion === base.metadata.resourceVersion) return written;
      // Its deletion may arrive before the response to the write that removed the last finalizer. No later event would drop the write.
      if (!isCached(base)) return written;
      const uid = base.metadata.uid!;
      const own = writes.get(uid);
      const continues = own !== undefined && own.object.metadata.resourceVersion === base.metadata.resourceVersion;
      const before = continues ? own.before : new Set<string>();
      before.add(base.metadata.resourceVersion!);
      writes.set(uid, { object: written, before });
      return written;
    },
    observe(object, deleted) {
      const own = writes.get(object.metadata.uid!);
      if (own !== undefined && (deleted || !own.before.has(object.metadata.resourceVersion!))) writes.delete(object.metadata.uid!);
    },
  };
}
