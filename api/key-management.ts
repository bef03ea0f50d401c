/** Issues and revokes API keys for a caller, over REST and in the dashboard. Each change is recorded in the audit log. */
import { auditName, type Caller, type KeyScope } from '../core/accounts.ts';
import type { Logger } from '../platform/logger.ts';
import type { IssuedKey, Keys } from '../stores/accounts/keys.ts';
import type { Organisations } from '../stores/accounts/organisations.ts';
import { ApiError, ValidationFailure } from './errors.ts';
import { requirePermission } from './plugins/permissions.ts';

export const KEY_NAME_MAX = 100;

export interface KeyManagementDeps {
  keys: Pick<Keys, 'issue' | 'revoke'>;
  organisations: Pick<Organisations, 'record'>;
  clock: () => Date;
  logger: Logger;
}

export interface WantedKey {
  name: string;
  expiresAt: Date | null;
  scopes: readonly KeyScope[];
  /** Repeated requests with the same ID issue one key. Default: a random one. */
  id?: string;
}

export interface KeyManagement {
  /**
   * @param request the ID of the HTTP request, for logs
   * @throws ValidationFailure if the expiry has passed; ApiError if the caller lacks one of the scopes
   */
  issue(caller: Caller, request: string, wanted: WantedKey): Promise<IssuedKey>;
  /** @throws ApiError if the organisation has no such live key */
  revoke(caller: Caller, request: string, id: string): Promise<void>;
}

export function createKeyManagement({ keys, organisations, clock, logger }: KeyManagementDeps): KeyManagement {
  /** A failure is only logged: it must not hide a new key from its creator, who cannot read it again. */
  async function record(caller: Caller, request: string, action: string, subject: string): Promise<void> {
    const entry = { organisation: caller.organisation.id, actor: auditName(caller.actor), action, subject };
    await organisations.record(entry).catch((error: unknown) => logger.error({ request, ...entry, err: error }, 'audit entry lost'));
  }

  return {
    async issue(caller, request, { name, expiresAt, scopes, id }) {
      if (expiresAt !== null && expiresAt <= clock())
        throw new ValidationFailure([{ loc: ['body', 'expires_at'], msg: 'expires_at must be in the future.', type: 'date.past' }]);
      for (const scope of scopes) requirePermission(caller, scope);
      const issued = await keys.issue({ organisation: caller.organisation.id, name: name.trim(), expiresAt, scopes, id });
      if (issued.ok) await record(caller, request, 'key.issue', issued.key.id);
      return issued;
    },

    async revoke(caller, request, keyId) {
      const id = keyId.toLowerCase();
      if (!(await keys.revoke(caller.organisation.id, id))) throw new ApiError('key_not_found');
      await record(caller, request, 'key.revoke', id);
    },
  };
}
