/** The members of an organisation: invitations, roles, removal. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isEmailAddress, mailboxOf } from '../../../core/email-address.ts';
import { DEFAULT_LOCALE, type Locale } from '../../../core/scan/locales.ts';
import { type Invitation, INVITATION_HOURS, INVITATIONS_MAX } from '../../../stores/accounts/invitations.ts';
import { ApiError } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import type { LimitSize } from '../../http/rate-limits.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import {
  button,
  code,
  confirmedForm,
  type FormError,
  hiddenField,
  link,
  notice,
  selectField,
  table,
  time,
  visuallyHidden,
} from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { csrfField, doneOf, emailField, errorOf, mustWait, postForm, titledPage, wrongEmail } from '../forms.ts';
import { ROLE_TEXTS, roleOf, roleText } from '../names.ts';
import { type Role, ROLES } from '../../../core/accounts.ts';
import type { Member } from '../../../stores/accounts/users.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { providerDecides } from '../../accounts/sessions/role-mapping.ts';
import { MEMBERS_PATH, RECIPIENTS_PATH, TRACKER_PATH } from '../../../core/web-paths.ts';
import { requireReauthentication } from '../second-factor/confirm.ts';
import { isNothing } from '../../../stores/accounts/left-behind.ts';
import { leftBehindPath, noticesOf, tellLeftBehind, tellOwners } from '../../accounts/owner-notices.ts';
import { m, t, tr } from '../../web/texts.ts';

/** Invitations of one organisation: each may send a mail to a stranger. */
export const INVITATION_LIMIT: LimitSize = { limit: 30, windowSeconds: 3600 };
/** Invitations to one mailbox, of all organisations. */
export const MAILBOX_INVITATION_LIMIT: LimitSize = { limit: 10, windowSeconds: 3600 };
const LAST_OWNER = m`An organisation needs an owner: make another member an owner first.`;
const PROVIDER_DECIDES = m`The identity provider decides who belongs to this organisation, and with which role, at each sign-in. Change the groups there.`;
const CONFIG = { permission: 'members:write' } as const;

/** What was done, by the value of `done` in the address. */
const done = (): Readonly<Record<string, string>> => ({
  role: t`The role is changed. API keys that the person created can do no more than the new role.`,
  invited: t`The service sends the invitation by mail. Its link works once, and expires after ${INVITATION_HOURS} hours. If it does not arrive, invite the address again.`,
  removed: t`The member is removed and signed out. What the member invited is canceled.`,
  canceled: t`The invitation is canceled. Its link does not work any more.`,
});

export const memberPages: FastifyPluginAsync = async (scope) => {
  const { settings, stores, logger } = scope;
  const outbox = settings.mail ? stores.outbox : null;
  const localeOf = async (email: string): Promise<Locale | null> => (await stores.users.find(email))?.locale ?? null;

  async function show(request: FastifyRequest, reply: FastifyReply, more: Partial<MembersPage> = {}, status = 200): Promise<FastifyReply> {
    const { members, invitations } = storesOf(request);
    const [list, pending] = await Promise.all([members.list(), invitations.list()]);
    return reply.page(membersPage({ request, members: list, invitations: pending, ...more }), { status });
  }

  /** Refuses changes of members if the identity provider decides about them. */
  const managedHere = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    isProviders(request) ? show(request, reply, { errors: [{ field: null, text: tr(PROVIDER_DECIDES) }] }, 409) : undefined;

  scope.get(MEMBERS_PATH, { config: CONFIG }, (request, reply) => show(request, reply, { done: doneOf(request, done()) }));

  scope.post(`${MEMBERS_PATH}/invitations`, { config: CONFIG, preHandler: [managedHere, proofForOwner] }, async (request, reply) => {
    const { invitations } = storesOf(request);
    const form = formOf(request.body);
    const role = roleOf(form.text('role'));
    const email = form.text('email').toLowerCase();
    const typed = { email, role: role ?? ('member' as const) };
    const refuse = (errors: FormError[], status = 422) => show(request, reply, { errors, typed }, status);
    const errors: FormError[] = [];
    if (!isEmailAddress(email)) errors.push({ field: 'email', text: wrongEmail() });
    else if (await isMember(request, email)) errors.push({ field: 'email', text: t`This address belongs to a member already.` });
    if (role === null) errors.push({ field: 'role', text: t`Choose a role.` });
    if (errors.length > 0 || role === null) return refuse(errors);
    const { organisation, actor } = callerOf(request);
    const tooMany = await tooManyInvitations(request, reply, email);
    if (tooMany !== null) return refuse([tooMany], 429);
    const created = await invitations.create({ email, role, mailed: outbox !== null });
    if (!created.ok && created.reason === 'just_invited') return show(request, reply, { invited: { email, url: null } });
    if (!created.ok)
      return refuse([{ field: null, text: t`There are ${INVITATIONS_MAX} open invitations, which is the limit; cancel one first.` }]);
    const { id, expiresAt } = created.invitation;
    const url = `${scope.web.publicBaseUrl}/dashboard/invitation/${created.token}`;
    const invitedBy = actor.kind === 'user' ? actor.email : organisation.displayName;
    // The link is shown only where it cannot be mailed: it lets the person who opens it set the password.
    if (outbox === null) {
      await recordInvitation(request, email, role);
      return show(request, reply, { invited: { email, url } });
    }
    try {
      await outbox.enqueue({
        id: `invitation:${created.linkId}`,
        kind: 'invitation',
        organisation: organisation.id,
        to: email,
        locale: (await localeOf(email)) ?? (await localeOf(invitedBy)) ?? DEFAULT_LOCALE,
        data: { organisation: organisation.displayName, invitedBy, url, expiresAt: expiresAt.toISOString() },
      });
    } catch (error) {
      logger.error({ request: request.id, organisation: organisation.id, err: error }, 'invitation not mailed');
      await invitations.cancel(id);
      return refuse([{ field: null, text: t`The mail could not be queued, so the invitation was withdrawn. Try again in a minute.` }], 503);
    }
    await recordInvitation(request, email, role);
    return reply.redirect(`${MEMBERS_PATH}?done=invited`, 303);
  });

  scope.post(`${MEMBERS_PATH}/invitations/cancel`, { config: CONFIG }, async (request, reply) => {
    const canceled = await storesOf(request).invitations.cancel(formOf(request.body).text('id'));
    if (canceled === null) throw new ApiError('not_found');
    await recordChange(request, logger, { action: 'user.invite-cancel', subject: canceled.email });
    return reply.redirect(`${MEMBERS_PATH}?done=canceled`, 303);
  });

  scope.post(`${MEMBERS_PATH}/role`, { config: CONFIG, preHandler: [managedHere, proofForOwner] }, async (request, reply) => {
    const form = formOf(request.body);
    const role = roleOf(form.text('role'));
    if (role === null) return show(request, reply, { errors: [{ field: null, text: t`Choose a role.` }] }, 422);
    const changed = await storesOf(request).members.setRole(form.text('email'), role);
    if (!changed.ok && changed.reason === 'not_found') throw new ApiError('not_found');
    if (!changed.ok) return show(request, reply, { errors: [{ field: null, text: tr(LAST_OWNER) }] }, 409);
    await recordChange(request, logger, {
      action: 'user.role',
      subject: `${changed.member.email}: ${ROLE_TEXTS[role].name.toLowerCase()}`,
    });
    const { id } = callerOf(request).organisation;
    if (ROLES.indexOf(role) > ROLES.indexOf(changed.before)) {
      const left = await tellLeftBehind(noticesOf(request), id, changed.member.email, request.viewer!.email);
      if (!isNothing(left)) return reply.redirect(leftBehindPath(changed.member.email, { done: 'role' }), 303);
    }
    if (role === 'owner') await tellNewOwner(request, changed.member.email);
    // Someone who is no longer an owner may not see this page.
    const self = changed.member.email === request.viewer!.email && role !== 'owner';
    return reply.redirect(self ? '/dashboard' : `${MEMBERS_PATH}?done=role`, 303);
  });

  scope.post(`${MEMBERS_PATH}/remove`, { config: CONFIG, preHandler: [managedHere, proofForOwner] }, async (request, reply) => {
    const removed = await storesOf(request).members.remove(formOf(request.body).text('email'));
    if (!removed.ok && removed.reason === 'not_found') throw new ApiError('not_found');
    if (!removed.ok) return show(request, reply, { errors: [{ field: null, text: tr(LAST_OWNER) }] }, 409);
    const { email } = removed.member;
    await recordChange(request, logger, { action: 'user.remove', subject: email });
    const left = await tellLeftBehind(noticesOf(request), callerOf(request).organisation.id, email, request.viewer!.email);
    return reply.redirect(isNothing(left) ? `${MEMBERS_PATH}?done=removed` : leftBehindPath(email, { done: 'removed' }), 303);
  });
};

/** The error of an invitation, or of a question for consent, after too many of them. Null: this one may be sent. */
export async function tooManyInvitations(request: FastifyRequest, reply: FastifyReply, email: string): Promise<FormError | null> {
  const decision = await request.server.stores.rateLimits.admit([
    { policy: 'invitations', subject: callerOf(request).organisation.id, ...INVITATION_LIMIT },
    { policy: 'invitation-mailbox', subject: mailboxOf(email), ...MAILBOX_INVITATION_LIMIT },
  ]);
  return decision.ok ? null : mustWait(reply, decision.retryAfterSeconds);
}

const reauthenticate = requireReauthentication(() => MEMBERS_PATH);

/** @param role absent: any */
export const isMember = async (request: FastifyRequest, email: string, role?: Role): Promise<boolean> =>
  (await storesOf(request).members.list()).some((one) => one.email === email && (role === undefined || one.role === role));

const isProviders = (request: FastifyRequest): boolean => providerDecides(request.server.settings, callerOf(request).organisation.id);

/** An owner may do everything: who makes, demotes or removes one must have proved lately who they are. */
async function proofForOwner(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const form = formOf(request.body);
  const email = form.text('email').toLowerCase();
  return form.text('role') === 'owner' || (await isMember(request, email, 'owner')) ? reauthenticate(request, reply) : undefined;
}

async function recordInvitation(request: FastifyRequest, email: string, role: Role): Promise<void> {
  await recordChange(request, request.server.logger, { action: 'user.invite', subject: `${email}: ${role}` });
  if (role === 'owner') await tellNewOwner(request, email);
}

const tellNewOwner = (request: FastifyRequest, email: string): Promise<void> =>
  tellOwners(noticesOf(request), callerOf(request).organisation.id, {
    event: 'owner_added',
    person: request.viewer!.email,
    subject: email,
    path: MEMBERS_PATH,
  });

interface MembersPage {
  request: FastifyRequest;
  members: readonly Member[];
  invitations: readonly Invitation[];
  errors?: readonly FormError[];
  /** What was typed into the form of invitations. */
  typed?: { email: string; role: Role };
  /** A new invitation, and its link, which is shown once and only if mail is off. Null: another request has created it just now. */
  invited?: { email: string; url: string | null };
  done?: string | null;
}

function membersPage(options: MembersPage): Html {
  const { request, members, invitations, errors = [], invited, done } = options;
  return titledPage({
    request,
    title: t`Members`,
    active: 'members',
    errors,
    done,
    body: html`${isProviders(request) && notice({ body: tr(PROVIDER_DECIDES) })} ${invited && invitationLink(invited)}
      ${table({
        id: 'members',
        caption: t`Members`,
        captionHidden: true,
        columns: [{ text: t`Member` }, { text: t`Role`, wide: true }, { text: t`Last sign-in` }, { text: t`Remove`, hidden: true }],
        rows: members.map((member, at) => memberRow(request, member, at)),
      })}
      <p>${link(t`Recipients of mails without an account`, RECIPIENTS_PATH)} · ${link(t`Tracker for issues`, TRACKER_PATH)}</p>
      ${invitations.length > 0 && pendingInvitations(request, invitations)} ${!isProviders(request) && invitationForm(options)}`,
  });
}

function memberRow(request: FastifyRequest, user: Member, at: number): readonly (HtmlValue | string)[] {
  const self = user.email === request.viewer!.email;
  // What the owner of the address does elsewhere is no concern of this organisation until the owner confirms the membership.
  const [name, lastSignInAt] = user.confirmed ? [user.name, user.lastSignInAt] : [null, null];
  const who = html`${name ?? user.email}${self && t` (you)`}${name !== null && html`<br /><span class="soft">${user.email}</span>`}${
    !user.confirmed && html`<br /><span class="soft">${t`Has no access until the owner of the address confirms the membership`}</span>`
  }`;
  if (isProviders(request)) return [who, tr(ROLE_TEXTS[user.role].name), signInText(lastSignInAt), ''];
  const role = html`<form method="post" action="${MEMBERS_PATH}/role" class="inline-form">
    ${csrfField(request)} ${hiddenField('email', user.email)}
    ${selectField({
      id: `role-${at + 1}`,
      name: 'role',
      label: visuallyHidden(t`Role of ${user.email}`),
      required: true,
      value: user.role,
      choices: ROLES.map((value) => ({ value, text: tr(ROLE_TEXTS[value].name) })),
    })}
    ${button({ text: t`Save`, kind: 'quiet', hiddenText: t`the role of ${user.email}` })}
  </form>`;
  const made = link(t`Keys, webhooks, schedules${visuallyHidden(t` of ${user.email}`)}`, leftBehindPath(user.email));
  if (self) return [who, role, signInText(lastSignInAt), html`${made}<br />${link(t`Leave`, ORGANISATIONS_PATH)}`];
  const remove = confirmedForm({
    id: `remove-${at + 1}`,
    action: `${MEMBERS_PATH}/remove`,
    fields: html`${csrfField(request)}${hiddenField('email', user.email)}`,
    trigger: { text: t`Remove`, kind: 'quiet', hiddenText: user.email },
    title: t`Remove ${user.email}?`,
    text: t`The member is signed out at once, and what the member invited is canceled. API keys, webhooks and schedules stay: see the next page.`,
    confirm: t`Remove`,
    cancel: t`Cancel`,
  });
  return [who, role, signInText(lastSignInAt), html`${made} ${remove}`];
}

const signInText = (at: Date | null): HtmlValue => (at === null ? t`Never` : time(at));

const invitationLink = ({ email, url }: NonNullable<MembersPage['invited']>): Html =>
  notice({
    kind: 'warn',
    announce: true,
    ...(url === null
      ? {
          title: t`${email} was invited a moment ago`,
          body: t`Another request created the invitation at the same time, for example a double click. If you miss its link, cancel the invitation and create a new one.`,
        }
      : {
          title: t`Invitation for ${email}`,
          body: html`<p>
            ${t`This service does not send mail, so give this link only to the person whom you invite: anyone who opens it can join with this
            address. It is shown only now, works once, and expires after ${INVITATION_HOURS} hours.`}
          </p>
          ${code({ text: url, id: 'invitation-link', label: t`the invitation link`, inline: true })}`,
        }),
  });

const pendingInvitations = (request: FastifyRequest, invitations: readonly Invitation[]): Html =>
  html`<h2>${t`Invitations`}</h2>
    ${table({
      id: 'invitations',
      caption: t`Invitations that were not accepted yet`,
      captionHidden: true,
      columns: [{ text: t`Address` }, { text: t`Role` }, { text: t`Expires` }, { text: t`Invited by` }, { text: t`Cancel`, hidden: true }],
      rows: invitations.map(({ id, email, role, expiresAt, createdBy }) => {
        const cancel = button({ text: t`Cancel`, kind: 'quiet', hiddenText: t`the invitation of ${email}` });
        const form = postForm(request, `${MEMBERS_PATH}/invitations/cancel`, cancel, { id });
        return [email, tr(ROLE_TEXTS[role].name), time(expiresAt), createdBy, form];
      }),
    })}`;

const invitationForm = ({ request, errors = [], typed }: MembersPage): Html =>
  html`<h2>${t`Invite someone`}</h2>
    ${postForm(
      request,
      `${MEMBERS_PATH}/invitations`,
      html`${emailField(errors, { value: typed?.email, autocomplete: 'off', width: 'medium' })}
      ${selectField({
        name: 'role',
        label: t`Role`,
        required: true,
        value: typed?.role ?? 'member',
        choices: ROLES.map((value) => ({ value, text: roleText(value) })),
        error: errorOf(errors, 'role'),
      })}
      ${button({ text: t`Create invitation`, kind: 'primary' })}`,
    )}`;
