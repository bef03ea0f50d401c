/**
 * Ends live scans that no operator of this installation acts on any more, because their namespace was taken out of the watched ones
 * or the operator's class has changed. Without that their credits would stay held, and their finalizers would keep the resources.
 */
import { classOf, SETTLE_FINALIZER, jobNameOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
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
  logger: Logger;
  now: () => Date;
}

/**
 * Ends a scan that is not watched, removes its Job and its finalizer, and settles its credits. If the operator may not write to it,
 * it logs the command that does.
 * @throws if a retry may succeed
 */
export async function endUnwatched(
  { connection, mirror, logger, now }: UnwatchedDeps,
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
  // Its pod would run until its deadline.
  const job = connection.path(JOBS, namespace, jobNameOf(scanId));
  await connection.request('DELETE', job, { body: { propagationPolicy: 'Background' }, signal }).catch(ignoreRefusal);
  if (finalizers.includes(SETTLE_FINALIZER)) {
    const metadata = {
      resourceVersion: ended.metadata.resourceVersion,
      finalizers: finalizers.filter((one) => one !== SETTLE_FINALIZER),
    };
    const left = await unlessForbidden(merge(undefined, { metadata }), null);
    if (left === null) logger.warn({ scan: scanId, namespace, command: releaseCommand(namespace!, name) }, FINALIZER_STAYS);
  }
  // Last, because the next sweep looks only at scans that have not ended. If the resource is gone by then, it settles too.
  await mirror.finish(ended, scanId);
}

/** The message about a scan that the operator may not write to. */
export const FINALIZER_STAYS = 'ended a scan of a namespace that is not watched; if it still exists, remove its finalizer';

/** The command that removes the finalizer of a scan. */
export const releaseCommand = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} patch accessibilityscan ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`;

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
