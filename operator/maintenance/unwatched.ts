/**
 * Ends live scans that no operator of this installation acts on any more, because their namespace was taken out of the watched ones
 * or the operator's class has changed. Without that their credits would stay held, and their finalizers would keep the resources.
 */
import { classOf, SETTLE_FINALIZER, jobNameOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { JOBS, SCANS } from '../scan/kube-types.ts';
import type { Mirror } from '../scan/mirror.ts';
import { notWatched } from '../scan/policy/condition-reasons.ts';
import { endedStatus, hasEnded, withStatus } from '../scan/policy/status.ts';

export interface Watched {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
  operatorClass: string;
}

/** Whether the operator acts on the scans of a namespace. */
export const watchesNamespace = ({ namespaces }: Watched, namespace: string): boolean =>
  namespaces.length === 0 || namespaces.includes(namespace);

/** Whether the operator acts on a scan. */
export const watches = (watched: Watched, scan: AccessibilityScan): boolean =>
  watchesNamespace(watched, scan.metadata.namespace!) && classOf(scan) === watched.operatorClass;

export interface UnwatchedDeps {
  connection: Pick<KubernetesConnection, 'path' | 'request'>;
  mirror: Pick<Mirror, 'finish'>;
  now: () => Date;
}

/**
 * Ends a scan that is not watched, settles its credits, and removes its finalizer.
 * @throws KubernetesError if the operator may not write to it. Its credits are settled then
 */
export async function endUnwatched(
  { connection, mirror, now }: UnwatchedDeps,
  scan: AccessibilityScan,
  scanId: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, finalizers = [] } = scan.metadata;
  const merge = (subresource: string | undefined, body: object): Promise<AccessibilityScan> =>
    connection.request('PATCH', connection.path(SCANS, namespace, name, subresource), {
      contentType: 'application/merge-patch+json',
      body,
      signal,
    });
  let ended = scan;
  if (!hasEnded(scan)) {
    const status = endedStatus(scan, notWatched(namespace!, classOf(scan)), now());
    ended = await unlessForbidden(
      merge('status', { metadata: { resourceVersion: scan.metadata.resourceVersion }, status }),
      withStatus(scan, status),
    );
  }
  await mirror.finish(ended, scanId);
  // Its pod would run until its deadline.
  const job = connection.path(JOBS, namespace, jobNameOf(scanId));
  await connection.request('DELETE', job, { body: { propagationPolicy: 'Background' }, signal }).catch(ignoreRefusal);
  if (finalizers.includes(SETTLE_FINALIZER))
    await merge(undefined, {
      metadata: { resourceVersion: ended.metadata.resourceVersion, finalizers: finalizers.filter((one) => one !== SETTLE_FINALIZER) },
    });
}

const ignoreRefusal = (error: unknown): void => {
  if (!(error instanceof KubernetesError) || error.code >= 500) throw error;
};

/** The namespace's Role may be gone. */
async function unlessForbidden<T>(write: Promise<T>, otherwise: T): Promise<T> {
  return write.catch((error: unknown) => {
    if (error instanceof KubernetesError && (error.code === 403 || error.code === 401)) return otherwise;
    throw error;
  });
}
