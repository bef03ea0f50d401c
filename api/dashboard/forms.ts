/** What all forms of the dashboard share. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ValidationFailure } from '../http/errors.ts';
import { hiddenField, textField, type FormError } from '../web/components/index.ts';
import { html, type Html } from '../web/html.ts';

/** The error of a form without a valid token before sign-in. Nothing was changed. */
export const FORM_EXPIRED = 'This page was open for too long, or the browser does not keep cookies. Send the form again.';

/** The hidden field with the CSRF token of a signed-in user. */
export function csrfField({ viewer }: FastifyRequest): Html {
  if (viewer === null) throw new TypeError('csrfField was called before sign-in');
  return hiddenField('_csrf', viewer.csrfToken);
}

/** The field for an e-mail address; by default the one that people sign in with. */
export const emailField = (errors: readonly FormError[], more: Partial<Parameters<typeof textField>[0]>): Html =>
  textField({
    name: 'email',
    label: 'E-mail address',
    type: 'email',
    required: true,
    autocomplete: 'username',
    spellcheck: false,
    error: errorOf(errors, 'email'),
    ...more,
  });

/** The account of a form for a password, for password managers. */
export const usernameField = (email: string): Html =>
  html`<input type="email" name="username" value="${email}" autocomplete="username" hidden />`;

/** What was done before the page: the text that `done` in its address names. */
export function doneOf(request: FastifyRequest, texts: Readonly<Record<string, string>>): string | null {
  const { done } = request.query as { done?: unknown };
  return typeof done === 'string' && Object.hasOwn(texts, done) ? texts[done]! : null;
}

/** The text of the first error of a field. */
export function errorOf(errors: readonly FormError[], field: string): string | undefined {
  return errors.find((error) => error.field === field)?.text;
}

/**
 * The errors of a refused request at the fields of its form: the first of each.
 * @param texts other texts than those of the API, by type of the error
 */
export function formErrors({ items }: ValidationFailure, texts: Readonly<Record<string, string>> = {}): FormError[] {
  const errors = items.map(({ loc, msg, type }) => ({ field: String(loc[1]), text: texts[type] ?? msg }));
  return errors.filter(({ field }, at) => errors.findIndex((error) => error.field === field) === at);
}

/** The error of a form that was sent too often. Also sets `Retry-After`. */
export function mustWait(reply: FastifyReply, seconds: number): FormError {
  reply.header('Retry-After', seconds);
  const [count, unit] = seconds > 90 ? [Math.ceil(seconds / 60), 'minute'] : [seconds, 'second'];
  return { field: null, text: `There were too many attempts. Try again in ${count} ${unit}${count === 1 ? '' : 's'}.` };
}
