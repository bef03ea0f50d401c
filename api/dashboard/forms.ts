/** What all forms of the dashboard share. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { validationTextForPeople } from '../../core/validation-texts.ts';
import type { ValidationItem } from '../http/errors.ts';
import { hiddenField, textField, type FormError } from '../web/components/index.ts';
import { html, type Html } from '../web/html.ts';

/** The error of a form without a valid token before sign-in. Nothing was changed. */
export const FORM_EXPIRED = 'This page was open for too long, or the browser does not keep cookies. Send the form again.';

/** The error of a form with a password where the identity provider alone signs people in. */
export const PASSWORDS_OFF = 'Passwords are turned off; sign in with the identity provider.';

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

/** What a form calls a field of a request. */
export interface FormField {
  label: string;
  /** What to enter: the error of a value that is missing, or that is of another kind. */
  enter?: string;
  /** Other texts than those of the API, by type of the error. */
  texts?: Readonly<Partial<Record<ValidationItem['type'], string>>>;
}
export type FormFields = Readonly<Record<string, FormField>>;

const NOT_ENTERED: ReadonlySet<ValidationItem['type']> = new Set([
  'missing_field',
  'type.integer',
  'array.min_items',
  'string.min_length',
  'string.pattern',
  'string.uri',
  'string.date_time',
]);

/** The errors of a refused request at the fields of its form, in the words of the form. */
export function formErrors(items: readonly ValidationItem[], fields: FormFields): FormError[] {
  return items.map((item) => {
    const [, name, ...path] = item.loc;
    const field = fields[String(name)];
    if (field === undefined) return { field: null, text: item.msg };
    const { label, enter, texts = {} } = field;
    const own = texts[item.type] ?? (path.length === 0 && NOT_ENTERED.has(item.type) ? enter : undefined);
    return { field: String(name), text: own ?? validationTextForPeople(subjectOf(label, path), item) ?? item.msg };
  });
}

/** `Steps before the pages (item 1, press)`. */
function subjectOf(label: string, path: readonly (string | number)[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? `item ${part + 1}` : part));
  return parts.length === 0 ? label : `${label} (${parts.join(', ')})`;
}

/** The error of a form that was sent too often. Also sets `Retry-After`. */
export function mustWait(reply: FastifyReply, seconds: number): FormError {
  reply.header('Retry-After', seconds);
  const [count, unit] = seconds > 90 ? [Math.ceil(seconds / 60), 'minute'] : [seconds, 'second'];
  return { field: null, text: `There were too many attempts. Try again in ${count} ${unit}${count === 1 ? '' : 's'}.` };
}
