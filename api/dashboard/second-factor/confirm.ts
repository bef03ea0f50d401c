/** Asks a signed-in person to confirm who they are: by a second factor if there is one, else by the password. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ownPath } from '../../accounts/sessions/require-session.ts';
import { isReauthenticated, signedInOf } from '../../accounts/sessions/plugin.ts';

import { button, type FormError, hiddenField, linkButton } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type HtmlValue } from '../../../report/html/html.ts';
import { confirmPassword, passwordField } from '../passwords.ts';
import { csrfField, errorOf, signInOf, titledPage, usernameField } from '../forms.ts';
import { startSession } from '../sign-in/start-session.ts';
import { passkeysOf } from './passkeys.ts';
import { proofForms, prove, wayOf } from './proof.ts';
import { t } from '../../web/texts.ts';

const CONFIRM_PATH = '/dashboard/account/confirm';

/**
 * Asks users to confirm who they are unless they did so lately. @param page where to go afterwards
 */
export function requireReauthentication(page: (request: FastifyRequest) => string = ({ url }) => url) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (await isReauthenticated(request)) return undefined;
    return reply.redirect(`${CONFIRM_PATH}?${new URLSearchParams({ next: ownPath(page(request)) })}`, 303);
  };
}

const CONFIG = { permission: null } as const;
const TITLE = (): string => t`Confirm that it is you`;
const PASSWORD = 'password';

interface Shown {
  next: string;
  recovery?: boolean;
  errors?: readonly FormError[];
  status?: number;
}

export const confirmPages: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const { provider } = signInOf(scope);
  const passkeys = passkeysOf(scope);
  const subjectOf = (request: FastifyRequest): string => `confirm:${signedInOf(request).session.id}`;

  async function show(request: FastifyRequest, reply: FastifyReply, shown: Shown) {
    const { next, recovery = false, errors = [], status = 200 } = shown;
    const { email, csrfToken } = request.viewer!;
    const { user } = signedInOf(request);
    const factors = await stores.secondFactors.find(email);
    const usable = passkeys.usable(factors.passkeys);
    let forms: HtmlValue;
    if (factors.any)
      forms = proofForms({
        action: CONFIRM_PATH,
        query: { next },
        csrfToken,
        factors,
        recovery,
        passkeyOptions: usable.length === 0 || recovery ? null : await passkeys.request(usable, subjectOf(request)),
        errors,
      });
    else if (user.hasPassword) forms = passwordForm(request, next, errors);
    else if (provider !== null)
      forms = linkButton({ text: provider, href: `/dashboard/sign-in/oidc?${new URLSearchParams({ next, fresh: '1' })}`, kind: 'primary' });
    const body = html`<p class="lead">${t`Your last sign-in was more than ten minutes ago. This protects your account if someone else uses your browser.`}</p>
      ${forms}`;
    const scripts = ['passkey.js'];
    return reply.page(titledPage({ request, title: TITLE(), active: 'account', errors, narrow: true, body, scripts }), { status });
  }

  scope.get<{ Querystring: { next?: string; way?: string } }>(CONFIRM_PATH, { config: CONFIG }, async (request, reply) =>
    show(request, reply, { next: ownPath(request.query.next), recovery: request.query.way === 'recovery' }),
  );

  scope.post(CONFIRM_PATH, { config: CONFIG }, async (request, reply) => {
    const form = formOf(request.body);
    const next = ownPath(form.text('next'));
    const { email } = request.viewer!;
    const { session, user, membership } = signedInOf(request);
    const organisation = membership?.organisation.id;
    const { any } = await stores.secondFactors.find(email);
    if (any) {
      const proof = await prove(request, reply, { email, subject: subjectOf(request) });
      const recovery = wayOf(form.text('way')) === 'recovery';
      if (!proof.ok) return show(request, reply, { next, recovery, errors: [proof.error], status: proof.status });
      await startSession({ request, reply }, user, { method: session.method, secondFactor: proof.factor, organisation });
      return reply.redirect(next, 303);
    }
    if (form.exact(PASSWORD) === '')
      return show(request, reply, { next, errors: [{ field: PASSWORD, text: t`Enter your password.` }], status: 422 });
    const confirmed = await confirmPassword(request, reply, form.exact(PASSWORD));
    if (!confirmed.ok) return show(request, reply, { next, errors: [confirmed.error], status: confirmed.status });
    await startSession({ request, reply }, confirmed.user, {
      method: 'password',
      secondFactor: session.secondFactor,
      organisation,
    });
    return reply.redirect(next, 303);
  });
};

const passwordForm = (request: FastifyRequest, next: string, errors: readonly FormError[]) =>
  html`<form method="post" action="${CONFIRM_PATH}" novalidate>
    ${csrfField(request)} ${hiddenField('next', next)}
    ${usernameField(request.viewer!.email)}
    ${passwordField({ name: PASSWORD, label: t`Password`, autocomplete: 'current-password', error: errorOf(errors, PASSWORD) })}
    ${button({ text: t`Continue`, kind: 'primary' })}
  </form>`;
