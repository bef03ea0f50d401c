/** The page of the members of an organisation. */
import type { FastifyRequest } from 'fastify';
import type { Role } from '../../../core/accounts.ts';
import { INVITATION_HOURS, type Invitation } from '../../../stores/accounts/invitations.ts';
import type { Member } from '../../../stores/accounts/users.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import {
  button,
  code,
  confirmedForm,
  hiddenField,
  link,
  notice,
  selectField,
  table,
  time,
  visuallyHidden,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../../web/html.ts';
import { csrfField, errorOf, emailField } from '../forms.ts';
import { ROLE_CHOICES, ROLE_TEXTS } from '../roles.ts';
import { titledPage } from '../titled-page.ts';

export const MEMBERS_PATH = '/dashboard/settings/members';

export interface MembersPage {
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

export function membersPage(options: MembersPage): Html {
  const { request, members, invitations, errors = [], invited, done } = options;
  return titledPage({
    request,
    title: 'Members',
    active: 'members',
    errors,
    done,
    body: html`${invited && invitationLink(invited)}
      ${table({
        id: 'members',
        caption: 'Members',
        captionHidden: true,
        columns: [{ text: 'Member' }, { text: 'Role', wide: true }, { text: 'Last sign-in' }, { text: 'Remove', hidden: true }],
        rows: members.map((member, at) => memberRow(request, member, at)),
      })}
      ${invitations.length > 0 && pendingInvitations(request, invitations)} ${invitationForm(options)}`,
  });
}

function memberRow(request: FastifyRequest, user: Member, at: number): readonly (HtmlValue | string)[] {
  const self = user.email === request.viewer!.email;
  // What the owner of the address does elsewhere is no concern of this organisation until the owner confirms the membership.
  const [name, lastSignInAt] = user.confirmed ? [user.name, user.lastSignInAt] : [null, null];
  const who = html`${name ?? user.email}${self && ' (you)'}${name !== null && html`<br /><span class="soft">${user.email}</span>`}${
    !user.confirmed && html`<br /><span class="soft">Has no access until the owner of the address confirms the membership</span>`
  }`;
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
  if (self) return [who, role, signInText(lastSignInAt), link('Leave', ORGANISATIONS_PATH)];
  const remove = confirmedForm({
    id: `remove-${at + 1}`,
    action: `${MEMBERS_PATH}/remove`,
    fields: html`${csrfField(request)}${hiddenField('email', user.email)}`,
    trigger: { text: 'Remove', kind: 'quiet', hiddenText: user.email },
    title: `Remove ${user.email}?`,
    text: 'The member is signed out at once and loses access, and what the member invited is canceled. API keys keep working.',
    confirm: 'Remove',
    cancel: 'Cancel',
  });
  return [who, role, signInText(lastSignInAt), remove];
}

const signInText = (at: Date | null): HtmlValue => (at === null ? 'Never' : time(at));

const invitationLink = ({ email, url }: NonNullable<MembersPage['invited']>): Html =>
  url === null
    ? notice({
        kind: 'warn',
        announce: true,
        title: `${email} was invited a moment ago`,
        body: 'Another request created the invitation at the same time, for example a double click. If you miss its link, cancel the invitation and create a new one.',
      })
    : notice({
        kind: 'warn',
        announce: true,
        title: `Invitation for ${email}`,
        body: html`<p>
            This service does not send mail, so give this link only to the person whom you invite: anyone who opens it can join with this
            address. It is shown only now, works once, and expires after ${INVITATION_HOURS} hours.
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
      ${emailField(errors, { value: typed?.email, autocomplete: 'off', width: 'medium' })}
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
