/** The page of the members of an organisation. */
import type { FastifyRequest } from 'fastify';
import type { Role } from '../../../core/accounts.ts';
import { INVITATION_HOURS, type Invitation } from '../../../stores/accounts/invitations.ts';
import type { User } from '../../../stores/accounts/users.ts';
import {
  button,
  code,
  confirmedForm,
  errorSummary,
  hiddenField,
  notice,
  selectField,
  table,
  textField,
  time,
  titleWithErrors,
  visuallyHidden,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { dashboardPage } from '../../web/layout.ts';
import { csrfField, errorOf } from '../forms.ts';
import { ROLE_CHOICES, ROLE_TEXTS } from '../roles.ts';

export const MEMBERS_PATH = '/dashboard/settings/members';

/** What became of the mail with the link of an invitation. */
const MAIL_TEXTS = {
  sent: 'A mail with the link below will be sent, too. If it does not arrive, give the link to the person whom you invite.',
  off: 'Give this link to the person whom you invite.',
  failed: 'The invitation was created, but the mail could not be sent. Give this link to the person whom you invite.',
} as const;

export interface MembersPage {
  request: FastifyRequest;
  users: readonly User[];
  invitations: readonly Invitation[];
  errors?: readonly FormError[];
  /** What was typed into the form of invitations. */
  typed?: { email: string; role: Role };
  /** The link of a new invitation, which is shown once. */
  invited?: { email: string; url: string; mail: keyof typeof MAIL_TEXTS };
  /** What was done. */
  done?: string | null;
}

export function membersPage(options: MembersPage): Html {
  const { request, users, invitations, errors = [], invited, done } = options;
  return dashboardPage({
    request,
    title: titleWithErrors('Members', errors),
    active: 'members',
    body: html`${errorSummary(errors)}
      <h1>Members</h1>
      ${done && notice({ kind: 'good', body: done, announce: true })} ${invited && invitationLink(invited)}
      ${table({
        id: 'members',
        caption: 'Members',
        captionHidden: true,
        columns: [{ text: 'Member' }, { text: 'Role' }, { text: 'Last sign-in' }, { text: 'Remove', hidden: true }],
        rows: users.map((user, at) => memberRow(request, user, at)),
      })}
      ${invitations.length > 0 && pendingInvitations(request, invitations)} ${invitationForm(options)}`,
  });
}

function memberRow(request: FastifyRequest, user: User, at: number): readonly (Html | string)[] {
  const self = user.email === request.viewer!.email;
  const who = html`${user.name ?? user.email}${self && ' (you)'}${user.name !== null && html`<br /><span class="soft">${user.email}</span>`}`;
  const role = html`<form method="post" action="${MEMBERS_PATH}/role" class="inline-form">
    ${csrfField(request)} ${hiddenField('email', user.email)}
    ${selectField({
      id: `role-${at + 1}`,
      name: 'role',
      label: visuallyHidden(`Role of ${user.email}`),
      required: true,
      value: user.role,
      choices: ROLE_CHOICES.map(({ value }) => ({ value, text: ROLE_TEXTS[value as Role].name })),
    })}
    ${button({ text: 'Save', kind: 'quiet', hiddenText: `the role of ${user.email}` })}
  </form>`;
  const remove = confirmedForm({
    id: `remove-${at + 1}`,
    action: `${MEMBERS_PATH}/remove`,
    fields: html`${csrfField(request)}${hiddenField('email', user.email)}`,
    trigger: { text: 'Remove', kind: 'quiet', hiddenText: user.email },
    title: `Remove ${user.email}?`,
    text: self
      ? 'You will be signed out and lose access to this organisation. Your API keys keep working.'
      : 'The member is signed out at once and loses access. The API keys of the organisation keep working.',
    confirm: 'Remove',
    cancel: 'Cancel',
  });
  return [who, role, user.lastSignInAt === null ? 'Never' : time(user.lastSignInAt), remove];
}

const invitationLink = ({ email, url, mail }: NonNullable<MembersPage['invited']>): Html =>
  notice({
    kind: mail === 'failed' ? 'warn' : 'good',
    announce: true,
    title: `Invitation for ${email}`,
    body: html`<p>
        ${MAIL_TEXTS[mail]} It is shown only now, works once, and expires after ${INVITATION_HOURS} hours.
      </p>
      ${code({ text: url, id: 'invitation-link', label: 'the invitation link', inline: true })}`,
  });

const pendingInvitations = (request: FastifyRequest, invitations: readonly Invitation[]): Html =>
  html`<h2>Invitations</h2>
    ${table({
      id: 'invitations',
      caption: 'Invitations that were not accepted yet',
      captionHidden: true,
      columns: [{ text: 'Address' }, { text: 'Role' }, { text: 'Expires' }, { text: 'Invited by' }, { text: 'Cancel', hidden: true }],
      rows: invitations.map(({ id, email, role, expiresAt, createdBy }) => [
        email,
        ROLE_TEXTS[role].name,
        time(expiresAt),
        createdBy,
        html`<form method="post" action="${MEMBERS_PATH}/invitations/cancel">
          ${csrfField(request)} ${hiddenField('id', id)} ${button({ text: 'Cancel', kind: 'quiet', hiddenText: `the invitation of ${email}` })}
        </form>`,
      ]),
    })}`;

const invitationForm = ({ request, errors = [], typed }: MembersPage): Html =>
  html`<h2>Invite someone</h2>
    <form method="post" action="${MEMBERS_PATH}/invitations" novalidate>
      ${csrfField(request)}
      ${textField({
        name: 'email',
        label: 'E-mail address',
        type: 'email',
        value: typed?.email,
        required: true,
        autocomplete: 'off',
        spellcheck: false,
        width: 'medium',
        error: errorOf(errors, 'email'),
      })}
      ${selectField({
        name: 'role',
        label: 'Role',
        required: true,
        value: typed?.role ?? 'member',
        choices: ROLE_CHOICES,
        error: errorOf(errors, 'role'),
      })}
      ${button({ text: 'Create invitation', kind: 'primary' })}
    </form>`;
