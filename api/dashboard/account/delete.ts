/** Deletes an account. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ownStoresOf } from '../../accounts/scoped-stores.ts';
import { clearSession, signedInOf } from '../../accounts/sessions/plugin.ts';
import { actions, button, type FormError, link, linkButton, notice } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { csrfField, emailField, errorOf, titledPage } from '../forms.ts';
import { recordEntry } from '../audit.ts';
import { LEFT_BEHIND_PATH, noticesOf, tellLeftBehind } from '../../accounts/owner-notices.ts';
import { confirmPassword, passwordField } from '../passwords.ts';
import { t } from '../../web/texts.ts';

export const DELETE_PATH = '/dashboard/account/delete';
const CONFIG = { permission: null } as const;

export const deletionPages: FastifyPluginAsync = async (scope) => {
  const show = (request: FastifyRequest, reply: FastifyReply, errors: readonly FormError[] = [], status = 200): FastifyReply =>
    reply.page(deletionPage(request, errors), { status });

  scope.get(DELETE_PATH, { config: CONFIG }, (request, reply) => show(request, reply));

  scope.post(DELETE_PATH, { config: CONFIG }, async (request, reply) => {
    const own = ownStoresOf(request);
    const { email, hasPassword } = signedInOf(request).user;
    const form = formOf(request.body);
    if (form.text('email').toLowerCase() !== email)
      return show(request, reply, [{ field: 'email', text: t`Enter ${email} to confirm.` }], 422);
    if (hasPassword) {
      const confirmed = await confirmPassword(request, reply, form.exact('password'));
      if (!confirmed.ok) return show(request, reply, [confirmed.error], confirmed.status);
    }
    const named = new Map((await own.organisations()).map(({ organisation }) => [organisation.id, organisation.displayName]));
    const deleted = await own.deleteAccount();
    if (!deleted.ok && deleted.reason === 'last_owner') {
      const names = deleted.organisations.map((id) => named.get(id) ?? id).join(', ');
      const text = t`You are the only owner of ${names}. Make another member an owner first, or ask the administrator of this service.`;
      return show(request, reply, [{ field: null, text }], 409);
    }
    for (const organisation of deleted.ok ? deleted.organisations : []) {
      await recordEntry(request, { organisation, actor: email, action: 'user.delete', subject: email });
      await tellLeftBehind(noticesOf(request), organisation, email, email);
    }
    clearSession(reply);
    return reply.redirect('/dashboard/sign-in?deleted', 303);
  });
};

function deletionPage(request: FastifyRequest, errors: readonly FormError[]): Html {
  const { email, hasPassword } = signedInOf(request).user;
  return titledPage({
    request,
    title: t`Delete the account`,
    active: 'account',
    trail: [{ text: t`Account`, href: '/dashboard/account' }],
    errors,
    narrow: true,
    body: html`${notice({
      kind: 'warn',
      title: t`You cannot undo this`,
      body: html`<p>${t`You leave every organisation, all your sessions end, and what you invited is canceled.`}</p>
          <p>${t`These stay, because they belong to the organisations:`}</p>
          <ul>
            <li>${t`scans and reports`}</li>
            <li>${t`the ledger of credits`}</li>
            <li>${t`the audit log, which names your address`}</li>
            <li>${t`API keys, webhooks and schedules that you created: ${link(t`end those that are not needed any more`, LEFT_BEHIND_PATH)} first`}</li>
          </ul>`,
    })}
      <form method="post" action="${DELETE_PATH}" novalidate>
        ${csrfField(request)}
        ${emailField(errors, { label: t`Your e-mail address, to confirm`, autocomplete: 'off', hint: email })}
        ${hasPassword && passwordField({ name: 'password', label: t`Current password`, autocomplete: 'current-password', error: errorOf(errors, 'password') })}
        ${actions(button({ text: t`Delete the account`, kind: 'danger' }), linkButton({ text: t`Keep it`, href: '/dashboard/account', kind: 'quiet' }))}
      </form>`,
  });
}
