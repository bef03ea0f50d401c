/** Accepts an invitation with a new password. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../platform/logger.ts';
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { AddedUser } from '../../../stores/accounts/users.ts';
import type { ApiStores } from '../../dependencies.ts';
import { checkCsrf, csrfToken } from '../../sessions/plugin.ts';
import { linkButton, type FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { NAME_MAX } from '../account.ts';
import { FORM_EXPIRED } from '../forms.ts';
import { NEW_PASSWORD, newPasswordErrors } from '../passwords.ts';
import { recordEntry } from '../record.ts';
import { afterPassword } from '../second-factor/after-password.ts';
import { invitationPage, linkEnded } from './link-pages.ts';

export interface InvitationDeps {
  stores: Pick<ApiStores, 'users' | 'sessions' | 'organisations' | 'invitations' | 'secondFactors' | 'pendingSignIns'>;
  logger: Logger;
  provider: string | null;
  local: boolean;
}

type Answer = FastifyReply | Promise<FastifyReply>;

export const invitationRoutes: FastifyPluginAsync<InvitationDeps> = async (scope, deps) => {
  const { stores, provider, local } = deps;

  /** Reads the invitation of the link and its organisation. */
  async function open(request: FastifyRequest): Promise<{ invitation: Invitation; organisationName: string } | null> {
    await scope.readSession(request);
    const invitation = await stores.invitations.find((request.params as { token: string }).token);
    const organisation = invitation === null ? null : await stores.organisations.find(invitation.organisation);
    return invitation === null || organisation === null ? null : { invitation, organisationName: organisation.displayName };
  }

  const ended = (request: FastifyRequest, reply: FastifyReply): Answer =>
    reply.page(
      linkEnded(
        request,
        'This invitation does not work any more',
        'It was used or canceled, or it is older than 72 hours. Ask the person who invited you for a new one. If you have joined already, sign in.',
        linkButton({ text: 'Sign in', href: '/dashboard/sign-in' }),
      ),
      { status: 404 },
    );

  scope.get('/dashboard/invitation/:token', async (request, reply) => {
    const opened = await open(request);
    if (opened === null) return ended(request, reply);
    return reply.page(invitationPage({ request, csrfToken: csrfToken(request, reply), ...opened, provider, local }));
  });

  scope.post('/dashboard/invitation/:token', async (request, reply) => {
    const opened = await open(request);
    if (opened === null || !local) return ended(request, reply);
    const { invitation, organisationName } = opened;
    const form = formOf(request.body);
    const name = form.text('name');
    const refuse = (errors: FormError[], status = 422) =>
      reply.page(invitationPage({ request, csrfToken: csrfToken(request, reply), ...opened, provider, local, name, errors }), { status });
    try {
      checkCsrf(request);
    } catch {
      return refuse([{ field: NEW_PASSWORD, text: FORM_EXPIRED }], 403);
    }
    const password = form.exact(NEW_PASSWORD);
    const errors = newPasswordErrors(password, [invitation.email, organisationName]);
    if (name.length > NAME_MAX) errors.unshift({ field: 'name', text: `Use at most ${NAME_MAX} characters.` });
    if (errors.length > 0) return refuse(errors);
    const joined = await join(stores, invitation, { name, password });
    if (joined === null) return ended(request, reply);
    if (!joined.ok)
      return refuse(
        [{ field: null, text: 'There is an account with this address already. Sign in, or ask for an invitation of another address.' }],
        409,
      );
    await recordJoin(deps, request, invitation);
    const path = await afterPassword({ request, reply, stores }, joined.user, '/dashboard');
    return path === null ? ended(request, reply) : reply.redirect(path, 303);
  });
};

/**
 * Makes the invited person a user. Of several simultaneous calls, one succeeds.
 * @returns null if the invitation was used or canceled meanwhile
 */
export async function join(
  { invitations, users }: Pick<ApiStores, 'invitations' | 'users'>,
  { id }: Pick<Invitation, 'id'>,
  { name, password }: { name: string | null; password: string | null },
): Promise<AddedUser | null> {
  const taken = await invitations.take(id);
  if (taken === null) return null;
  const { email, organisation, role, createdBy } = taken;
  try {
    const added = await users.add({ email, organisation, role, createdBy, name, password });
    if (!added.ok) await invitations.restore(id);
    return added;
  } catch (error) {
    await invitations.restore(id);
    throw error;
  }
}

/** Records that an invitation was accepted. */
export function recordJoin(
  { stores, logger }: { stores: Pick<ApiStores, 'organisations'>; logger: Logger },
  request: Pick<FastifyRequest, 'id'>,
  { email, organisation, role }: Invitation,
): Promise<void> {
  const { organisations } = stores;
  return recordEntry({ organisations, logger }, request, { organisation, actor: email, action: 'user.join', subject: `${email}: ${role}` });
}
