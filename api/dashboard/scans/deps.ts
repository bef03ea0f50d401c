/** What the pages of scans and schedules share. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isUuid } from '../../../core/uuid.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { rateLimited } from '../../http/plugins/denials.ts';
import { etagOf } from '../../http/preconditions.ts';
import type { Html } from '../../../report/html/html.ts';

/** Counts a request for a limit of the organisation, which it shares with the API. @throws ApiError if the limit is reached */
export async function admit(request: FastifyRequest, reply: FastifyReply, policy: 'submissions' | 'reports'): Promise<void> {
  const { stores, settings } = request.server;
  const { organisation } = callerOf(request);
  const decision = await stores.rateLimits.admit([{ policy, subject: organisation.id, ...settings.limits[policy] }]);
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
  const etag = etagOf(part.toString());
  reply.header('ETag', etag).header('Cache-Control', 'private, no-cache');
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  return reply.page(part);
}
