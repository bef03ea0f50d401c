/** What the pages of scans need besides the stores of the caller's organisation. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { isUuid } from '../../../core/uuid.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { RateLimits } from '../../../stores/rate-limits.ts';
import type { Comparisons } from '../../../report/workers/comparisons.ts';
import type { EventStreams } from '../../streams/event-streams.ts';
import { ApiError } from '../../http/errors.ts';
import type { Metrics } from '../../metrics.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { rateLimited } from '../../http/plugins/denials.ts';
import type { QueuePositions } from '../../scans/queue-positions.ts';
import type { LimitName, LimitSize } from '../../http/rate-limits.ts';
import type { ReportObjects } from '../../scans/reports.ts';
import type { Submissions } from '../../scans/submission/submission.ts';
import type { PageReports } from '../../scans/scan-views.ts';
import type { Html } from '../../web/html.ts';

export interface ScanPageDeps {
  submissions: Submissions;
  positions: QueuePositions;
  streams: EventStreams;
  reports: ReportObjects;
  /** The views of reports, and their pictures. */
  pictures: PageReports;
  comparisons: Pick<Comparisons, 'between'>;
  rateLimits: Pick<RateLimits, 'admit'>;
  limits: Readonly<Record<LimitName, LimitSize>>;
  metrics: Metrics;
  logger: Logger;
  newId: () => string;
  maxPagesLimit: number;
  allowPrepareSteps: boolean;
}

/** Counts a request for a limit of the organisation, which it shares with the API. @throws ApiError if the limit is reached */
export async function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: ScanPageDeps,
  policy: 'submissions' | 'reports',
): Promise<void> {
  const { organisation } = callerOf(request);
  const decision = await deps.rateLimits.admit([{ policy, subject: organisation.id, ...deps.limits[policy] }]);
  if (!decision.ok) throw rateLimited(reply, decision);
}

/** The scan ID in the path. @throws ApiError if it is not one: such a page does not exist */
export function scanIdOf(request: FastifyRequest): string {
  const id = (request.params as { id: string }).id.toLowerCase();
  if (!isUuid(id)) throw new ApiError('scan_not_found');
  return id;
}

/** Sends a part of a page, or 304 if the browser has it already. */
export function sendFragment(request: FastifyRequest, reply: FastifyReply, part: Html): FastifyReply {
  const etag = `"${createHash('sha256').update(part.toString()).digest('base64url').slice(0, 27)}"`;
  reply.header('ETag', etag).header('Cache-Control', 'private, no-cache');
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  return reply.page(part);
}
