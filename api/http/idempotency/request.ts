/** What an Idempotency-Key belongs to: its sender, and the request that it was sent with. */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { auditName } from '../../../core/accounts.ts';
import { ANONYMOUS } from '../../../core/organisation.ts';
import type { Claim } from '../../../stores/submissions/idempotency.ts';
import { fingerprintOf } from '../../scans/submission/fingerprint.ts';
import { errorOf } from '../../scans/submission/submission.ts';
import type { ApiError, ValidationFailure } from '../errors.ts';
import { networkOf } from '../networks/networks.ts';

/** The Idempotency-Key of a request. Node joins repeated headers of this name. */
export const idempotencyKeyOf = (request: Pick<FastifyRequest, 'headers'>): string | undefined =>
  request.headers['idempotency-key'] as string | undefined;

interface Sender {
  /** Another sender does not get the response. */
  name: string;
  /** What the sender has and the database does not: an API key or the secret of a session. Empty without an account. */
  credential: string;
}

export function senderOf(request: FastifyRequest): Sender {
  const { caller, headers, cookies, server, ip } = request;
  if (caller === null) return { name: networkOf(ip), credential: '' };
  const { actor } = caller;
  if (actor.kind === 'key') return { name: auditName(actor), credential: headers['x-api-key'] as string };
  return { name: actor.sessionId, credential: cookies[server.sessionCookies.session]! };
}

/**
 * The name of the record of an Idempotency-Key. That of a request without an account is hashed, because it is all that keeps
 * the response secret; and each network has keys of its own, because people choose the same ones.
 */
export function recordOf(request: FastifyRequest, key: string): { organisation: string; key: string } {
  if (request.caller !== null) return { organisation: request.caller.organisation.id, key };
  const hash = createHash('sha256')
    .update(`${senderOf(request).name}\n${key}`)
    .digest('hex');
  return { organisation: ANONYMOUS, key: hash };
}

/** The fingerprint of a request. The validation, which adds defaults to the body, must not have run. @param route method and path */
export const requestFingerprint = (route: string, request: FastifyRequest): string =>
  fingerprintOf({ route, sender: senderOf(request).name, body: fingerprintOf(request.body) });

/** The error of a request whose Idempotency-Key another one holds. */
export function claimError(claim: Exclude<Claim, { ok: true }>): ApiError | ValidationFailure {
  if (claim.reason === 'reused') return errorOf({ ok: false, reason: 'idempotency_reused' }, 0);
  const retryAfterSeconds = Math.max(1, Math.ceil(claim.leaseMs / 1000));
  return errorOf({ ok: false, reason: 'idempotency_conflict', retryAfterSeconds }, 0);
}
