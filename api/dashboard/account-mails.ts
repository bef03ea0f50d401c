/** Mails to the owner of an account about its security. Nothing is sent if mail is not configured. */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AccountNotice } from '../../core/audit-actions.ts';
import type { Logger } from '../../platform/logger.ts';
import { auditNetwork } from '../accounts/audit-network.ts';
import type { ApiStores } from '../dependencies.ts';
import { browserName } from './browsers.ts';

interface AccountMailDeps {
  outbox: Pick<ApiStores['outbox'], 'enqueue'>;
  now: () => Date;
  logger: Logger;
}

export function createAccountMails({ outbox, now, logger }: AccountMailDeps) {
  /** A change of an account is recorded for each of its organisations, and mailed once. */
  const idOf = new WeakMap<FastifyRequest, string>();
  return {
    /** Queues a mail. A failure is only logged: what the mail is about has happened. */
    async send(request: FastifyRequest, { event, to }: { event: AccountNotice; to: string }) {
      const network = auditNetwork(request.ip);
      if (!idOf.has(request)) idOf.set(request, randomUUID());
      const data = {
        event,
        at: now().toISOString(),
        client: { network, browser: browserName(request.headers['user-agent'] ?? '') },
      };
      const id = `account-notice:${event === 'sign_in' ? networkId(to, network) : idOf.get(request)!}`;
      await outbox.enqueue({ id, kind: 'account_notice', to, locale: 'en', data }).catch((error: unknown) => {
        logger.error({ request: request.id, event, err: error }, 'account notice not mailed');
      });
    },
  };
}
export type AccountMails = ReturnType<typeof createAccountMails>;

/** An entry of the outbox is kept longer than any other trace of a sign-in, so an account gets one mail about a network. */
const networkId = (email: string, network: string): string =>
  createHash('sha256')
    .update(JSON.stringify([email, network]))
    .digest('hex');
