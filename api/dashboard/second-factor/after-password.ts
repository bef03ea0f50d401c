/** What follows a correct password: a session, or the question for the second factor. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { startSession } from '../sign-in/start-session.ts';

/** The page that asks for the second factor. */
export const ASK_PATH = '/dashboard/sign-in/second-factor';

interface AfterPassword {
  request: FastifyRequest;
  reply: FastifyReply;
  stores: Pick<ApiStores, 'users' | 'sessions' | 'secondFactors' | 'pendingSignIns'>;
}

/**
 * Continues the sign-in of a user who has proved a password, or that a link was sent to them. An account with a second factor
 * gets no session yet.
 * @param next where the user wants to go
 * @param organisation the one to act for. Default: the one that the user chose last
 * @param mailed see `PendingSignIn`
 * @returns where to go now; null if the user was deleted or got a new password meanwhile, or does not belong to the organisation
 */
export async function afterPassword(
  { request, reply, stores }: AfterPassword,
  user: User & Partial<Pick<VerifiedUser, 'generation'>>,
  { next, organisation, mailed }: { next: string; organisation?: string; mailed?: boolean },
): Promise<string | null> {
  const { email, generation } = user;
  const { any } = await stores.secondFactors.find(email);
  if (!any) return (await startSession({ request, reply, stores }, user, { method: 'password', organisation })) ? next : null;
  const { pending, options } = request.server.sessionCookies;
  reply.setCookie(pending, await stores.pendingSignIns.start({ email, generation, next, organisation, mailed }), options);
  return ASK_PATH;
}
