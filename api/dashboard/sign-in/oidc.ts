/** Sign-in at an OpenID Connect provider. It maps verified addresses to users, and creates accounts only for addresses that were invited. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { bestEffort } from '../../../platform/logger.ts';
import { type OidcFlow, PENDING_MS } from '../../../stores/accounts/pending-sign-ins.ts';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import { annotate } from '../../http/plugins/request-log.ts';
import type { Claims, IdentityProvider } from '../../accounts/sessions/identity-provider.ts';
import { ORGANISATIONS_PATH, ownPath, signInPath } from '../../accounts/sessions/require-session.ts';
import { openedInvitationPath } from '../account/organisations.ts';
import { DEFAULT_SCOPES, providerDecides } from '../../accounts/sessions/role-mapping.ts';
import { recordEntry, recordForUser } from '../audit.ts';
import type { SignInProblem } from './password.ts';
import { applyRoles, type ProviderRoles, providerRoles } from './provider-roles.ts';
import { startSession } from './start-session.ts';

type Resolved = { ok: true; user: User & Partial<Pick<VerifiedUser, 'generation'>> } | { ok: false; reason: SignInProblem };

const PATH = '/dashboard/sign-in/oidc';
/** Sign-ins that one browser can have begun. A restored one begins several at once. */
const FLOWS_PER_BROWSER = 20;
/** The page of an invitation. */
const INVITATION = /^\/dashboard\/invitation\/([\w-]+)$/;

export const oidcRoutes: FastifyPluginAsync<{ identityProvider: IdentityProvider }> = async (scope, { identityProvider }) => {
  const { stores, logger } = scope;
  const { oidc: cookie, options } = scope.sessionCookies;

  function refuse(request: FastifyRequest, reply: FastifyReply, problem: SignInProblem, next: string, cause?: unknown): FastifyReply {
    annotate(request, { signIn: problem });
    if (cause !== undefined) logger.warn({ request: request.id, err: cause }, 'sign-in at the identity provider failed');
    const path = signInPath(next);
    return reply.redirect(`${path}${path.includes('?') ? '&' : '?'}problem=${problem}`, 303);
  }

  /** The invitation of which the page leads here, by its ID: its token is stored nowhere. */
  async function openedBy(next: string): Promise<string | null> {
    const [, token] = INVITATION.exec(next) ?? [];
    return token === undefined ? null : ((await stores.invitations.find(token))?.id ?? null);
  }

  scope.get<{ Querystring: { next?: string; fresh?: string } }>(PATH, async (request, reply) => {
    const next = ownPath(request.query.next);
    if (!scope.networkLimits.admit('sign-in-provider', request.address).ok) return refuse(request, reply, 'too_many', next);
    const started = await identityProvider.start({ fresh: request.query.fresh !== undefined }).catch((error: unknown) => ({ error }));
    if ('error' in started) return refuse(request, reply, 'provider_down', next, started.error);
    const invitation = await openedBy(next);
    const after = INVITATION.test(next) ? ORGANISATIONS_PATH : next;
    const token = await stores.oidcFlows.start({ ...started.flow, next: after, invitation });
    const others = Object.keys(request.cookies).filter((name) => name.startsWith(cookie));
    // Abandoned ones must not fill the header of requests until they expire.
    if (others.length >= FLOWS_PER_BROWSER) for (const other of others) reply.clearCookie(other, options);
    reply.setCookie(cookie + started.flow.state, token, { ...options, maxAge: PENDING_MS / 1000 });
    return reply.redirect(started.url.href, 303);
  });

  scope.get<{ Querystring: { state?: unknown } }>(
    `${PATH}/callback`,
    { config: { network: 'sign-in-provider' } },
    async (request, reply) => {
      const name = cookie + String(request.query.state);
      const token = request.cookies[name];
      if (token !== undefined) reply.clearCookie(name, options);
      const flow = token === undefined ? null : await stores.oidcFlows.take(token);
      if (flow === null) return refuse(request, reply, 'expired', '/dashboard');
      const url = new URL(request.url, scope.web.publicBaseUrl);
      const exchange = await identityProvider.finish(url, flow).catch((error: unknown) => ({ error }));
      if ('error' in exchange) return refuse(request, reply, 'provider_down', flow.next, exchange.error);
      if (!exchange.ok) return refuse(request, reply, 'refused', flow.next, exchange.cause);
      const resolved = await resolve(request, exchange.claims, flow);
      if (!resolved.ok) return refuse(request, reply, resolved.reason, flow.next);
      const { provedAt } = exchange.claims;
      if (!(await startSession({ request, reply }, resolved.user, { method: 'oidc', ...(provedAt && { provedAt }) })))
        return refuse(request, reply, 'expired', flow.next);
      const { email } = exchange.claims;
      // The provider verified the address, so mails to it are worth another attempt.
      if (email !== null) await bestEffort('a bounce of a verified address remains', logger, () => stores.suppressions.lift(email));
      // Joining needs a confirmation: a link to the provider, which may sign in without asking, must not be enough.
      return reply.redirect(flow.invitation === null ? flow.next : openedInvitationPath(flow.invitation), 303);
    },
  );
};

/**
 * Finds the user of an identity: by an earlier link, else by the verified address. A verified address gets an account if it was
 * invited, or if the provider gives it a role. Memberships are as the provider says before anything starts.
 */
async function resolve(request: FastifyRequest, claims: Claims, flow: OidcFlow): Promise<Resolved> {
  const { roleValues, identity } = claims;
  // Rights must not end because the provider has not said which groups there are, and must not last because of it either.
  if (roleValues === 'unknown') return { ok: false, reason: 'groups_unknown' };
  const isAbsent = roleValues === 'absent';
  const roles = await providerRoles(request, isAbsent ? [] : roleValues);
  // Many providers leave out an empty list, but so does a wrong scope. Owners see who may have lost the groups.
  const member = isAbsent ? await memberOf(request, claims, roles) : null;
  if (member !== null) {
    for (const organisation of member.organisations)
      await recordEntry(request, { organisation, actor: identity.issuer, action: 'user.groups-missing', subject: member.email });
    return withoutClaim(request);
  }
  const mayJoin = [...roles.values()].some((role) => role !== null);
  const resolved = await findUser(request, claims, flow, mayJoin);
  if (resolved.ok && !isAbsent) await applyRoles(request, resolved.user.email, roles, identity.issuer);
  return isAbsent && !resolved.ok && resolved.reason === 'no_role' ? withoutClaim(request) : resolved;
}

/** Returns to which of these organisations a person belongs; null if to none. */
async function memberOf({ server }: FastifyRequest, { identity, email }: Claims, mapped: ProviderRoles) {
  const { users, members } = server.stores;
  const user = (await users.findByIdentity(identity)) ?? (email === null ? null : await users.find(email));
  if (user === null) return null;
  const organisations = (await members.of(user.email)).map(({ organisation }) => organisation.id).filter((id) => mapped.has(id));
  return organisations.length === 0 ? null : { email: user.email, organisations };
}

function withoutClaim({ id, server }: FastifyRequest): Resolved {
  const { scopes = DEFAULT_SCOPES, roleMapping } = server.settings.identityProvider!;
  server.logger.warn(
    { request: id, claim: roleMapping!.claim, scopes },
    'the identity provider did not send the claim of OIDC_ROLE_MAPPING',
  );
  return { ok: false, reason: 'groups_absent' };
}

/** @param mayJoin whether the provider gives the person a role */
async function findUser(request: FastifyRequest, claims: Claims, { invitation: opened }: OidcFlow, mayJoin: boolean): Promise<Resolved> {
  const { settings, stores } = request.server;
  const { users, invitations } = stores;
  const { identity, name, email } = claims;
  // The link is decisive: who changes the address at the provider must not become another user.
  const known = await users.findByIdentity(identity);
  if (known !== null) return { ok: true, user: known };
  if (email === null) return { ok: false, reason: 'unverified_email' };
  if ((await users.find(email)) === null) {
    const invited = (await invitations.findByEmail(email)).filter((one) => !providerDecides(settings, one.organisation));
    if (invited.length === 0 && !mayJoin) return { ok: false, reason: settings.identityProvider?.roleMapping ? 'no_role' : 'unknown_user' };
    const createdBy = invited.find(({ id }) => id === opened)?.createdBy ?? null;
    const added = await users.add({ email, password: null, name, createdBy, identity });
    if (added.ok) return added;
  }
  const linked = await users.link(email, identity);
  if (!linked.ok) return { ok: false, reason: linked.reason === 'not_found' ? 'unknown_user' : 'other_identity' };
  if (linked.first) await recordForUser(request, email, { action: 'user.link', subject: identity.issuer });
  return linked;
}
