/** Asks a signed-in user for the password again. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VerifiedUser } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { confirmationRule } from '../../accounts/sessions/sign-in-limits.ts';
import type { FormError } from '../../web/components/index.ts';
import { mustWait } from '../forms.ts';

export const WRONG_PASSWORD: FormError = { field: 'password', text: 'This is not your current password.' };

export type Confirmed = { ok: true; user: VerifiedUser } | { ok: false; error: FormError; status: number };

/**
 * Checks the password of the signed-in user. A refusal is recorded like that of a sign-in, and the attempts of an account count
 * together, because the thief of a session can use any number of networks.
 */
export async function confirmPassword(
  request: FastifyRequest,
  reply: FastifyReply,
  rateLimits: Pick<ApiStores['rateLimits'], 'admit'>,
  password: string,
): Promise<Confirmed> {
  const { email } = signedInOf(request).user;
  const decision = await rateLimits.admit([confirmationRule(email)]);
  if (!decision.ok) return { ok: false, error: mustWait(reply, decision.retryAfterSeconds), status: 429 };
  const user = await ownStoresOf(request).verify(password);
  if (user !== null) return { ok: true, user };
  request.server.trail.signInFailed(request, email);
  return { ok: false, error: WRONG_PASSWORD, status: 422 };
}
