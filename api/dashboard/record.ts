/** Records in the audit log what people do with their accounts, which may belong to many organisations or to none. */
import type { FastifyRequest } from 'fastify';
import { NOTICE_OF_ACTION } from '../../core/audit-actions.ts';
import type { Logger } from '../../platform/logger.ts';
import type { NewAuditEntry } from '../../stores/accounts/audit.ts';
import { auditNetwork } from '../accounts/audit-network.ts';
import type { ApiStores } from '../dependencies.ts';

export interface RecordDeps {
  organisations: Pick<ApiStores['organisations'], 'record'>;
  logger: Logger;
}

/**
 * Records a change of an account in every organisation that it belongs to, and mails its owner. An entry belongs to an
 * organisation: without one there are the mail and a line of the log. A failure is only logged: the change was made.
 */
export async function recordForUser(
  { stores, logger }: { stores: Pick<ApiStores, 'organisations' | 'members'>; logger: Logger },
  request: FastifyRequest,
  email: string,
  entry: Pick<NewAuditEntry, 'action' | 'subject'>,
): Promise<void> {
  try {
    const { organisations, members } = stores;
    const confirmed = (await members.of(email)).filter((one) => one.confirmed);
    for (const { organisation } of confirmed)
      await recordEntry({ organisations, logger }, request, { ...entry, organisation: organisation.id, actor: email });
    if (confirmed.length > 0) return;
    logger.info({ request: request.id, actor: email, ...entry, network: auditNetwork(request.ip) }, 'account without an organisation');
    await mailActor(request, { ...entry, actor: email });
  } catch (error) {
    logger.error({ request: request.id, actor: email, ...entry, err: error }, 'audit entry lost');
  }
}

/**
 * Writes an entry of the audit log, with the client's network if it is about security, and mails the actor if the change
 * concerns the actor's account. A failure is only logged: the change was made.
 * @returns whether the entry is new; null if it is lost
 */
export async function recordEntry(
  { organisations, logger }: RecordDeps,
  request: FastifyRequest,
  entry: Omit<NewAuditEntry, 'network' | 'at'>,
): Promise<boolean | null> {
  const stored = await organisations.record({ ...entry, network: auditNetwork(request.ip) }).catch((error: unknown) => {
    logger.error({ request: request.id, ...entry, err: error }, 'audit entry lost');
    return null;
  });
  if (stored !== false) await mailActor(request, entry);
  return stored;
}

async function mailActor(request: FastifyRequest, { action, actor }: Pick<NewAuditEntry, 'action' | 'actor'>): Promise<void> {
  const event = NOTICE_OF_ACTION[action];
  if (event !== undefined) await request.server.trail.mails?.send(request, { event, to: actor });
}
