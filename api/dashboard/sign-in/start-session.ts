/** Starts the session of a user who has proved who they are. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SignInMethod } from '../../../stores/accounts/sessions.ts';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { networkOf } from '../../networks/networks.ts';
import { annotate } from '../../plugins/request-log.ts';
import { setSession } from '../../sessions/plugin.ts';

interface StartOptions {
  request: FastifyRequest;
  reply: FastifyReply;
  stores: Pick<ApiStores, 'users' | 'sessions'>;
}

/**
 * Starts a session of a user, with a new secret, and ends the one that the browser had.
 * @param organisation the one to act for. Default: the one that the user chose last
 * @returns false if the user was deleted or got a new password meanwhile, or does not belong to the organisation
 */
export async function startSession(
  { request, reply, stores }: StartOptions,
  user: User & Partial<Pick<VerifiedUser, 'generation'>>,
  method: SignInMethod,
  organisation?: string,
): Promise<boolean> {
  const before = await request.server.readSession(request);
  const started = await stores.sessions.start({
    email: user.email,
    method,
    browser: request.headers['user-agent'] ?? '',
    organisation,
    generation: user.generation,
  });
  if (started === null) return false;
  if (before !== null) await stores.sessions.end(before.user.email, before.session.id);
  const signedIn = {
    organisation: started.membership?.organisation.id ?? null,
    session: started.session,
    first: user.lastSignInAt === null,
  };
  await request.server.trail.signedIn(request, signedIn);
  await stores.users.recordSignIn(user.email, networkOf(request.ip));
  setSession(reply, started.secret);
  annotate(request, { organisation: started.membership?.organisation.id, user: user.email });
  return true;
}
