/** Switches between the organisations of a user, joins invitations, and leaves. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../platform/logger.ts';
import type { ApiStores } from '../../dependencies.ts';
import { ApiError } from '../../http/errors.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import { formOf } from '../../web/html-scope.ts';
import { doneOf } from '../forms.ts';
import { recordEntry } from '../record.ts';
import { recordJoin } from '../sign-in/invitation.ts';
import { continued, startSession } from '../sign-in/start-session.ts';
import { organisationsPage, type Choice, type OrganisationsPage } from './organisations-page.ts';

export interface OrganisationPagesDeps {
  stores: Pick<ApiStores, 'users' | 'sessions' | 'organisations'>;
  logger: Logger;
}

const CONFIG = { permission: null } as const;
const DONE: Readonly<Record<string, string>> = {
  left: 'You have left the organisation.',
  declined: 'The invitation is declined.',
  confirmed: 'You stay in the organisation.',
};
/** The refusal to leave. */
export const ONLY_OWNER = 'You are the only owner. Make another member an owner first, or ask the administrator of this service.';

export const organisationPages: FastifyPluginAsync<OrganisationPagesDeps> = async (scope, { stores, logger }) => {
  const { organisations } = stores;

  async function choices(request: FastifyRequest): Promise<Choice[]> {
    const invitations = await ownStoresOf(request).invitations();
    const named = invitations.map(async (invitation) => ({ invitation, organisation: await organisations.find(invitation.organisation) }));
    return (await Promise.all(named)).flatMap(({ invitation, organisation }) =>
      organisation === null ? [] : [{ ...invitation, organisationName: organisation.displayName }],
    );
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    more: Partial<OrganisationsPage> = {},
    status = 200,
  ): Promise<FastifyReply> {
    const [belongings, invitations] = await Promise.all([ownStoresOf(request).organisations(), choices(request)]);
    const { user, membership } = signedInOf(request);
    const current = membership?.organisation.id ?? null;
    return reply.page(organisationsPage({ request, email: user.email, current, belongings, invitations, ...more }), { status });
  }

  /** Acts for an organisation from now on: with a new session, so that forms of the earlier one cannot be sent into this one. */
  async function act(request: FastifyRequest, reply: FastifyReply, organisation?: string): Promise<boolean> {
    const { user, session } = signedInOf(request);
    return startSession({ request, reply, stores }, user, { ...continued(session), organisation });
  }

  const record = (request: FastifyRequest, organisation: string, action: string): Promise<unknown> => {
    const { email } = signedInOf(request).user;
    return recordEntry({ organisations, logger }, request, { organisation, actor: email, action, subject: email });
  };

  scope.get(ORGANISATIONS_PATH, { config: CONFIG }, (request, reply) => {
    const { invitation } = request.query as { invitation?: string };
    const opened = typeof invitation === 'string' ? invitation : null;
    return show(request, reply, { opened, done: doneOf(request, DONE) });
  });

  scope.post(`${ORGANISATIONS_PATH}/switch`, { config: CONFIG }, async (request, reply) => {
    if (!(await act(request, reply, formOf(request.body).text('organisation')))) throw new ApiError('not_found');
    return reply.redirect('/dashboard', 303);
  });

  scope.post(`${ORGANISATIONS_PATH}/join`, { config: CONFIG }, async (request, reply) => {
    const accepted = await ownStoresOf(request).accept(formOf(request.body).text('id'));
    if (!accepted.ok) throw new ApiError('not_found');
    await recordJoin({ stores, logger }, request, accepted.invitation);
    await act(request, reply, accepted.invitation.organisation);
    return reply.redirect('/dashboard', 303);
  });

  scope.post(`${ORGANISATIONS_PATH}/decline`, { config: CONFIG }, async (request, reply) => {
    const declined = await ownStoresOf(request).decline(formOf(request.body).text('id'));
    if (declined === null) throw new ApiError('not_found');
    await record(request, declined.organisation, 'user.decline');
    return reply.redirect(`${ORGANISATIONS_PATH}?done=declined`, 303);
  });

  scope.post(`${ORGANISATIONS_PATH}/confirm`, { config: CONFIG }, async (request, reply) => {
    const organisation = formOf(request.body).text('organisation');
    if (!(await ownStoresOf(request).confirm(organisation))) throw new ApiError('not_found');
    await record(request, organisation, 'user.confirm');
    return reply.redirect(`${ORGANISATIONS_PATH}?done=confirmed`, 303);
  });

  scope.post(`${ORGANISATIONS_PATH}/leave`, { config: CONFIG }, async (request, reply) => {
    const own = ownStoresOf(request);
    const id = formOf(request.body).text('organisation');
    const belonging = (await own.organisations()).find(({ organisation }) => organisation.id === id);
    if (belonging === undefined) throw new ApiError('not_found');
    // Someone who has not confirmed the membership never owned the organisation.
    const left = await own.leave(id, { lastOwner: !belonging.confirmed });
    if (!left.ok && left.reason === 'last_owner') return show(request, reply, { errors: [{ field: null, text: ONLY_OWNER }] }, 409);
    if (!left.ok) throw new ApiError('not_found');
    await record(request, id, 'user.leave');
    // The session in the organisation has ended.
    if (signedInOf(request).membership?.organisation.id === id) await act(request, reply);
    return reply.redirect(`${ORGANISATIONS_PATH}?done=left`, 303);
  });
};
