/** What all forms of the dashboard share. */
import type { FastifyRequest } from 'fastify';
import { hiddenField, type FormError } from '../web/components/index.ts';
import type { Html } from '../web/html.ts';

/** The error of a form without a valid token before sign-in. Nothing was changed. */
export const FORM_EXPIRED = 'This page was open for too long, or the browser does not keep cookies. Send the form again.';

/** The hidden field with the CSRF token of a signed-in user. */
export function csrfField({ viewer }: FastifyRequest): Html {
  if (viewer === null) throw new TypeError('csrfField was called before sign-in');
  return hiddenField('_csrf', viewer.csrfToken);
}

/** The text of the first error of a field. */
export function errorOf(errors: readonly FormError[], field: string): string | undefined {
  return errors.find((error) => error.field === field)?.text;
}
