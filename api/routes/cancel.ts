/** The route that cancels a scan. It marks the custom resource; the operator then ends the scan and settles its credits. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { isTerminal } from '../../core/scan/phases.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { ScanResources } from '../../stores/submissions/scan-resources.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { DependencyDown } from '../dependency-outages.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { EXAMPLES } from '../examples.ts';
import type { CancellationOutcome, Metrics } from '../metrics.ts';
import { callerOf } from '../plugins/auth.ts';
import { annotate } from '../plugins/request-log.ts';
import { answer, KEYED, LIMITED, reference, refusals } from '../responses.ts';
import { isRejection } from '../submission/resource-writer.ts';
import { POLL_AGAIN_SECONDS, ScanPath, ScanResult, toResult } from './scans.ts';

const REFUSALS: readonly ErrorCode[] = [
  ...KEYED,
  'bad_request',
  'payload_too_large',
  'unsupported_media_type',
  'scan_not_found',
  'scan_already_ended',
  'scan_managed_by_manifest',
];

const CANCEL_SCAN = {
  operationId: 'cancelScan',
  tags: ['Scans'],
  summary: 'Cancel a scan',
  description:
    'Stops the scan within seconds. The pages tested until then are charged, and the other reserved credits are released. ' +
    'The status changes to `canceled` afterwards: poll the scan, or follow its events. A repeated request has no further effect. ' +
    'A scan that a Kubernetes manifest created is canceled in the cluster.',
  security: [{ apiKey: [] }],
  params: ScanPath,
  response: {
    202: answer('The scan is being canceled. The body is its current state.', reference(ScanResult), [...LIMITED, 'Retry-After'], {
      scanning: EXAMPLES.result.scanning,
    }),
    ...refusals(REFUSALS, { limited: true, validated: true }),
  },
};

export interface CancelRouteDeps {
  scans: Pick<Scans, 'find'>;
  scanResources: Pick<ScanResources, 'cancel'>;
  metrics: Pick<Metrics, 'cancellation'>;
}

const CODES: Readonly<Record<Exclude<CancellationOutcome, 'accepted'>, ErrorCode>> = {
  already_ended: 'scan_already_ended',
  managed_by_manifest: 'scan_managed_by_manifest',
  not_submitted: 'service_unavailable',
  resource_rejected: 'internal_error',
};

export const cancelRoutes: FastifyPluginAsyncTypebox<CancelRouteDeps> = async (scope, { scans, scanResources, metrics }) => {
  scope.post('/v1/ci/scans/:scan_id/cancel', { schema: CANCEL_SCAN }, async (request, reply) => {
    const { scan_id } = request.params;
    annotate(request, { scan: scan_id });
    const row = await scans.find(scan_id.toLowerCase(), callerOf(request).organisation.id);
    if (row === null) throw new ApiError('scan_not_found');
    const { outcome, cause } = await cancel(row, scanResources);
    metrics.cancellation(outcome);
    if (outcome !== 'accepted') throw new ApiError(CODES[outcome], { cause });
    return reply.code(202).header('Retry-After', POLL_AGAIN_SECONDS).send(toResult(row));
  });
};

/** @throws DependencyDown if Kubernetes does not answer, in which case the scan may be canceled nevertheless, or refuses for now */
async function cancel(
  row: ScanRow,
  scanResources: CancelRouteDeps['scanResources'],
): Promise<{ outcome: CancellationOutcome; cause?: unknown }> {
  if (isTerminal(row.phase)) return { outcome: 'already_ended' };
  // The API may write only in its own namespace, and a GitOps tool would revert a change to its manifest.
  if (row.origin === 'manifest') return { outcome: 'managed_by_manifest' };
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
