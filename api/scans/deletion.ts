/** Deletes ended scans with their reports, for the API and for the dashboard. The sweeper then deletes what is stored of them elsewhere. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { isTest } from '../../core/accounts.ts';
import { isTerminal, LIVE_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { recordChange, storesOf } from '../accounts/scoped-stores.ts';
import { ApiError } from '../http/errors.ts';
import { callerOf, scanOf } from '../http/plugins/auth.ts';
import { emptyAnswer, KEYED, keyWith, LIMITED, refusals } from '../http/responses.ts';
import { recordScan } from './cancellation.ts';
import { ScanPath } from './scans.ts';

const DELETE_SCAN = {
  operationId: 'deleteScan',
  tags: ['Scans'],
  summary: 'Delete a scan with its reports',
  description:
    'At once, no list, page or baseline has the scan any more, and no link to its reports is given. The reports, its webhook events and ' +
    'deliveries, its comparisons and stored answers that name it are deleted within minutes. Credits, the ledger and the audit log stay, ' +
    'and so does an AccessibilityScan in the cluster. A scan in progress is not deleted: cancel it first. A test key deletes only scans ' +
    'of test keys.',
  security: keyWith('scans:delete'),
  params: ScanPath,
  response: {
    204: emptyAnswer('The scan is deleted.', LIMITED),
    ...refusals([...KEYED, 'scan_not_found', 'scan_not_complete']),
  },
};

/** Deletes the scan of a row that was just read, and records it. @throws ApiError if it has not ended, or is deleted already */
export async function deleteScan(request: FastifyRequest, row: ScanRow): Promise<void> {
  if (!isTerminal(row.phase) || row.submission !== 'accepted') throw new ApiError('scan_not_complete');
  const { scans, sites } = storesOf(request);
  if (!(await scans.erase(row.id))) throw new ApiError('scan_not_found');
  await recordScan(request, 'delete', row, request.server.logger);
  // After a crash before this, the sweeper does it.
  await sites.without(row.id);
}

/** How many scans of a site are taken at once, and how often in one request. */
const BATCH = 200;
const BATCHES_MAX = 5;

/** `live`: nothing was deleted, because scans are in progress. `more`: repeat it for the rest. */
export type SiteDeletion = 'done' | 'live' | 'more';

/** Deletes the ended scans of a site, also those of test keys, and records it. The newest are the last, so that the site stays listed until then. */
export async function deleteSite(request: FastifyRequest, site: string): Promise<SiteDeletion> {
  const { scans, sites, subscriptions } = storesOf(request);
  if ((await scans.search({ site, phases: LIVE_PHASES, limit: 1 })).rows.length > 0) return 'live';
  // First, so that a crash loses no entry. The newest scan is the last that is erased: a repetition until then has the same entry.
  const { rows } = await scans.search({ site, phases: TERMINAL_PHASES, limit: 1 });
  if (rows.length > 0) await recordChange(request, request.server.logger, { action: 'site.delete', subject: site, once: rows[0]!.id });
  let erased = BATCH;
  for (let batch = 0; batch < BATCHES_MAX && erased === BATCH; batch += 1) erased = await scans.eraseSite(site, BATCH);
  if (erased === BATCH) return 'more';
  await sites.remove(site);
  await subscriptions.forgetSite(site);
  return 'done';
}

export const deletionRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const config = { permission: 'scans:delete', testKeys: true, withScan: true } as const;
  scope.delete('/v1/scans/:scan_id', { config, schema: DELETE_SCAN }, async (request, reply) => {
    const row = await scanOf(request);
    if (row === null || (isTest(callerOf(request).actor) && row.test !== true)) throw new ApiError('scan_not_found');
    await deleteScan(request, row);
    return reply.code(204).send();
  });
};
