/** Records changes that are made in the dashboard. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { AuditEntry } from '../../stores/accounts/audit.ts';
import type { ApiStores } from '../dependencies.ts';
import { callerOf } from '../plugins/auth.ts';
import { auditName } from '../../core/accounts.ts';

export type Recorder = (request: FastifyRequest, action: string, subject: string | null) => Promise<void>;

/** Returns a function that writes the audit log with the signed-in user as the actor. A failure is only logged: the change was made. */
export function createRecorder(deps: { organisations: Pick<ApiStores['organisations'], 'record'>; logger: Logger }): Recorder {
  return async (request, action, subject) => {
    const { organisation, actor } = callerOf(request);
    await recordEntry(deps, request, { organisation: organisation.id, actor: auditName(actor), action, subject });
  };
}

/** Writes an entry of the audit log. A failure is only logged: the change was made. */
export async function recordEntry(
  { organisations, logger }: { organisations: Pick<ApiStores['organisations'], 'record'>; logger: Logger },
  request: Pick<FastifyRequest, 'id'>,
  entry: Omit<AuditEntry, 'at'>,
): Promise<void> {
  await organisations
    .record(entry)
    .catch((error: unknown) => logger.error({ request: request.id, ...entry, err: error }, 'audit entry lost'));
}
