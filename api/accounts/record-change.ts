/** Records in the audit log what a caller changed, over REST and in the dashboard. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { storesOf, type Change } from './scoped-stores.ts';

/** A failure is only logged: the change was made, and the response may contain a secret. */
export async function recordChange(request: FastifyRequest, logger: Logger, change: Change): Promise<void> {
  await storesOf(request)
    .audit.record(change)
    .catch((err: unknown) =>
      logger.error({ request: request.id, organisation: callerOf(request).organisation.id, ...change, err }, 'audit entry lost'),
    );
}
