/** Whether the person of a session proved lately who they are: a browser that was left open, or a stolen session, is not enough. */
import type { FastifyRequest } from 'fastify';
import { signedInOf } from './plugin.ts';

const REAUTHENTICATED_MS = 600_000;

/** With a second factor, if the account has one. @throws TypeError before sign-in */
export async function isReauthenticated(request: FastifyRequest): Promise<boolean> {
  const { session, user } = signedInOf(request);
  const { stores, now } = request.server;
  if (now().getTime() - session.provedAt.getTime() >= REAUTHENTICATED_MS) return false;
  return session.secondFactor !== null || !(await stores.secondFactors.find(user.email)).any;
}
