/** Sets a forgotten password by a link in a mail. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { isEmailAddress, mailboxOf } from '../../../core/email-address.ts';
import type { LimitSize } from '../../http/rate-limits.ts';
import { ownLeftPath } from '../../accounts/owner-notices.ts';
import { csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { button, type FormError, hiddenField, linkButton, notice } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { emailField, FORM_EXPIRED, linkEnded, mustWait, noMail, plainPage, usernameField, wrongEmail } from '../forms.ts';
import { NEW_PASSWORD, newPasswordErrors, newPasswordField } from '../passwords.ts';
import { recordForUser } from '../audit.ts';
import { afterPassword } from '../second-factor/sign-in.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { t } from '../../web/texts.ts';

export const RESET_PATH = '/dashboard/reset-password';
const LIMITED = { config: { network: 'links' } } as const;
/** Mails to one mailbox. */
export const RESET_LIMIT: LimitSize = { limit: 3, windowSeconds: 3600 };
/** Longer than the work for an account usually takes, so that the time of the answer does not reveal one. */
const ANSWER_AFTER_MS = 300;

export const resetRoutes: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const { mail } = scope.settings;
  /** Sends the link, if the address has an account and did not get too many. */
  async function sendLink(email: string): Promise<void> {
    const allowed = await stores.rateLimits.admit([{ policy: 'reset-account', subject: mailboxOf(email), ...RESET_LIMIT }]);
    const reset = allowed.ok ? await stores.passwordResets.create(email) : null;
    if (reset === null) return;
    const { id, token, expiresAt } = reset;
    const url = `${scope.web.publicBaseUrl}${RESET_PATH}/${token}`;
    await stores.outbox.enqueue({
      id: `password-reset:${id}`,
      kind: 'password_reset',
      to: email,
      data: { url, expiresAt: expiresAt.toISOString() },
    });
  }

  scope.addHook('preHandler', async (request) => void (await scope.readSession(request)));

  scope.get(RESET_PATH, async (request, reply) => {
    return reply.page(resetRequestPage({ request, csrfToken: csrfToken(request, reply), mail }));
  });

  scope.post(RESET_PATH, async (request, reply) => {
    const email = formOf(request.body).text('email').toLowerCase();
    const refuse = (error: FormError, status = 422) =>
      reply.page(resetRequestPage({ request, csrfToken: csrfToken(request, reply), mail, email, errors: [error] }), { status });
    if (!hasCsrfToken(request)) return refuse({ field: 'email', text: FORM_EXPIRED() }, 403);
    if (!mail) return reply.page(resetRequestPage({ request, csrfToken: '', mail }), { status: 403 });
    if (!isEmailAddress(email)) return refuse({ field: 'email', text: wrongEmail() });
    const decision = scope.networkLimits.admit('reset-address', request.address);
    if (!decision.ok) return refuse(mustWait(reply, decision.retryAfterSeconds), 429);
    await Promise.all([sendLink(email), new Promise((resolve) => setTimeout(resolve, ANSWER_AFTER_MS))]);
    return reply.page(resetRequestPage({ request, csrfToken: csrfToken(request, reply), mail, sent: email }));
  });

  scope.get<{ Params: { token: string } }>(`${RESET_PATH}/:token`, LIMITED, async (request, reply) => {
    const reset = await stores.passwordResets.find(request.params.token);
    if (reset === null) return reply.page(ended(request), { status: 404 });
    return reply.page(newPasswordPage({ request, csrfToken: csrfToken(request, reply), email: reset.email }));
  });

  scope.post<{ Params: { token: string } }>(`${RESET_PATH}/:token`, LIMITED, async (request, reply) => {
    const reset = await stores.passwordResets.find(request.params.token);
    if (reset === null) return reply.page(ended(request), { status: 404 });
    const { email } = reset;
    const refuse = (errors: FormError[], status = 422) =>
      reply.page(newPasswordPage({ request, csrfToken: csrfToken(request, reply), email, errors }), { status });
    if (!hasCsrfToken(request)) return refuse([{ field: NEW_PASSWORD, text: FORM_EXPIRED() }], 403);
    const password = formOf(request.body).exact(NEW_PASSWORD);
    const errors = newPasswordErrors(password, [email]);
    if (errors.length > 0) return refuse(errors);
    const user = await stores.passwordResets.use(request.params.token, password);
    if (user === null) return reply.page(ended(request), { status: 404 });
    await recordForUser(request, email, { action: 'user.reset-password', subject: email });
    // The link proves the mailbox only.
    const path = await afterPassword({ request, reply }, user, {
      next: (await ownLeftPath(request, email)) ?? '/dashboard',
      mailed: !user.verified,
    });
    return reply.redirect(path ?? '/dashboard', 303);
  });
};

const ended = (request: Parameters<typeof linkEnded>[0]) =>
  linkEnded(
    request,
    t`This link does not work any more`,
    t`It was used, it is older than one hour, or there is a newer one. Ask for a new link.`,
    linkButton({ text: t`Get a new link`, href: RESET_PATH }),
  );

interface LinkPage {
  request: FastifyRequest;
  csrfToken: string;
  errors?: readonly FormError[];
}

/** @param options.mail whether this service sends mail @param options.sent the address that was entered. The page must not reveal whether it has an account, and so gets a link */
function resetRequestPage(options: LinkPage & { email?: string; mail: boolean; sent?: string }): Html {
  const { request, csrfToken, errors = [], email, mail, sent } = options;
  if (!mail)
    return plainPage(
      request,
      t`Forgotten password`,
      [],
      html`<p class="lead">${noMail()}</p>
        <p>${t`Ask the administrator of this service to set a new password.`}</p>
        <p>${linkButton({ text: t`Back to sign-in`, href: '/dashboard/sign-in' })}</p>`,
    );
  if (sent !== undefined)
    return plainPage(
      request,
      t`Check your mail`,
      [],
      html`${notice({
        kind: 'good',
        announce: true,
        body: t`If ${sent} has an account with a password, we try to send it a link to set a new one, at most three times in an hour. The link works once, for one hour.`,
      })}
      <p>${t`If no mail arrives within a few minutes, look into the folder for spam. Mail servers also refuse some addresses and senders: then ask an owner of your organisation for help.`}</p>
      <p>${linkButton({ text: t`Back to sign-in`, href: '/dashboard/sign-in' })}</p>`,
    );
  return plainPage(
    request,
    t`Forgotten password`,
    errors,
    html`<p class="lead">${t`Enter your e-mail address. If it has an account with a password, we send a link to set a new one.`}</p>
      <form method="post" action="/dashboard/reset-password" novalidate>
        ${hiddenField('_csrf', csrfToken)}
        ${emailField(errors, { value: email })}
        ${button({ text: t`Send link`, kind: 'primary' })}
      </form>`,
  );
}

const newPasswordPage = ({ request, csrfToken, email, errors = [] }: LinkPage & { email: string }): Html =>
  plainPage(
    request,
    t`Set a new password`,
    errors,
    html`<p class="lead">${t`For ${email}. All your sessions end.`}</p>
      <form method="post" novalidate>
        ${hiddenField('_csrf', csrfToken)}
        ${usernameField(email)}
        ${newPasswordField(errors)} ${button({ text: t`Set password`, kind: 'primary' })}
      </form>`,
  );
