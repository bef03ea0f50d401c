/** Starts the session of a user who has proved who they are. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SecondFactor } from '../../../stores/accounts/second-factor-steps.ts';
import type { SignInMethod } from '../../../stores/accounts/sessions.ts';
import type { User } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { networkOf } from '../../key-check.ts';
import { annotate } from '../../plugins/request-log.ts';
import { setSession } from '../../sessions/plugin.ts';

interface StartOptions {
  request: FastifyRequest;
  reply: FastifyReply;
  stores: Pick<ApiStores, 'users' | 'sessions'>;
}

/**
 * Starts a session of a user, with a new secret, and ends the one that the browser had.
 * @param secondFactor what the user proved besides the password
 * @returns false if the user was removed meanwhile
 */
export async function startSession(
  { request, reply, stores }: StartOptions,
  user: User,
  method: SignInMethod,
  secondFactor: SecondFactor | null = null,
): Promise<boolean> {
  const before = await request.server.readSession(request);
  const started = await stores.sessions.start({ email: user.email, method, secondFactor, browser: request.headers['user-agent'] ?? '' });
  if (started === null) return false;
  if (before !== null) await stores.sessions.end(before.user.email, before.session.id);
  await stores.users.recordSignIn(user.email, networkOf(request.ip));
  setSession(reply, started.secret);
  annotate(request, { organisation: user.organisation, user: user.email });
  return true;
}
