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

/** Records a change of an account in every organisation that it belongs to. A failure is only logged: the change was made. */
export async function recordForUser(
  { stores, logger }: { stores: Pick<ApiStores, 'organisations' | 'members'>; logger: Logger },
  request: Pick<FastifyRequest, 'id'>,
  email: string,
  entry: Pick<AuditEntry, 'action' | 'subject'>,
): Promise<void> {
  try {
    const { organisations, members } = stores;
    for (const { organisation, confirmed } of await members.of(email))
      if (confirmed) await recordEntry({ organisations, logger }, request, { ...entry, organisation: organisation.id, actor: email });
  } catch (error) {
    logger.error({ request: request.id, actor: email, ...entry, err: error }, 'audit entry lost');
  }
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
