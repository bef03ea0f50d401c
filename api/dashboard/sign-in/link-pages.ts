/** The pages behind links of mails: accepting an invitation, and setting a new password. */
import type { FastifyRequest } from 'fastify';
import { button, definitions, hiddenField, linkButton, notice, textField, type FormError } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { errorOf, usernameField, emailField } from '../forms.ts';
import { newPasswordField } from '../passwords.ts';
import { ROLE_TEXTS } from '../roles.ts';
import { plainPage } from './page.ts';
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { User } from '../../../stores/accounts/users.ts';
import { ownPath } from '../../accounts/sessions/own-path.ts';
import type { InvitationWay } from './invitation-way.ts';

interface LinkPage {
  request: FastifyRequest;
  csrfToken: string;
  errors?: readonly FormError[];
}

/** A link that does not work any more: why, and what to do. */
export const linkEnded = (request: FastifyRequest, title: string, text: string, action: Html): Html =>
  plainPage(request, title, [], html`<p class="lead">${text}</p>${action}`);

interface InvitationPage extends LinkPage {
  invitation: Invitation;
  organisationName: string;
  way: InvitationWay;
  /** The account that is signed in in this browser. */
  signedIn: Pick<User, 'email'> | null;
  /** What was typed. */
  name?: string;
  provider: string | null;
  local: boolean;
}

export function invitationPage(options: InvitationPage): Html {
  const { request, invitation, organisationName, errors = [] } = options;
  return plainPage(
    request,
    `Join ${organisationName}`,
    errors,
    html`<p class="lead">${invitation.createdBy} invites you to ${organisationName} on Curbcut.</p>
      ${definitions([
        ['E-mail address', invitation.email],
        ['Role', `${ROLE_TEXTS[invitation.role].name}: ${ROLE_TEXTS[invitation.role].may}`],
      ])}
      ${wayToJoin(options)}`,
  );
}

function wayToJoin(options: InvitationPage): Html {
  const { request, csrfToken, signedIn, provider, local } = options;
  const next = encodeURIComponent(ownPath(request.url));
  const atProvider = (kind: 'primary' | 'secondary'): Html | false =>
    provider !== null && html`<p>${linkButton({ text: provider, href: `/dashboard/sign-in/oidc?next=${next}`, kind })}</p>`;
  switch (options.way) {
    case 'join':
      return html`<form method="post">${hiddenField('_csrf', csrfToken)} ${button({ text: 'Join', kind: 'primary' })}</form>`;
    case 'new_password':
      return html`${local && newPasswordForm(options)} ${atProvider(local ? 'secondary' : 'primary')}`;
    case 'sign_in':
      return html`<p>This address has an account. Sign in, and then join.</p>
        ${local && html`<p>${linkButton({ text: 'Sign in with your password', href: `/dashboard/sign-in?next=${next}`, kind: 'primary' })}</p>`}
        ${atProvider(local ? 'secondary' : 'primary')}`;
    case 'other_account':
      return html`${notice({
        kind: 'warn',
        title: 'You are signed in with another address',
        body: html`You are signed in as ${signedIn?.email}, and the invitation is for another address. Sign out, and then open the link again.`,
      })}
        <form method="post" action="/dashboard/sign-out">${hiddenField('_csrf', csrfToken)} ${button({ text: 'Sign out' })}</form>`;
  }
}

const newPasswordForm = ({ csrfToken, invitation, name, errors = [] }: InvitationPage): Html =>
  html`<form method="post" novalidate>
    ${hiddenField('_csrf', csrfToken)}
    ${usernameField(invitation.email)}
    ${textField({ name: 'name', label: 'Your name', value: name, autocomplete: 'name', error: errorOf(errors, 'name') })}
    ${newPasswordField(errors)} ${button({ text: 'Join', kind: 'primary' })}
  </form>`;

/** @param options.mail whether this service sends mail @param options.sent the address that was entered. The page must not reveal whether it has an account, and so gets a link */
export function resetRequestPage(options: LinkPage & { email?: string; mail: boolean; sent?: string }): Html {
  const { request, csrfToken, errors = [], email, mail, sent } = options;
  if (!mail)
    return plainPage(
      request,
      'Forgotten password',
      [],
      html`<p class="lead">This service does not send mail.</p>
        <p>Ask the administrator of this service to set a new password.</p>
        <p>${linkButton({ text: 'Back to sign-in', href: '/dashboard/sign-in' })}</p>`,
    );
  if (sent !== undefined)
    return plainPage(
      request,
      'Check your mail',
      [],
      html`${notice({
        kind: 'good',
        announce: true,
        body: html`If ${sent} has an account with a password, we try to send it a link to set a new one, at most three times in an hour. The link works once, for one hour.`,
      })}
      <p>If no mail arrives within a few minutes, look into the folder for spam. Mail servers also refuse some addresses and senders: then ask an owner of your organisation for help.</p>
      <p>${linkButton({ text: 'Back to sign-in', href: '/dashboard/sign-in' })}</p>`,
    );
  return plainPage(
    request,
    'Forgotten password',
    errors,
    html`<p class="lead">Enter your e-mail address. If it has an account with a password, we send a link to set a new one.</p>
      <form method="post" action="/dashboard/reset-password" novalidate>
        ${hiddenField('_csrf', csrfToken)}
        ${emailField(errors, { value: email })}
        ${button({ text: 'Send link', kind: 'primary' })}
      </form>`,
  );
}

export const newPasswordPage = ({ request, csrfToken, email, errors = [] }: LinkPage & { email: string }): Html =>
  plainPage(
    request,
    'Set a new password',
    errors,
    html`<p class="lead">For ${email}. All your sessions end.</p>
      <form method="post" novalidate>
        ${hiddenField('_csrf', csrfToken)}
        ${usernameField(email)}
        ${newPasswordField(errors)} ${button({ text: 'Set password', kind: 'primary' })}
      </form>`,
  );
