/**
 * Creates API keys under an Idempotency-Key (decisions, "Idempotency"). A repeated request gets the first response, with the
 * key, although only the key's SHA-256 is stored: the key is derived from the credential of the request and a salt that the
 * database keeps as long as the Idempotency-Key. So also a request that died between storing the key and answering can be
 * repeated, and it takes one of the organisation's places for keys.
 */
import type { FastifyRequest } from 'fastify';
import { bestEffort, type Logger } from '../../platform/logger.ts';
import { derivedBytes, makeKey } from '../../stores/accounts/key-format.ts';
import type { ApiKey, IssuedKey } from '../../stores/accounts/keys.ts';
import type { OwnedClaim } from '../../stores/submissions/idempotency.ts';
import { ApiError, ValidationFailure } from '../http/errors.ts';
import { claimError, idempotencyKeyOf, requestFingerprint, senderOf } from '../http/idempotency/request.ts';
import type { Asked, KeyManagement, WantedKey } from './key-management.ts';
import { LEASE_SECONDS } from '../scans/submission/submission.ts';

/** An Idempotency-Key and the request that it was sent with. */
export interface IdempotentRequest {
  key: string;
  fingerprint: string;
  /** The API key or the session secret that the caller sent. */
  credential: string;
}

export interface IdempotentKeysDeps {
  management: KeyManagement;
  logger: Logger;
  newId: () => string;
}

export type IssuedOnce = { issued: IssuedKey; replayed: boolean };

/** The Idempotency-Key of a request; null if it has none. The fingerprint names the sender: another one does not get the key. */
export function idempotencyOf(request: FastifyRequest): IdempotentRequest | null {
  const key = idempotencyKeyOf(request);
  if (key === undefined) return null;
  return { key, fingerprint: requestFingerprint('POST /v1/api-keys', request), credential: senderOf(request).credential };
}

/**
 * Issues a key once for an Idempotency-Key.
 * @throws as `KeyManagement.issue`; ApiError `idempotency_conflict` while another request with the Idempotency-Key is in
 * progress; ValidationFailure if it was used for another request
 */
export async function issueOnce(
  { management, logger, newId }: IdempotentKeysDeps,
  asked: Asked,
  wanted: WantedKey,
  { key, fingerprint, credential }: IdempotentRequest,
): Promise<IssuedOnce> {
  const { idempotency, keys } = asked.stores;
  const claimed = await idempotency.claim({ key, fingerprint, resourceId: newId(), leaseSeconds: LEASE_SECONDS });
  if (!claimed.ok && claimed.reason === 'reused') throw claimError(claimed);
  const { resourceId: id, salt } = claimed.ok ? claimed.claim : claimed;
  // The key comes first: once it exists, no refusal replaces it, whatever the lease, the time or the number of keys.
  const existing = claimed.ok && !claimed.claim.takenOver ? null : await keys.find(id);
  if (existing !== null) {
    await management.record(asked, existing);
    return { issued: repeated(existing, credential, salt), replayed: true };
  }
  if (!claimed.ok) throw claimError(claimed);
  try {
    const issued = await management.issue(asked, { ...wanted, id, bytes: derivedBytes(credential, salt) });
    if (!issued.ok) await free(claimed.claim, () => idempotency.remove(claimed.claim));
    return { issued, replayed: false };
  } catch (error) {
    const refused = error instanceof ValidationFailure || error instanceof ApiError;
    // After another error the key may exist, so the Idempotency-Key keeps naming it.
    await free(claimed.claim, () => (refused ? idempotency.remove(claimed.claim) : idempotency.release(claimed.claim)));
    throw error;
  }

  function free({ organisation }: OwnedClaim, end: () => Promise<void>): Promise<void> {
    const about = logger.child({ request: asked.request, organisation });
    return bestEffort('an idempotency key stays claimed until its lease ends', about, end);
  }
}

/** The first response again. @throws TypeError if the derived key is not the stored one, which no request can cause */
function repeated(key: ApiKey, credential: string, salt: string): IssuedKey {
  const secret = makeKey(derivedBytes(credential, salt), key);
  if (!secret.endsWith(key.last4)) throw new TypeError('the derived API key is not the stored one');
  return { ok: true, key, secret };
}
