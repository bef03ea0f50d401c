/** The page of a user's own account: name, password, sessions. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { LOCALES } from '../../../core/scan/locales.ts';
import { timeZoneOf } from '../../../core/schedule/cron/time-zone.ts';
import { ACCOUNT_PATH, MAILS_PATH } from '../../../core/web-paths.ts';
import type { Session } from '../../../stores/accounts/sessions.ts';
import type { User } from '../../../stores/accounts/users.ts';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { ownLeftPath } from '../../accounts/owner-notices.ts';
import { clearSession, signedInOf } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH, ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import {
  button,
  confirmedForm,
  definitions,
  type FormError,
  link,
  linkButton,
  selectField,
  table,
  textField,
  time,
} from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { recordForUser, shownBrowser } from '../audit.ts';
import { csrfField, doneOf, errorOf, languageField, postForm, signInOf, titledPage } from '../forms.ts';
import { confirmPassword, NEW_PASSWORD, newPasswordErrors, newPasswordField, passwordField, wrongPassword } from '../passwords.ts';
import { RESET_PATH } from '../sign-in/reset-password.ts';
import { continued, startSession } from '../sign-in/start-session.ts';
import { NAME_MAX } from '../names.ts';
import { DELETE_PATH } from './delete.ts';
import { zoneField } from '../schedules/form.ts';
import { guessedReader } from './mails.ts';
import { m, t } from '../../web/texts.ts';

const PATH = ACCOUNT_PATH;
const CONFIG = { permission: null } as const;
const DONE: Readonly<Record<string, string>> = {
  name: m`Your name is changed.`,
  reader: m`Your language and time zone are changed.`,
  password: m`Your password is changed. Your other sessions have ended.`,
};

export const accountPages: FastifyPluginAsync = async (scope) => {
  const { local } = signInOf(scope);
  const { mail } = scope.settings;
  const record = (request: FastifyRequest, action: string, subject: string | null): Promise<void> =>
    recordForUser(request, signedInOf(request).user.email, { action, subject });

  async function show(request: FastifyRequest, reply: FastifyReply, more: { errors?: FormError[]; name?: string; status?: number } = {}) {
    const sessions = await ownStoresOf(request).sessions();
    return reply.page(accountPage({ request, sessions, local, mail, done: doneOf(request, DONE), ...more }), more);
  }

  scope.get(PATH, { config: CONFIG }, (request, reply) => show(request, reply));

  scope.post(`${PATH}/name`, { config: CONFIG }, async (request, reply) => {
    const name = formOf(request.body).text('name');
    if (name.length > NAME_MAX) {
      const errors = [{ field: 'name', text: t`Use at most ${NAME_MAX} characters.` }];
      return show(request, reply, { errors, name, status: 422 });
    }
    await ownStoresOf(request).rename(name === '' ? null : name);
    await record(request, 'user.rename', name === '' ? null : name);
    return reply.redirect(`${PATH}?done=name`, 303);
  });

  scope.post(`${PATH}/reader`, { config: CONFIG }, async (request, reply) => {
    const form = formOf(request.body);
    const locale = LOCALES.find((one) => one === form.text('locale'));
    const timeZone = form.text('time_zone');
    if (locale === undefined || timeZoneOf(timeZone) === null)
      return show(request, reply, { errors: [{ field: 'time_zone', text: t`Choose a language and a time zone.` }], status: 422 });
    await ownStoresOf(request).setReader({ locale, timeZone });
    return reply.redirect(`${PATH}?done=reader`, 303);
  });

  scope.post(`${PATH}/password`, { config: CONFIG }, async (request, reply) => {
    const { user, session, membership } = signedInOf(request);
    const { email } = user;
    const form = formOf(request.body);
    const password = form.exact(NEW_PASSWORD);
    const errors = newPasswordErrors(password, [email, membership?.organisation.displayName ?? '']);
    if (form.exact('password') === '') errors.unshift({ field: 'password', text: t`Enter your current password.` });
    if (errors.length > 0) return show(request, reply, { errors, status: 422 });
    const confirmed = await confirmPassword(request, reply, form.exact('password'));
    if (!confirmed.ok) return show(request, reply, { errors: [confirmed.error], status: confirmed.status });
    const changed = await ownStoresOf(request).changePassword(confirmed.user, password);
    // The password was changed a moment ago: the earlier one must not replace the new one.
    if (changed === null) return show(request, reply, { errors: [wrongPassword()], status: 422 });
    await record(request, 'user.password', email);
    // The new password ended this session too.
    await startSession({ request, reply }, changed, { ...continued(session), organisation: membership?.organisation.id });
    return reply.redirect(`${(await ownLeftPath(request, email)) ?? PATH}?done=password`, 303);
  });

  scope.post(`${PATH}/sign-out-everywhere`, { config: CONFIG }, async (request, reply) => {
    await ownStoresOf(request).endSessions();
    const { email } = signedInOf(request).user;
    await record(request, 'user.sign-out-everywhere', email);
    clearSession(reply);
    const next = await ownLeftPath(request, email);
    return reply.redirect(`/dashboard/sign-in?signedOut${next === null ? '' : `&next=${encodeURIComponent(next)}`}`, 303);
  });
};

interface AccountPage {
  request: FastifyRequest;
  sessions: readonly Session[];
  local: boolean;
  mail: boolean;
  errors?: readonly FormError[];
  /** What was typed as the name. */
  name?: string;
  done: string | null;
}

function accountPage({ request, sessions, local, mail, errors = [], done, ...more }: AccountPage): Html {
  const { user, session, membership } = signedInOf(request);
  const { name = user.name ?? '' } = more;
  const nameField = { name: 'name', label: t`Name`, hint: t`Other members see it.`, autocomplete: 'name', width: 'medium' } as const;
  return titledPage({
    request,
    title: t`Account`,
    active: 'account',
    errors,
    done,
    body: html`${definitions([
      [t`E-mail address`, addressText(user, local && mail)],
      [t`Organisation`, html`${membership?.organisation.displayName ?? t`None`} (${link(t`switch, join or leave`, ORGANISATIONS_PATH)})`],
    ])}
      <h2>${t`Name`}</h2>
      ${postForm(request, `${PATH}/name`, html`${textField({ ...nameField, value: name, error: errorOf(errors, 'name') })} ${button({ text: t`Save name` })}`)}
      ${readerForm(request, errors)}
      ${local && user.hasPassword && html`${passwordForm(request, errors)} ${factorPart()}`} ${sessionList(request, sessions, session)}
      <h2>${t`Delete the account`}</h2>
      <p>${linkButton({ text: t`Delete the account`, href: DELETE_PATH })}</p>`,
  });
}

function readerForm(request: FastifyRequest, errors: readonly FormError[]): Html {
  const { locale, timeZone } = guessedReader(request);
  const zone = {
    ...zoneField(timeZone, errorOf(errors, 'time_zone')),
    attributes: { 'data-zone': signedInOf(request).user.timeZone === null },
  };
  return html`<h2>${t`Mails, language and time zone`}</h2>
    <p>${link(t`Choose which mails you get`, MAILS_PATH)}</p>
    ${postForm(request, `${PATH}/reader`, html`${languageField(locale)} ${selectField(zone)} ${button({ text: t`Save language and time zone` })}`)}`;
}

const passwordForm = (request: FastifyRequest, errors: readonly FormError[]): Html =>
  html`<h2>${t`Password`}</h2>
    ${postForm(
      request,
      `${PATH}/password`,
      html`${passwordField({ name: 'password', label: t`Current password`, autocomplete: 'current-password', error: errorOf(errors, 'password') })}
      ${newPasswordField(errors)} ${button({ text: t`Change password` })}`,
    )}`;

const factorPart = (): Html =>
  html`<h2>${t`Second factor`}</h2>
    <p>${t`Passkeys, an authenticator app and recovery codes protect your account if someone learns your password.`}</p>
    <p>${linkButton({ text: t`Manage your second factors`, href: FACTORS_PATH })}</p>`;

/** @param mailed whether the person can verify the address by a mail */
function addressText({ email, verified, hasPassword }: User, mailed: boolean): HtmlValue {
  if (verified) return email;
  const how =
    mailed && hasPassword
      ? t`${link(t`Set a new password by mail`, RESET_PATH)} to verify it.`
      : t`A sign-in at the identity provider verifies it.`;
  return html`${email}<br /><span class="soft">${t`Not verified: the service does not know whether this address is yours. ${how}`}</span>`;
}

function sessionList(request: FastifyRequest, sessions: readonly Session[], current: Session): Html {
  return html`<h2>${t`Sessions`}</h2>
    ${table({
      id: 'sessions',
      caption: t`Where you are signed in`,
      captionHidden: true,
      columns: [{ text: t`Browser` }, { text: t`Signed in` }, { text: t`Last used` }],
      rows: sessions.map(({ id, browser, createdAt, lastSeenAt }) => [
        html`${shownBrowser(browser)}${id === current.id && t` (this one)`}`,
        time(createdAt),
        time(lastSeenAt),
      ]),
    })}
    ${confirmedForm({
      id: 'sign-out-everywhere',
      action: `${PATH}/sign-out-everywhere`,
      fields: csrfField(request),
      trigger: { text: t`Sign out everywhere` },
      title: t`Sign out everywhere?`,
      text: t`All your sessions end at once, also this one. API keys, webhooks and schedules stay: the page after the next sign-in lists them.`,
      confirm: t`Sign out everywhere`,
      cancel: t`Cancel`,
    })}`;
}
