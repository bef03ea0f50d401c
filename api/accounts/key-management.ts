/** Issues and revokes API keys for a caller, over REST and in the dashboard. Each change is recorded in the audit log. */
import type { FastifyRequest } from 'fastify';
import { type Caller, isTest, type KeyRights, rightsOfNewKey, type WantedRights } from '../../core/accounts.ts';
import type { Logger } from '../../platform/logger.ts';
import type { ApiKey, IssuedKey } from '../../stores/accounts/keys.ts';
import { ApiError, ValidationFailure } from '../http/errors.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { requirePermission } from '../http/plugins/permissions.ts';
import { storesOf, type ScopedStores } from './scoped-stores.ts';

export interface KeyManagementDeps {
  now: () => Date;
  logger: Logger;
}

export interface WantedKey extends WantedRights {
  name: string;
  /** Repeated requests with the same ID issue one key. Default: a random one. */
  id?: string;
}

/** Who asks: the caller, the stores of the caller's organisation, and the ID of the HTTP request, for logs. */
export interface Asked {
  caller: Caller;
  stores: Pick<ScopedStores, 'keys' | 'audit' | 'lostRights'>;
  request: string;
}

export function createKeyManagement({ now, logger }: KeyManagementDeps) {
  /** Records what happened to a key, if its entries are missing. A failure is only logged: it must not hide a new key from its creator. */
  async function record({ caller, stores, request }: Asked, key: ApiKey): Promise<void> {
    await stores.audit.recordKey(key).catch((error: unknown) => {
      logger.error({ request, organisation: caller.organisation.id, key: key.id, err: error }, 'audit entry lost');
    });
  }

  /**
   * Revokes a new key whose creator was removed, demoted or revoked during the request. The end of all keys of a person, or the cap of
   * a former member's, may have missed the new one. Its secret is not in a response yet, so no one has it if this fails.
   */
  async function revokeIfTooLate(asked: Asked, { id, scopes }: ApiKey): Promise<void> {
    const lost = await asked.stores.lostRights(scopes);
    if (lost === null) return;
    const revoked = await asked.stores.keys.revoke(id);
    if (revoked !== null) await record(asked, revoked);
    throw new ApiError(lost);
  }

  /** Whether a key has the ID. The audit entry of the request that issued it may have been lost. */
  async function wasIssued(asked: Asked, id: string | undefined): Promise<boolean> {
    const key = id === undefined ? null : await asked.stores.keys.find(id);
    if (key !== null) await record(asked, key);
    return key !== null;
  }

  return {
    /**
     * Looks for the ID first: once the key exists, no refusal hides that.
     * @throws ValidationFailure if the expiry has passed or is after that of the caller's key
     * @throws ApiError if the caller lacks one of the scopes, or if the caller's key or session ended meanwhile
     */
    async issue(asked: Asked, { name, id, ...wanted }: WantedKey): Promise<IssuedKey> {
      if (await wasIssued(asked, id)) return { ok: false, reason: 'already_issued' };
      const { scopes, expiresAt, test } = granted(asked.caller, rightsOfNewKey(asked.caller.actor, wanted, now()));
      const issued = await asked.stores.keys.issue({ name: name.trim(), expiresAt, scopes, test, id });
      // Another request with the ID may have stored the key meanwhile, also in the last place.
      if (!issued.ok) return (await wasIssued(asked, id)) ? { ok: false, reason: 'already_issued' } : issued;
      await record(asked, issued.key);
      await revokeIfTooLate(asked, issued.key);
      return issued;
    },

    /** @throws ApiError if the organisation has no such live key, or a test key would revoke another one than a test key */
    async revoke(asked: Asked, keyId: string) {
      const id = keyId.toLowerCase();
      if (isTest(asked.caller.actor) && (await asked.stores.keys.find(id))?.test === false) throw new ApiError('key_not_found');
      const revoked = await asked.stores.keys.revoke(id);
      // Also if it was revoked before: the answer to that request, and its entry, may have been lost.
      const key = revoked ?? (await asked.stores.keys.find(id));
      if (key !== null) await record(asked, key);
      if (revoked === null) throw new ApiError('key_not_found');
    },

    /** Revokes the live keys that a person created, and those that these keys created. @returns the revoked keys */
    async revokeCreatedBy(asked: Asked, person: string): Promise<ApiKey[]> {
      const revoked = await asked.stores.keys.revokeCreatedBy(person);
      for (const key of revoked) await record(asked, key);
      return revoked;
    },
  };
}

const TEST_ONLY = 'A test key creates only test keys; leave out test, or use another key.';

/** @throws ValidationFailure or ApiError if the caller cannot pass on the rights */
function granted(caller: Caller, rights: KeyRights): Extract<KeyRights, { ok: true }> {
  if (rights.ok) return rights;
  const refuse = (msg: string, type: 'date.past' | 'date.after_creator') =>
    new ValidationFailure([{ loc: ['body', 'expires_at'], msg, type }]);
  switch (rights.reason) {
    case 'expired':
      throw refuse('expires_at must be in the future.', 'date.past');
    case 'outlives_creator':
      throw refuse(
        `expires_at must not be after ${rights.end.toISOString()}, when the API key of this request expires.`,
        'date.after_creator',
      );
    case 'test_only':
      throw new ValidationFailure([{ loc: ['body', 'test'], msg: TEST_ONLY, type: 'test_key.test_only' }]);
    case 'missing_scope':
      requirePermission(caller, rights.scope);
      throw new TypeError(`the caller has the scope ${rights.scope}`);
  }
}

export const askedBy = (request: FastifyRequest): Asked => ({ caller: callerOf(request), stores: storesOf(request), request: request.id });
