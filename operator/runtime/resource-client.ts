/** Reads and writes the objects of a resource. Reads come from a cache and include own writes and deletions. */
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject, ObjectMeta } from '../../core/protocol/custom-resources.ts';
import { hasCode, type KubernetesConnection, KubernetesError, type ResourceType } from '../../platform/kubernetes/kubernetes.ts';
import type { Cache } from './cache.ts';
/** The object to write does not exist any more. The cache will deliver its deletion. */
export class ObjectGone extends KubernetesError {
  constructor({ code, reason, message }: KubernetesError) {
    super(code, reason, message);
    this.name = 'ObjectGone';
  }
}

export type CustomResource = KubernetesObject & { status?: object };

/** A merge patch of an object: null removes a field. */
export type MergePatch<T> = { [K in keyof T]?: T[K] | null };

export type MetadataPatch = Pick<ObjectMeta, 'finalizers' | 'labels' | 'annotations'>;

export interface ResourceClient<T extends CustomResource> extends Pick<Cache<T>, 'get' | 'list' | 'byIndex' | 'onChange'> {
  /** @throws KubernetesError 409 if an object of this name exists */
  create(object: T, signal?: AbortSignal): Promise<T>;
  /** Merges a patch into the status. @throws ObjectGone; KubernetesError 409 if the object has changed since it was read */
  patchStatus(object: T, status: MergePatch<NonNullable<T['status']>>, signal?: AbortSignal): Promise<T>;
  /** @throws ObjectGone; KubernetesError 409 if the object has changed since it was read */
  patchMetadata(object: T, metadata: MetadataPatch, signal?: AbortSignal): Promise<T>;
  /** Merges a patch into the spec, whatever the object's version. @throws ObjectGone */
  patchSpec(object: T, spec: object, signal?: AbortSignal): Promise<T>;
  /** Deletes the object; garbage collection deletes its children. No error if it is gone. */
  remove(object: T, signal?: AbortSignal): Promise<void>;
}

export interface ResourceClientDeps<T extends CustomResource> {
  connection: Pick<KubernetesConnection, 'path' | 'request'>;
  resource: ResourceType;
  /** Must not be started yet, because the client uses its events to drop own writes. */
  cache: Pick<Cache<T>, 'get' | 'list' | 'byIndex' | 'onChange'>;
}

/** Checks the name too: a missing custom resource definition or namespace also causes a 404. */
const isGone = ({ reason, message }: KubernetesError, { metadata }: KubernetesObject): boolean =>
  reason === 'NotFound' && message.includes(`"${metadata.name}"`);

export function createResourceClient<T extends CustomResource>({ connection, resource, cache }: ResourceClientDeps<T>): ResourceClient<T> {
  const ownWrites = createOwnWrites<T>(({ metadata }) => cache.get(metadata.namespace ?? '', metadata.name)?.metadata.uid === metadata.uid);
  cache.onChange(({ type, object }) => ownWrites.observe(object, type === 'deleted'));

  const present = (cached: T[]): T[] => cached.map(ownWrites.newest).filter((object) => object !== undefined);
  const pathOf = ({ metadata }: T, subresource?: string) => connection.path(resource, metadata.namespace, metadata.name, subresource);

  async function patch(path: string, object: T, body: object, signal?: AbortSignal): Promise<T> {
    const options = { contentType: 'application/merge-patch+json', body, signal };
    try {
      const written = await connection.request<T>('PATCH', path, options);
      const { deletionTimestamp, finalizers = [] } = written.metadata;
      // The write that removes the last finalizer of a deleted object deletes it.
      ownWrites.record(object, deletionTimestamp !== undefined && finalizers.length === 0 ? null : written);
      return written;
    } catch (error) {
      throw error instanceof KubernetesError && isGone(error, object) ? new ObjectGone(error) : error;
    }
  }

  return {
    get(namespace, name) {
      const cached = cache.get(namespace, name);
      return cached && ownWrites.newest(cached);
    },
    list: () => present(cache.list()),
    byIndex: (name, value) => present(cache.byIndex(name, value)),
    onChange: (listener) => cache.onChange(listener),
    create: (object, signal) =>
      connection.request<T>('POST', connection.path(resource, object.metadata.namespace), { body: object, signal }),
    patchStatus(object, status, signal) {
      const { resourceVersion } = object.metadata;
      return patch(pathOf(object, 'status'), object, { metadata: { resourceVersion }, status }, signal);
    },
    patchMetadata(object, metadata, signal) {
      const { resourceVersion } = object.metadata;
      return patch(pathOf(object), object, { metadata: { resourceVersion, ...metadata } }, signal);
    },
    // By uid, because another object of this name may have been created.
    patchSpec: (object, spec, signal) => patch(pathOf(object), object, { metadata: { uid: object.metadata.uid }, spec }, signal),
    async remove(object, signal) {
      // By uid, because another object of this name may have been created.
      const body = { propagationPolicy: 'Background', preconditions: { uid: object.metadata.uid } };
      try {
        const answer = await connection.request<T>('DELETE', pathOf(object), { body, signal });
        // The answer is a Status if the object is gone, and the object if finalizers keep it.
        ownWrites.record(object, answer.metadata.uid === object.metadata.uid ? answer : null);
      } catch (error) {
        if (!hasCode(error, 404, 409)) throw error;
        // A webhook may also refuse with 409: then the object is still there.
        if (isGone(error, object) || error.message.includes('UID in precondition')) ownWrites.record(object, null);
      }
    },
  };
}

/** The object after the last own write, and the resourceVersions that precede this write. All precede a deletion. */
interface Write<T> {
  object: T | null;
  before: Set<string>;
}

/**
 * Read-your-writes consistency over a cache: keeps a controller's own writes and deletions until the cache has received them.
 * Otherwise a controller would decide on stale objects; an admission loop would admit too many scans.
 * @param isCached whether the cache holds this object
 */
function createOwnWrites<T extends KubernetesObject>(isCached: (object: T) => boolean) {
  const writes = new Map<string, Write<T>>();
  const isOlder = ({ metadata }: T, { object, before }: Write<T>) => object === null || before.has(metadata.resourceVersion!);
  return {
    /** Returns the own write if the cached object is older than it, else the cached object; undefined after an own deletion. */
    newest(cached: T): T | undefined {
      const own = writes.get(cached.metadata.uid!);
      return own !== undefined && isOlder(cached, own) ? (own.object ?? undefined) : cached;
    },
    /** Records that a write to `base` produced `written`, or null if it deleted the object, while the cache holds the object. */
    record(base: T, written: T | null): void {
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
    /** Called for each cache event. Drops the own write if the cache is at least as new. */
    observe(object: T, deleted: boolean): void {
      const own = writes.get(object.metadata.uid!);
      if (own !== undefined && (deleted || !isOlder(object, own))) writes.delete(object.metadata.uid!);
    },
  };
}

/** Returns the merge patch that turns `before` into `after`; null if they are equal. */
export function mergePatch<T extends object>(before: T, after: T): MergePatch<T> | null {
  const patch = patchOf(before as Record<string, unknown>, after as Record<string, unknown>);
  return Object.keys(patch).length === 0 ? null : (patch as MergePatch<T>);
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

function patchOf(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (isDeepStrictEqual(old, value)) continue;
    patch[name] = isRecord(old) && isRecord(value) ? patchOf(old, value) : value;
  }
  return patch;
}
