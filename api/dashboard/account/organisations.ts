/** The page of the organisations that a user belongs to or may join, and what is done there: switch, join, decline, confirm, leave. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../http/errors.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, doneOf, postForm, titledPage } from '../forms.ts';
import { providerDecides } from '../../accounts/sessions/role-mapping.ts';
import { recordEntry } from '../audit.ts';
import { noticesOf, tellLeftBehind } from '../../accounts/owner-notices.ts';
import { recordJoin } from '../sign-in/invitation.ts';
import { continued, startSession } from '../sign-in/start-session.ts';
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { Belonging } from '../../../stores/accounts/members.ts';
import {
  actions,
  badge,
  button,
  card,
  confirmedForm,
  emptyState,
  type FormError,
  hiddenField,
  notice,
  table,
  dateAndTime,
} from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { ROLE_TEXTS, roleText } from '../names.ts';
import { m, t, tr } from '../../web/texts.ts';

const CONFIG = { permission: null } as const;
const DONE: Readonly<Record<string, string>> = {
  left: m`You have left the organisation.`,
  declined: m`The invitation is declined.`,
  confirmed: m`You stay in the organisation.`,
};
/** The refusal to leave. */
export const onlyOwner = (): string =>
  t`You are the only owner. Make another member an owner first, or ask the administrator of this service.`;

export const organisationPages: FastifyPluginAsync = async (scope) => {
  const { organisations } = scope.stores;

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
    return startSession({ request, reply }, user, { ...continued(session), organisation });
  }

  const record = (request: FastifyRequest, organisation: string, action: string): Promise<unknown> => {
    const { email } = signedInOf(request).user;
    return recordEntry(request, { organisation, actor: email, action, subject: email });
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
    await recordJoin(request, accepted.invitation);
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
    const { user } = signedInOf(request);
    const id = formOf(request.body).text('organisation');
    const belonging = (await own.organisations()).find(({ organisation }) => organisation.id === id);
    // The identity provider would bring the person back at the next sign-in.
    if (belonging === undefined || providerDecides(scope.settings, id)) throw new ApiError('not_found');
    // Someone who has not confirmed the membership never owned the organisation.
    const left = await own.leave(id, { lastOwner: !belonging.confirmed });
    if (!left.ok && left.reason === 'last_owner') return show(request, reply, { errors: [{ field: null, text: onlyOwner() }] }, 409);
    if (!left.ok) throw new ApiError('not_found');
    await record(request, id, 'user.leave');
    await tellLeftBehind(noticesOf(request), id, user.email, user.email);
    // The session in the organisation has ended.
    if (signedInOf(request).membership?.organisation.id === id) await act(request, reply);
    return reply.redirect(`${ORGANISATIONS_PATH}?done=left`, 303);
  });
};

/** The page, with an invitation that the person opened before. */
export const openedInvitationPath = (id: string): string => `${ORGANISATIONS_PATH}?invitation=${encodeURIComponent(id)}`;

interface Choice extends Invitation {
  organisationName: string;
}

interface OrganisationsPage {
  request: FastifyRequest;
  email: string;
  /** The organisation that the session acts for. */
  current: string | null;
  belongings: readonly Belonging[];
  invitations: readonly Choice[];
  /** The ID of the invitation that the person opened before. */
  opened?: string | null;
  errors?: readonly FormError[];
  done?: string | null;
}

function organisationsPage(options: OrganisationsPage): Html {
  const { request, email, belongings, invitations, opened = null, errors = [], done } = options;
  const confirmed = belongings.filter((one) => one.confirmed);
  const first = invitations.filter(({ id }) => id === opened);
  const others = invitations.filter(({ id }) => id !== opened);
  return titledPage({
    request,
    title: t`Organisations`,
    active: 'organisations',
    errors,
    done,
    body: html`${
      opened !== null &&
      first.length === 0 &&
      notice({
        kind: 'warn',
        announce: true,
        title: t`The invitation that you opened is not here`,
        body: t`It was used or canceled, or it is for another address than ${email}.`,
      })
    }
      ${[...first, ...others].map((one) => invitationCard(request, one))}
      ${belongings.filter((one) => !one.confirmed).map((one) => confirmationCard(request, one))}
      ${confirmed.length > 0 ? organisationTable(options, confirmed) : nothing(options)}`,
  });
}

const nothing = ({ email, invitations }: OrganisationsPage): Html =>
  emptyState({
    title: t`You belong to no organisation`,
    text: invitations.length > 0 ? t`Join one that invites you.` : t`Ask an owner of an organisation to invite ${email}.`,
  });

const form = (request: FastifyRequest, action: string, fields: Readonly<Record<string, string>>, submit: Html): Html =>
  postForm(request, `${ORGANISATIONS_PATH}/${action}`, submit, fields);

const invitationCard = (request: FastifyRequest, { id, organisationName, role, createdBy, expiresAt }: Choice): Html =>
  card({
    title: t`Join ${organisationName}?`,
    body: html`<p>
        ${t`${createdBy} invites you as ${roleText(role)}. The invitation expires on
        ${dateAndTime(expiresAt)}.`}
      </p>
      ${actions(
        form(request, 'join', { id }, button({ text: t`Join`, kind: 'primary', hiddenText: organisationName })),
        form(request, 'decline', { id }, button({ text: t`Decline`, hiddenText: t`the invitation to ${organisationName}` })),
      )}`,
  });

const confirmationCard = (request: FastifyRequest, { organisation: { id, displayName }, role }: Belonging): Html =>
  card({
    title: t`Stay in ${displayName}?`,
    body: html`<p>
        ${t`Before you verified your address, an account with it joined ${displayName} as ${tr(ROLE_TEXTS[role].name)}. If you do not
        know this organisation, leave it.`}
      </p>
      ${actions(
        form(request, 'confirm', { organisation: id }, button({ text: t`Stay`, kind: 'primary', hiddenText: t`in ${displayName}` })),
        form(request, 'leave', { organisation: id }, button({ text: t`Leave`, hiddenText: displayName })),
      )}`,
  });

function organisationTable({ request, current }: OrganisationsPage, belongings: readonly Belonging[]): Html {
  return html`<h2>${t`Your organisations`}</h2>
    ${table({
      id: 'organisations',
      caption: t`Organisations that you belong to`,
      captionHidden: true,
      columns: [{ text: t`Organisation` }, { text: t`Your role` }, { text: t`Actions`, hidden: true }],
      rows: belongings.map(({ organisation: { id, displayName, blocked }, role }, at) => [
        html`${displayName}${blocked && html` ${badge('bad', t`Blocked`)}`}`,
        tr(ROLE_TEXTS[role].name),
        actions(
          id === current ? badge('good', t`Current`) : switchForm(request, id, displayName),
          !providerDecides(request.server.settings, id) && leaveForm(request, id, displayName, at),
        ),
      ]),
    })}`;
}

const switchForm = (request: FastifyRequest, id: string, name: string): Html =>
  form(request, 'switch', { organisation: id }, button({ text: t`Switch`, kind: 'quiet', hiddenText: t`to ${name}` }));

const leaveForm = (request: FastifyRequest, id: string, name: string, at: number): Html =>
  confirmedForm({
    id: `leave-${at + 1}`,
    action: `${ORGANISATIONS_PATH}/leave`,
    fields: html`${csrfField(request)}${hiddenField('organisation', id)}`,
    trigger: { text: t`Leave`, kind: 'quiet', hiddenText: name },
    title: t`Leave ${name}?`,
    text: t`You lose access at once, and what you invited is canceled. To come back, you need a new invitation. What you created stays: end what is not needed any more first.`,
    confirm: t`Leave`,
    cancel: t`Cancel`,
  });
