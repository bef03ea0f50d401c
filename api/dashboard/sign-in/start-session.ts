/** Starts the session of a user who has proved who they are. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Session, SessionRequest } from '../../../stores/accounts/sessions.ts';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import { networkOf } from '../../http/networks/networks.ts';
import { annotate } from '../../http/plugins/request-log.ts';
import { recordSignIn } from '../audit.ts';
import { setSession } from '../../accounts/sessions/plugin.ts';

interface StartOptions {
  request: FastifyRequest;
  reply: FastifyReply;
}

/** What a session of the user begins with; see `SessionRequest`. */
type SessionStart = Pick<SessionRequest, 'method' | 'organisation' | 'secondFactor' | 'provedAt'>;

/** The start of a session that continues an earlier one: it keeps the factor, and does not count as a new proof. */
export const continued = ({ method, secondFactor, provedAt }: Session): SessionStart => ({ method, secondFactor, provedAt });

/**
 * Starts a session of a user, with a new secret, and ends the one that the browser had.
 * @returns false if the user was deleted or got a new password meanwhile, or does not belong to the organisation
 */
export async function startSession(
  { request, reply }: StartOptions,
  user: User & Partial<Pick<VerifiedUser, 'generation'>>,
  { method, organisation, secondFactor, provedAt }: SessionStart,
): Promise<boolean> {
  const { stores } = request.server;
  const before = await request.server.readSession(request);
  const started = await stores.sessions.start({
    email: user.email,
    method,
    browser: request.headers['user-agent'] ?? '',
    organisation,
    generation: user.generation,
    secondFactor,
    provedAt,
  });
  if (started === null) return false;
  if (before !== null) await stores.sessions.end(before.user.email, before.session.id);
  await recordSignIn(request, started, user.lastSignInAt === null);
  await stores.users.recordSignIn(user.email, networkOf(request.address));
  setSession(reply, started.secret);
  annotate(request, { organisation: started.membership?.organisation.id, user: user.email });
  return true;
}
