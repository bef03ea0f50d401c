/**
 * Changes of factors need a sign-in or a confirmation within the last minutes, so that a browser that was left open, or a stolen
 * session, is not enough.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Session } from '../../../stores/accounts/sessions.ts';
import type { ApiStores } from '../../dependencies.ts';
import { ownPath } from '../../accounts/sessions/own-path.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';

export const CONFIRM_PATH = '/dashboard/account/confirm';
const FRESH_MS = 600_000;

/** Whether the person of a session proved lately who they are, with a second factor if the account has one. */
export function isFresh(
  { provedAt, secondFactor }: Pick<Session, 'provedAt' | 'secondFactor'>,
  account: { any: boolean },
  now: Date,
): boolean {
  return now.getTime() - provedAt.getTime() < FRESH_MS && (!account.any || secondFactor !== null);
}

interface FreshDeps {
  stores: { secondFactors: Pick<ApiStores['secondFactors'], 'find'> };
  now: () => Date;
}

/** Asks people to confirm who they are unless they did so lately. @param page where to go afterwards */
export function requireFresh({ stores, now }: FreshDeps, page: (request: FastifyRequest) => string = ({ url }) => url) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { session, user } = signedInOf(request);
    if (isFresh(session, await stores.secondFactors.find(user.email), now())) return undefined;
    return reply.redirect(`${CONFIRM_PATH}?${new URLSearchParams({ next: ownPath(page(request)) })}`, 303);
  };
}
