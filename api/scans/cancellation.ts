/** Cancels a scan, for the API and for the dashboard. It marks the custom resource; the operator then ends the scan and settles its credits. */
import type { FastifyRequest } from 'fastify';
import { isTerminal } from '../../core/scan/phases.ts';
import { isRejection, KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { ScanResources } from '../../stores/submissions/scan-resources.ts';
import { DependencyDown } from '../http/dependency-outages.ts';
import { ApiError, type ErrorCode } from '../http/errors.ts';
import type { CancellationOutcome } from '../metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import { recordChange } from '../accounts/scoped-stores.ts';

/**
 * Whether a scan is canceled in the cluster only: the API may write only in its own namespace, and a GitOps tool would revert a change to
 * a manifest. A run of a schedule has none.
 */
export const isOfManifest = (
  { origin, schedule, resource }: Pick<ScanRow, 'origin' | 'schedule' | 'resource'>,
  namespace: string,
): boolean => origin === 'manifest' && !(schedule !== undefined && resource.namespace === namespace);

const CODES: Readonly<Record<Exclude<CancellationOutcome, 'accepted'>, ErrorCode>> = {
  already_ended: 'scan_already_ended',
  managed_by_manifest: 'scan_managed_by_manifest',
  not_submitted: 'service_unavailable',
  resource_rejected: 'internal_error',
};

const NOT_SUBMITTED =
  'The submission of this scan is not completed, so it was not canceled; retry after the number of seconds in Retry-After.';

/**
 * Cancels the scan of a row that was just read, for the caller of a request, and records it. A repeated call has no further effect.
 * @throws ApiError if it cannot be canceled; DependencyDown if Kubernetes does not answer, in which case it may be canceled nevertheless
 */
export async function cancelScan(request: FastifyRequest, row: ScanRow): Promise<void> {
  const { stores, metrics, logger } = request.server;
  const { outcome, cause } = await cancel(row, stores.scanResources);
  metrics.cancellation(outcome);
  if (outcome === 'not_submitted') throw new ApiError(CODES[outcome], { fields: { message: NOT_SUBMITTED } });
  if (outcome !== 'accepted') throw new ApiError(CODES[outcome], { cause });
  // Only what pages show until the scan has ended.
  await stores.scans.markCanceling(row.id).catch((err: unknown) => logger.warn({ scan: row.id, err }, 'cancellation not shown'));
  await recordScan(request, 'cancel', row, logger);
}

/** @throws DependencyDown if Kubernetes refuses for now, or does not answer; in the second case the scan may have been canceled */
async function cancel(row: ScanRow, scanResources: ScanResources): Promise<{ outcome: CancellationOutcome; cause?: unknown }> {
  if (isTerminal(row.phase)) return { outcome: 'already_ended' };
  if (isOfManifest(row, scanResources.namespace)) return { outcome: 'managed_by_manifest' };
  try {
    const canceled = await scanResources.cancel(row);
    if (!canceled.ok && canceled.reason === 'ended') return { outcome: 'already_ended' };
    // Its submission is in progress, or its outcome is unknown until the sweeper decides. Nothing was canceled: the caller retries.
    if (!canceled.ok && row.submission === 'pending') return { outcome: 'not_submitted' };
    // An accepted scan without a resource cannot run. The sweeper ends it and charges nothing.
    return { outcome: 'accepted' };
  } catch (error) {
    if (isRejection(error)) return { outcome: 'resource_rejected', cause: error };
    // Such as a conflict with other writers, an expired token, or a missing custom resource definition.
    throw error instanceof KubernetesError ? new DependencyDown('kubernetes', error) : error;
  }
}

/** Records in the audit log who canceled or deleted a scan, once for each scan. Who started it: `recordStart` of the store. */
export async function recordScan(
  request: FastifyRequest,
  action: 'cancel' | 'delete',
  { id, site }: Pick<ScanRow, 'id' | 'site'>,
  logger: Logger,
): Promise<void> {
  await recordChange(request, logger, { action: `scan.${action}`, subject: `${site} ${id}`, once: id });
}

/** The site and the ID of the scan that an entry is about; null if it is not about a scan. */
export function scanOfEntry({ action, subject }: { action: string; subject: string | null }): { site: string; id: string } | null {
  const [, site, id] = (action.startsWith('scan.') && /^(.*) ([0-9a-f-]{36})$/s.exec(subject ?? '')) || [];
  return site === undefined || id === undefined ? null : { site, id };
}
