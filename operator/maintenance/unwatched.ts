/**
 * Ends live scans that no operator of this installation acts on any more, because their namespace was taken out of the watched ones
 * or the operator's class has changed. Without that their credits would stay held, and their finalizers would keep the resources.
 */
import { classOf, SETTLE_FINALIZER, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { isForbidden } from '../../platform/kubernetes/kubernetes.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ActionDeps } from '../scan/actions.ts';
import type { Children } from '../scan/launch/children.ts';
import type { Mirror } from '../scan/mirror.ts';
import { notWatched } from '../scan/policy/condition-reasons.ts';
import { endedStatus, hasEnded, withStatus } from '../scan/policy/status.ts';
import type { ScanClient } from '../scan/scan-client.ts';

export interface UnwatchedDeps {
  scanClient: Pick<ScanClient, 'patchStatus' | 'patchMetadata'>;
  children: Pick<Children, 'readJob' | 'removeJob'>;
  mirror: Pick<Mirror, 'finish'>;
  /** Called for each scan that ends here. */
  onEnd: ActionDeps['onEnd'];
  logger: Logger;
  now: () => Date;
}

/**
 * Ends a scan that is not watched, removes its Job and its finalizer, and settles its credits. If the operator may not write to it,
 * it logs the command that does.
 * @throws if a retry may succeed
 */
export async function endUnwatched(deps: UnwatchedDeps, scan: AccessibilityScan, scanId: string, signal: AbortSignal): Promise<void> {
  const { scanClient, children, mirror, logger } = deps;
  const { namespace = '', name } = scan.metadata;
  const ended = hasEnded(scan) ? scan : await writeEnd(deps, scan, signal);
  // Its pod would run until its deadline.
  const job = await unlessForbidden(children.readJob(scan, scanId, signal), null);
  if (job !== null) await unlessForbidden(children.removeJob(job, signal), undefined);
  const finalizers = ended.metadata.finalizers ?? [];
  if (finalizers.includes(SETTLE_FINALIZER)) {
    const others = finalizers.filter((one) => one !== SETTLE_FINALIZER);
    const released = await unlessForbidden(scanClient.patchMetadata(ended, { finalizers: others }, signal), null);
    if (released === null) logger.warn({ scan: scanId, namespace, command: releaseCommand(namespace, name) }, FINALIZER_STAYS);
  }
  // Last, because the next sweep looks only at scans that have not ended. If the resource is gone by then, it settles too.
  await mirror.finish(ended, scanId);
}

async function writeEnd(
  { scanClient, onEnd, now }: UnwatchedDeps,
  scan: AccessibilityScan,
  signal: AbortSignal,
): Promise<AccessibilityScan> {
  const why = notWatched(scan.metadata.namespace!, classOf(scan));
  const status = endedStatus(scan, why, now());
  const ended = await unlessForbidden(scanClient.patchStatus(scan, status, signal), withStatus(scan, status));
  const seconds = (now().getTime() - Date.parse(scan.metadata.creationTimestamp!)) / 1000;
  onEnd(why.phase, why.reason, Math.max(0, seconds), ended.status?.passed ?? null);
  return ended;
}

/** The message about a scan that the operator may not write to. */
export const FINALIZER_STAYS = 'ended a scan of a namespace that is not watched; if it still exists, remove its finalizer';

/** The command that removes the finalizer of a scan. */
export const releaseCommand = (namespace: string, name: string): string =>
  `kubectl -n ${namespace} patch accessibilityscan ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`;

/** The namespace's Role may be gone. */
async function unlessForbidden<T>(request: Promise<T>, otherwise: T): Promise<T> {
  return request.catch((error: unknown) => {
    if (isForbidden(error)) return otherwise;
    throw error;
  });
}
