/** The sign-in page. */
import type { FastifyRequest } from 'fastify';
import { button, hiddenField, link, linkButton, notice, textField, type FormError } from '../../web/components/index.ts';
import { html, type Html, type HtmlValue } from '../../web/html.ts';
import { errorOf, emailField } from '../forms.ts';
import { titledPage } from '../titled-page.ts';

export interface SignInPage {
  request: FastifyRequest;
  csrfToken: string;
  /** Where to go afterwards. */
  next: string;
  /** What was typed. */
  email?: string;
  errors?: readonly FormError[];
  /** Why the page is shown. */
  message?: Html | null;
  /** The text of the button that leads to the identity provider; null if there is none. */
  provider: string | null;
  /** Whether passwords are accepted. */
  local: boolean;
  /** Whether people can sign in with a passkey. */
  passkeys: boolean;
  /** Whether browsers keep the session's cookie. */
  usable: boolean;
}

/** A page of one column before sign-in. */
export function plainPage(
  request: FastifyRequest,
  title: string,
  errors: readonly FormError[],
  body: HtmlValue,
  scripts: readonly string[] = [],
): Html {
  return titledPage({ request, title, active: null, errors, narrow: true, body, scripts: ['show-password.js', ...scripts] });
}

export function signInPage(options: SignInPage): Html {
  const { request, next, errors = [], provider, local, passkeys, usable, message } = options;
  const title = 'Sign in';
  return plainPage(
    request,
    title,
    errors,
    html`${message}
      ${
        !usable &&
        notice({
          kind: 'warn',
          title: 'Sign-in needs HTTPS',
          body: 'The public address of this service starts with http://, so browsers do not keep the session. Set PUBLIC_BASE_URL to an https address.',
        })
      }
      ${local && passwordForm(options)}
      ${passkeys && html`<p>${linkButton({ text: 'Sign in with a passkey', href: `/dashboard/sign-in/passkey?next=${encodeURIComponent(next)}` })}</p>`}
      ${provider !== null && html`<p>${linkButton({ text: provider, href: `/dashboard/sign-in/oidc?next=${encodeURIComponent(next)}` })}</p>`}`,
  );
}

const passwordForm = ({ csrfToken, next, email, errors = [] }: SignInPage): Html =>
  html`<form method="post" action="/dashboard/sign-in" novalidate>
      ${hiddenField('_csrf', csrfToken)} ${hiddenField('next', next)}
      ${emailField(errors, { value: email })}
      ${passwordField({ name: 'password', label: 'Password', autocomplete: 'current-password', error: errorOf(errors, 'password') })}
      ${button({ text: 'Sign in', kind: 'primary' })}
    </form>
    <p>${link('Forgot your password?', '/dashboard/reset-password')}</p>`;

interface PasswordFieldOptions {
  name: string;
  label: string;
  autocomplete: 'current-password' | 'new-password';
  hint?: string;
  error?: string;
}

/** A password field with a button that shows what was typed. The button needs scripts. */
export function passwordField({ name, label, autocomplete, hint, error }: PasswordFieldOptions): Html {
  return html`<div class="password">
    ${textField({ name, label, type: 'password', required: true, autocomplete, spellcheck: false, hint, error })}
    ${button({
      text: 'Show password',
      type: 'button',
      kind: 'quiet',
      attributes: { hidden: true, 'data-show-password': name, 'data-hide-text': 'Hide password' },
    })}
  </div>`;
}
