/**
 * The scans of the cluster as this operator knows them: the cache's, and its own writes that the cache has not seen yet.
 * A controller that reads its own writes late decides twice; the admission loop would let too many in.
 */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { SCANS } from './kube-types.ts';
import type { StatusPatch } from './policy/status.ts';

/** What is needed of the cache. */
export interface ScanCache {
  get(namespace: string, name: string): AccessibilityScan | undefined;
  list(): AccessibilityScan[];
}

export interface ScanClient {
  get(namespace: string, name: string): AccessibilityScan | undefined;
  list(): AccessibilityScan[];
  /** Writes a status as a merge patch. @throws KubernetesError 409 where the scan has changed since it was read */
  patchStatus(scan: AccessibilityScan, status: StatusPatch, signal?: AbortSignal): Promise<AccessibilityScan>;
  /** Writes finalizers and labels. @throws KubernetesError 409 where the scan has changed since it was read */
  patchMetadata(
    scan: AccessibilityScan,
    metadata: { finalizers?: string[]; labels?: Record<string, string> },
    signal?: AbortSignal,
  ): Promise<AccessibilityScan>;
  /** Removes the resource; its children follow it. No error where it is gone. */
  remove(scan: AccessibilityScan, signal?: AbortSignal): Promise<void>;
  /** The cache has told of a change or an end of this scan: what is known beyond it may be forgotten. */
  seen(scan: AccessibilityScan, gone: boolean): void;
}

/** A scan as our last write left it, and the versions that it came after. */
interface Ahead {
  scan: AccessibilityScan;
  before: Set<string>;
}

const MERGE_PATCH = 'application/merge-patch+json';

export function createScanClient(connection: KubernetesConnection, cache: ScanCache): ScanClient {
  const ahead = new Map<string, Ahead>();

  /** What is newer: the cache's copy, or our own write on top of the very version that the cache still holds. */
  function newest(cached: AccessibilityScan): AccessibilityScan {
    const own = ahead.get(cached.metadata.uid!);
    return own?.before.has(cached.metadata.resourceVersion!) ? own.scan : cached;
  }

  function keep(base: AccessibilityScan, written: AccessibilityScan): AccessibilityScan {
    if (written.metadata.resourceVersion === base.metadata.resourceVersion) return written;
    const own = ahead.get(base.metadata.uid!);
    const before =
      own !== undefined && own.scan.metadata.resourceVersion === base.metadata.resourceVersion ? own.before : new Set<string>();
    before.add(base.metadata.resourceVersion!);
    ahead.set(base.metadata.uid!, { scan: written, before });
    return written;
  }

  async function patch(
    scan: AccessibilityScan,
    subresource: string | undefined,
    body: object,
    signal?: AbortSignal,
  ): Promise<AccessibilityScan> {
    const path = connection.path(SCANS, scan.metadata.namespace, scan.metadata.name, subresource);
    return keep(scan, await connection.request<AccessibilityScan>('PATCH', path, { contentType: MERGE_PATCH, body, signal }));
  }

  return {
    get(namespace, name) {
      const cached = cache.get(namespace, name);
      return cached && newest(cached);
    },
    list: () => cache.list().map(newest),
    patchStatus(scan, status, signal) {
      return patch(scan, 'status', { metadata: { resourceVersion: scan.metadata.resourceVersion }, status }, signal);
    },
    patchMetadata(scan, metadata, signal) {
      return patch(scan, undefined, { metadata: { resourceVersion: scan.metadata.resourceVersion, ...metadata } }, signal);
    },
    async remove(scan, signal) {
      const path = connection.path(SCANS, scan.metadata.namespace, scan.metadata.name);
      // The uid: somebody may have applied another scan of this name meanwhile.
      const body = { propagationPolicy: 'Background', preconditions: { uid: scan.metadata.uid } };
      try {
        await connection.request('DELETE', path, { body, signal });
      } catch (error) {
        if (!(error instanceof KubernetesError && (error.code === 404 || error.code === 409))) throw error;
      }
    },
    seen(scan, gone) {
      const own = ahead.get(scan.metadata.uid!);
      if (own && (gone || !own.before.has(scan.metadata.resourceVersion!))) ahead.delete(scan.metadata.uid!);
    },
  };
}
