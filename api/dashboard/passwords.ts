/** Forms that set a new password, or ask a signed-in user for the current one. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PASSWORD_MIN_CHARACTERS, PASSWORD_PROBLEMS, passwordProblem } from '../../core/passwords.ts';
import { button, type FormError, textField } from '../web/components.ts';
import { type Html, html, type HtmlValue } from '../../report/html/html.ts';
import type { VerifiedUser } from '../../stores/accounts/users.ts';
import { ownStoresOf } from '../accounts/scoped-stores.ts';
import { signedInOf } from '../accounts/sessions/plugin.ts';
import { confirmationRule } from '../accounts/sessions/sign-in-limits.ts';
import { recordSignInFailure } from './audit.ts';
import { errorOf, mustWait } from './forms.ts';
import { t, tr } from '../web/texts.ts';

/** The name of the field. */
export const NEW_PASSWORD = 'new-password';

/** The field for a new password, with its rules. */
export function newPasswordField(errors: readonly FormError[]): Html {
  return passwordField({
    name: NEW_PASSWORD,
    label: t`New password`,
    autocomplete: 'new-password',
    hint: t`At least ${PASSWORD_MIN_CHARACTERS} characters of any kind. Several words that do not belong together are easy to remember.`,
    error: errorOf(errors, NEW_PASSWORD),
  });
}

/** The error of a new password. @param known values that others expect, such as the address and the organisation's name */
export function newPasswordErrors(password: string, known: readonly string[]): FormError[] {
  if (password === '') return [{ field: NEW_PASSWORD, text: t`Enter a new password.` }];
  const problem = passwordProblem(password, { known });
  return problem === null ? [] : [{ field: NEW_PASSWORD, text: tr(PASSWORD_PROBLEMS[problem]) }];
}

export const wrongPassword = (): FormError => ({ field: 'password', text: t`This is not your current password.` });

type Confirmed = { ok: true; user: VerifiedUser } | { ok: false; error: FormError; status: number };

/**
 * Checks the password of the signed-in user. A refusal is recorded like that of a sign-in, and the attempts of an account count
 * together, because the thief of a session can use any number of networks.
 */
export async function confirmPassword(request: FastifyRequest, reply: FastifyReply, password: string): Promise<Confirmed> {
  const { email } = signedInOf(request).user;
  const decision = await request.server.stores.rateLimits.admit([confirmationRule(email)]);
  if (!decision.ok) return { ok: false, error: mustWait(reply, decision.retryAfterSeconds), status: 429 };
  const user = await ownStoresOf(request).verify(password);
  if (user !== null) return { ok: true, user };
  recordSignInFailure(request, email);
  return { ok: false, error: wrongPassword(), status: 422 };
}

interface PasswordFieldOptions {
  name: string;
  label: string;
  autocomplete: 'current-password' | 'new-password';
  hint?: string;
  error?: HtmlValue;
}

/** A password field with a button that shows what was typed. The button needs scripts. */
export function passwordField({ name, label, autocomplete, hint, error }: PasswordFieldOptions): Html {
  return html`<div class="password">
    ${textField({ name, label, type: 'password', required: true, autocomplete, spellcheck: false, hint, error })}
    ${button({
      text: t`Show password`,
      type: 'button',
      kind: 'quiet',
      attributes: { hidden: true, 'data-show-password': name, 'data-hide-text': t`Hide password` },
    })}
  </div>`;
}
