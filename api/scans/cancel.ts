/** The route that cancels a scan. It marks the custom resource; the operator then ends the scan and settles its credits. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { cancelScan, recordScan } from './cancellation.ts';
import { ApiError } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { isTest } from '../../core/accounts.ts';
import { callerOf, scanOf } from '../http/plugins/auth.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals, WITH_BODY } from '../http/responses.ts';
import { POLL_AGAIN_SECONDS, ScanPath, toResult } from './scans.ts';
import { ScanResult } from '../../core/scan/result.ts';

const CANCEL_SCAN = {
  operationId: 'cancelScan',
  tags: ['Scans'],
  summary: 'Cancel a scan',
  description:
    'Stops the scan within seconds. The pages tested until then are charged and have a partial report, and the other reserved credits are released. ' +
    'The status changes to `canceled` when the report is stored, or after a minute without one: poll the scan, or follow its events. ' +
    'If all pages had been tested already, it changes to `done`. A repeated request has no further effect. ' +
    'A scan that a Kubernetes manifest created is canceled in the cluster. A test key cancels only scans of test keys.',
  security: keyWith('scans:write'),
  params: ScanPath,
  response: {
    202: answer('The scan is being canceled. The body is its current state.', reference(ScanResult), [...LIMITED, 'Retry-After'], {
      scanning: EXAMPLES.result.scanning,
    }),
    ...refusals([...KEYED, ...WITH_BODY, 'scan_not_found', 'scan_already_ended', 'scan_managed_by_manifest']),
  },
};

export const cancelRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const config = { permission: 'scans:write', testKeys: true, withScan: true } as const;
  scope.post('/v1/ci/scans/:scan_id/cancel', { config, schema: CANCEL_SCAN }, async (request, reply) => {
    const row = await scanOf(request);
    if (row === null || (isTest(callerOf(request).actor) && row.test !== true)) throw new ApiError('scan_not_found');
    // The end of the scan that an interrupted request with the same Idempotency-Key asked for is its success, which it may not have recorded.
    if (request.idempotent?.takenOver && row.phase === 'canceled') await recordScan(request, 'cancel', row, scope.logger);
    else await cancelScan(request, row);
    if (request.idempotent !== null) request.idempotent.scan = row.id;
    return reply.code(202).header('Retry-After', POLL_AGAIN_SECONDS).send(toResult(row));
  });
};
