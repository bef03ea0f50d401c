/** Records in the audit log what a caller changed, over REST and in the dashboard. */
import type { FastifyRequest } from 'fastify';
import { auditName } from '../../core/accounts.ts';
import type { Logger } from '../../platform/logger.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { storesOf, type Change } from './scoped-stores.ts';

/** A failure is only logged: the change was made, and the response may contain a secret. */
export async function recordChange(request: FastifyRequest, logger: Logger, change: Change): Promise<void> {
  const { organisation, actor } = callerOf(request);
  const entry = { organisation: organisation.id, actor: auditName(actor), ...change };
  await storesOf(request)
    .audit.record(change)
    .catch((err: unknown) => logger.error({ request: request.id, ...entry, err }, 'audit entry lost'));
}
