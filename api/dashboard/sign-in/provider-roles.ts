/** Memberships that the identity provider decides about (`oidc.roleMapping`): set at each sign-in, before the session starts. */
import type { FastifyRequest } from 'fastify';
import { type Role, ROLES } from '../../../core/accounts.ts';
import { MEMBERS_PATH } from '../../../core/web-paths.ts';
import { noticesOf, tellLeftBehind, tellOwners } from '../../accounts/owner-notices.ts';
import { rolesOf } from '../../accounts/sessions/role-mapping.ts';
import { recordEntry } from '../audit.ts';

export type ProviderRoles = ReadonlyMap<string, Role | null>;

/** The roles that values of the claim give in the organisations of the mapping that exist. */
export async function providerRoles({ server, id }: FastifyRequest, values: readonly string[]): Promise<ProviderRoles> {
  const roles = rolesOf(server.settings.identityProvider?.roleMapping?.rules ?? [], values);
  for (const organisation of [...roles.keys()]) {
    if ((await server.stores.organisations.find(organisation)) !== null) continue;
    server.logger.warn({ request: id, organisation }, 'OIDC_ROLE_MAPPING names an organisation that does not exist');
    roles.delete(organisation);
  }
  return roles;
}

/** Gives a user exactly these roles. What is left after a demotion is limited as after any. @param issuer the actor of the audit log */
export async function applyRoles(request: FastifyRequest, email: string, roles: ProviderRoles, issuer: string): Promise<void> {
  for (const [organisation, role] of roles) {
    const before = await request.server.stores.members.assign(organisation, email, role);
    if (before === role) continue;
    const action = before === null ? 'user.add' : role === null ? 'user.remove' : 'user.role';
    await recordEntry(request, { organisation, actor: issuer, action, subject: role === null ? email : `${email}: ${role}` });
    const less = before !== null && (role === null || ROLES.indexOf(role) > ROLES.indexOf(before));
    if (less) await tellLeftBehind(noticesOf(request), organisation, email, issuer);
    const notice = { event: 'owner_added', person: issuer, subject: email, path: MEMBERS_PATH } as const;
    if (role === 'owner') await tellOwners(noticesOf(request), organisation, notice);
  }
}
