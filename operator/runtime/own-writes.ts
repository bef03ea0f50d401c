/**
 * Read-your-writes over a cache: a controller's own writes, until the cache has seen them. A controller that reads its
 * own writes late decides twice; an admission loop would admit too many.
 */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

export interface OwnWrites<T extends KubernetesObject> {
  /** The newer of the two: the cached object, or the own write if the cache still holds a version from before it. */
  newest(cached: T): T;
  /** Remembers that writing on top of `base` produced `written`. @returns `written` */
  record(base: T, written: T): T;
  /** The cache holds this object now, or has dropped it: forgets the own write if the cache is at least as new. */
  observe(object: T, deleted: boolean): void;
}

/** An object as the last own write left it, and the versions that this write came after. */
interface Write<T> {
  object: T;
  before: Set<string>;
}

export function createOwnWrites<T extends KubernetesObject>(): OwnWrites<T> {
  const writes = new Map<string, Write<T>>();
  return {
    newest(cached) {
      const own = writes.get(cached.metadata.uid!);
      return own?.before.has(cached.metadata.resourceVersion!) ? own.object : cached;
    },
    record(base, written) {
      // A patch that changes nothing keeps the version.
      if (written.metadata.resourceVersion === base.metadata.resourceVersion) return written;
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
