/** What all forms of the dashboard share, and the frame of most pages. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { validationTextForUsers } from '../../core/validation-texts.ts';
import type { ValidationItem } from '../http/errors.ts';
import {
  actions,
  breadcrumb,
  button,
  errorSummary,
  type FormError,
  hiddenField,
  linkButton,
  notice,
  selectField,
  textField,
  titleWithErrors,
} from '../web/components.ts';
import { html, type Html, type HtmlValue } from '../../report/html/html.ts';
import { DEFAULT_LOCALE, LOCALES } from '../../core/scan/locales.ts';
import { wordsIn } from '../../report/words/words.ts';
import { isUuid, uuidOf } from '../../core/uuid.ts';
import { callerOf } from '../http/plugins/auth.ts';
import type { Form } from '../web/html-scope.ts';
import { dashboardPage, type DashboardPageOptions } from '../web/layout.ts';
import { currentLocale } from '../../report/words/current.ts';
import { count, english, forms, t, tr } from '../web/texts.ts';

/** The error of a form without a valid token before sign-in. Nothing was changed. */
export const FORM_EXPIRED = (): string => t`This page was open for too long, or the browser does not keep cookies. Send the form again.`;

/** The error of a form with a password where the identity provider alone signs people in. */
export const PASSWORDS_OFF = (): string => t`Passwords are turned off; sign in with the identity provider.`;

/** For pages of an installation without mail. */
export const noMail = (): string => t`This service does not send mail.`;

/** The hidden field with the CSRF token of a signed-in user. */
export function csrfField({ viewer }: FastifyRequest): Html {
  if (viewer === null) throw new TypeError('csrfField was called before sign-in');
  return hiddenField('_csrf', viewer.csrfToken);
}

/** A form with the token of the session. @param fields hidden ones, by name */
export const postForm = (request: FastifyRequest, action: string, body: HtmlValue, fields: Readonly<Record<string, string>> = {}): Html =>
  html`<form method="post" action="${action}" novalidate>
    ${csrfField(request)}${Object.entries(fields).map(([name, value]) => hiddenField(name, value))} ${body}
  </form>`;

/** Asks before something ends for good. @param options.keep the page that the other way leads to */
export const endForm = (request: FastifyRequest, { action, text, keep }: { action: string; text: string; keep: string }): Html =>
  postForm(request, action, actions(button({ text, kind: 'danger' }), linkButton({ text: t`Keep it`, href: keep, kind: 'quiet' })));

/** The field for an e-mail address; by default the one that people sign in with. */
export const emailField = (errors: readonly FormError[], more: Partial<Parameters<typeof textField>[0]>): Html =>
  textField({
    name: 'email',
    label: t`E-mail address`,
    type: 'email',
    required: true,
    autocomplete: 'username',
    spellcheck: false,
    error: errorOf(errors, 'email'),
    ...more,
  });

/** The error of a field that has no e-mail address. */
export const wrongEmail = (): string => t`Enter an e-mail address such as name@example.com.`;

/** The field for the language in which a person reads. */
export const languageField = (value: string): Html =>
  selectField({
    name: 'locale',
    label: t`Language`,
    required: true,
    value,
    choices: LOCALES.map((one) => ({ value: one, text: wordsIn(one, 'site').texts.name, lang: one })),
  });

/** The account of a form for a password, for password managers. */
export const usernameField = (email: string): Html =>
  html`<input type="email" name="username" value="${email}" autocomplete="username" hidden />`;

/** What was done before the page: the text that `done` in its address names. */
export function doneOf(request: FastifyRequest, texts: Readonly<Record<string, string>>): string | null {
  const { done } = request.query as { done?: unknown };
  return typeof done === 'string' && Object.hasOwn(texts, done) ? tr(texts[done]!) : null;
}

/** The text of the first error of a field. */
export function errorOf(errors: readonly FormError[], field: string): HtmlValue {
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
    if (field === undefined) return { field: null, text: english(item.msg) };
    const { label, enter, texts = {} } = field;
    const own = texts[item.type] ?? (path.length === 0 && NOT_ENTERED.has(item.type) ? enter : undefined);
    return { field: String(name), text: own === undefined ? apiText(subjectOf(tr(label), path), item) : tr(own) };
  });
}

/** What the API says about a field, with its name in the form. */
function apiText(subject: string, item: ValidationItem): HtmlValue {
  const said = validationTextForUsers('', item)?.trim();
  if (said === undefined) return english(item.msg);
  return currentLocale() === DEFAULT_LOCALE ? `${subject} ${said}` : html`${subject}: ${english(said)}`;
}

/** `Steps before the pages (item 1, press)`. */
function subjectOf(label: string, path: readonly (string | number)[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? t`item ${part + 1}` : part));
  return parts.length === 0 ? label : `${label} (${parts.join(', ')})`;
}

const MINUTES = forms('There were too many attempts. Try again in {n} minute.', 'There were too many attempts. Try again in {n} minutes.');
const SECONDS = forms('There were too many attempts. Try again in {n} second.', 'There were too many attempts. Try again in {n} seconds.');

/** The error of a form that was sent too often. Also sets `Retry-After`. */
export function mustWait(reply: FastifyReply, seconds: number): FormError {
  reply.header('Retry-After', seconds);
  const text = seconds > 90 ? count(MINUTES, Math.ceil(seconds / 60)) : count(SECONDS, seconds);
  return { field: null, text };
}

/** The ID of a form that was sent; a new one if it has none. */
export function formIdOf(form: Form): string {
  const id = form.text('form_id');
  return isUuid(id) ? id : randomUUID();
}

/** The ID of what a form creates. It depends on the user, so that a form cannot name what another user has created. */
export function idOfForm(request: FastifyRequest, formId: string): string {
  const { organisation, actor } = callerOf(request);
  const owner = actor.kind === 'user' ? actor.email : actor.keyId;
  return uuidOf(`${organisation.id}/${owner}/${formId}`);
}

interface TitledPage extends DashboardPageOptions {
  /** The pages above it. */
  trail?: readonly { text: string; href: string }[];
  errors?: readonly FormError[];
  /** What the person did a moment ago. */
  done?: HtmlValue | null;
  /** Whether the lines are short, as of a form. */
  narrow?: boolean;
}

/** A page whose heading is its title. The body follows the heading. */
export function titledPage({ trail = [], errors = [], done, narrow = false, body, ...page }: TitledPage): Html {
  const content = html`${trail.length > 0 && breadcrumb([...trail.map(({ text, href }) => ({ text: tr(text), href })), { text: page.title }])} ${errorSummary(errors)}
    <h1>${page.title}</h1>
    ${done && notice({ kind: 'good', body: done, announce: true })} ${body}`;
  return dashboardPage({
    ...page,
    title: titleWithErrors(page.title, errors),
    body: narrow ? html`<div class="narrow">${content}</div>` : content,
  });
}

/** A page of one column before sign-in. */
export function plainPage(
  request: FastifyRequest,
  title: string,
  errors: readonly FormError[],
  body: HtmlValue,
  scripts: readonly string[] = [],
): Html {
  return titledPage({ request, title, active: null, errors, narrow: true, body, scripts });
}

/** A link that does not work any more: why, and what to do. */
export const linkEnded = (request: FastifyRequest, title: string, text: string, action: Html): Html =>
  plainPage(request, title, [], html`<p class="lead">${text}</p>${action}`);

/** How users sign in: the text of the button that leads to the identity provider, if there is one, and whether passwords are accepted. */
export function signInOf({ settings: { identityProvider } }: FastifyInstance): { provider: string | null; local: boolean } {
  if (identityProvider === null) return { provider: null, local: true };
  return { provider: t`Sign in with ${identityProvider.name}`, local: identityProvider.localPasswords };
}
