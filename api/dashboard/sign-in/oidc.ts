/** Sign-in at an OpenID Connect provider. It maps verified addresses to users and invitations, and never creates other accounts. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../platform/logger.ts';
import type { User } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { networkOf } from '../../key-check.ts';
import { bestEffort } from '../../submission/best-effort.ts';
import { annotate } from '../../plugins/request-log.ts';
import type { Claims, IdentityProvider } from '../../sessions/identity-provider.ts';
import { ownPath, signInPath } from '../../sessions/own-path.ts';
import { SIGN_IN_LIMITS } from '../../sessions/sign-in-limits.ts';
import { recordEntry } from '../record.ts';
import { join, recordJoin } from './invitation.ts';
import type { SignInProblem } from './problems.ts';
import { startSession } from './start-session.ts';

export interface OidcDeps {
  stores: Pick<ApiStores, 'users' | 'sessions' | 'invitations' | 'organisations' | 'oidcFlows' | 'rateLimits' | 'suppressions'>;
  identityProvider: IdentityProvider;
  logger: Logger;
}

type Resolved = { ok: true; user: User } | { ok: false; reason: SignInProblem };

const PATH = '/dashboard/sign-in/oidc';

export const oidcRoutes: FastifyPluginAsync<OidcDeps> = async (scope, deps) => {
  const { stores, identityProvider, logger } = deps;
  const { oidc: cookie, options } = scope.sessionCookies;

  function refuse(request: FastifyRequest, reply: FastifyReply, problem: SignInProblem, next: string, cause?: unknown): FastifyReply {
    annotate(request, { signIn: problem });
    if (cause !== undefined) logger.warn({ request: request.id, err: cause }, 'sign-in at the identity provider failed');
    const path = signInPath(next);
    return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}problem=${problem}`, 303);
  }

  scope.get<{ Querystring: { next?: string } }>(PATH, async (request, reply) => {
    const next = ownPath(request.query.next);
    const rule = { policy: 'sign-in-address', subject: networkOf(request.ip), ...SIGN_IN_LIMITS['sign-in-address'] };
    if (!(await stores.rateLimits.admit([rule])).ok) return refuse(request, reply, 'too_many', next);
    const started = await identityProvider.start().catch((error: unknown) => ({ error }));
    if ('error' in started) return refuse(request, reply, 'provider_down', next, started.error);
    reply.setCookie(cookie, await stores.oidcFlows.start({ ...started.flow, next }), options);
    return reply.redirect(started.url.href, 303);
  });

  scope.get(`${PATH}/callback`, async (request, reply) => {
    const token = request.cookies[cookie];
    reply.clearCookie(cookie, options);
    const flow = token === undefined ? null : await stores.oidcFlows.take(token);
    if (flow === null) return refuse(request, reply, 'expired', '/dashboard');
    const url = new URL(request.url, scope.web.publicBaseUrl);
    const exchange = await identityProvider.finish(url, flow).catch((error: unknown) => ({ error }));
    if ('error' in exchange) return refuse(request, reply, 'provider_down', flow.next, exchange.error);
    if (!exchange.ok) return refuse(request, reply, 'refused', flow.next, exchange.cause);
    const resolved = await resolve(deps, request, exchange.claims);
    if (!resolved.ok) return refuse(request, reply, resolved.reason, flow.next);
    if (!(await startSession({ request, reply, stores }, resolved.user, 'oidc'))) return refuse(request, reply, 'unknown_user', flow.next);
    const { email } = exchange.claims;
    // The provider verified the address, so mails to it are worth another attempt.
    if (email !== null) await bestEffort('a bounce of a verified address remains', logger, () => stores.suppressions.lift(email));
    return reply.redirect(flow.next, 303);
  });
};

/** Finds the user of an identity: by an earlier link, else by the verified address, else by an invitation. */
async function resolve(deps: OidcDeps, request: FastifyRequest, { identity, email, name }: Claims): Promise<Resolved> {
  const { stores, logger } = deps;
  const { users, invitations, organisations } = stores;
  // The link is decisive: who changes the address at the provider must not become another user.
  const linked = await users.findByIdentity(identity);
  if (linked !== null) return { ok: true, user: linked };
  if (email === null) return { ok: false, reason: 'unverified_email' };
  let user = await users.find(email);
  if (user === null) {
    const [invitation] = await invitations.findByEmail(email);
    const joined = invitation === undefined ? null : await join(stores, invitation, { name, password: null });
    if (invitation === undefined || joined === null || !joined.ok) return { ok: false, reason: 'unknown_user' };
    await recordJoin(deps, request, invitation);
    user = joined.user;
  }
  if (!(await users.link(email, identity)).ok) return { ok: false, reason: 'other_identity' };
  const entry = { organisation: user.organisation, actor: email, action: 'user.link', subject: identity.issuer };
  await recordEntry({ organisations, logger }, request, entry);
  return { ok: true, user };
}
