/**
 * Sign-in with a passkey alone. The authenticator has verified its user with a PIN or a biometric, so it counts as both factors.
 * Only accounts with a password can use it: others belong to the identity provider, which decides whether they may sign in.
 */
import { createHash } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf } from '../../http/networks/networks.ts';
import { ownPath } from '../../accounts/sessions/own-path.ts';
import { csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { SIGN_IN_LIMITS } from '../../accounts/sessions/sign-in-limits.ts';
import { hiddenField, link, type FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html } from '../../web/html.ts';
import { FORM_EXPIRED, mustWait } from '../forms.ts';
import { recordForUser } from '../record.ts';
import { plainPage } from '../sign-in/page.ts';
import { startSession } from '../sign-in/start-session.ts';
import { passkeyForm } from './proof-forms.ts';
import { CREDENTIAL, recordUse, type FactorDeps } from './proof.ts';

export const PASSKEY_SIGN_IN = '/dashboard/sign-in/passkey';
const LIMITED = { config: { network: 'links' } } as const;
const TITLE = 'Sign in with a passkey';
const REFUSED = 'This passkey was not accepted. Sign in with your password.';

export const passkeySignIn: FastifyPluginAsync<FactorDeps> = async (scope, deps) => {
  const { stores, passkeys, logger } = deps;
  /** Challenges belong to the browser. */
  const subjectOf = ({ session }: FastifyRequest): string =>
    `sign-in:${createHash('sha256')
      .update(session?._csrf ?? '')
      .digest('hex')}`;

  /** Seconds to wait; null if the client may have a challenge. Each can be answered once, so this also limits the answers. */
  async function secondsToWait(request: FastifyRequest): Promise<number | null> {
    const counted = scope.networkLimits.admit('sign-in-address', request.ip);
    if (!counted.ok) return counted.retryAfterSeconds;
    const rule = { policy: 'sign-in-address', subject: networkOf(request.ip), ...SIGN_IN_LIMITS['sign-in-address'] };
    const decision = await stores.rateLimits.admit([rule]);
    return decision.ok ? null : decision.retryAfterSeconds;
  }

  async function show(request: FastifyRequest, reply: FastifyReply, next: string, errors: FormError[] = [], status = 200) {
    const token = csrfToken(request, reply);
    const wait = await secondsToWait(request);
    const options = wait === null ? await passkeys.request(null, subjectOf(request)) : null;
    const shown = wait === null ? errors : [mustWait(reply, wait)];
    const body = passkeySignInBody({ csrfToken: token, next, options });
    return reply.page(plainPage(request, TITLE, shown, body, ['passkey.js']), { status: wait === null ? status : 429 });
  }

  scope.get<{ Querystring: { next?: string } }>(PASSKEY_SIGN_IN, LIMITED, async (request, reply) => {
    const next = ownPath(request.query.next);
    if ((await scope.readSession(request)) !== null) return reply.redirect(next, 303);
    return show(request, reply, next);
  });

  scope.post(PASSKEY_SIGN_IN, LIMITED, async (request, reply) => {
    await scope.readSession(request);
    const form = formOf(request.body);
    const next = ownPath(form.text('next'));
    if (!hasCsrfToken(request)) return show(request, reply, next, [{ field: null, text: FORM_EXPIRED }], 403);
    const find = (id: string) => stores.secondFactors.findByPasskey(id);
    const assertion = await passkeys.readUse(form.exact(CREDENTIAL), subjectOf(request), find, { verified: true });
    const owner = assertion === null ? null : await find(assertion.id);
    const user = owner === null ? null : await stores.users.find(owner.email);
    if (assertion === null || user === null || !user.hasPassword) return show(request, reply, next, [{ field: null, text: REFUSED }], 422);
    const refusal = await recordUse(stores.secondFactors, user.email, assertion);
    const action = refusal === null ? 'user.second-factor' : 'user.second-factor-failed';
    const subject = refusal === 'copied' ? 'passkey: copied' : 'passkey';
    await recordForUser({ stores, logger }, request, user.email, { action, subject });
    const start = { method: 'passkey', secondFactor: 'passkey' } as const;
    if (refusal !== null || !(await startSession({ request, reply, stores }, user, start)))
      return show(request, reply, next, [{ field: null, text: REFUSED }], 422);
    return reply.redirect(next, 303);
  });
};

/** @param options what to ask the browser; null while the client must wait */
function passkeySignInBody({ csrfToken: token, next, options }: { csrfToken: string; next: string; options: string | null }): Html {
  return html`<p class="lead">Your device asks for its PIN, your fingerprint or your face. You need no password.</p>
    ${
      options !== null &&
      passkeyForm({
        action: PASSKEY_SIGN_IN,
        csrfToken: token,
        kind: 'get',
        options,
        fields: hiddenField('next', next),
        text: TITLE,
        otherwise: 'Use your password.',
      })
    }
    <p>${link('Sign in with your password', `/dashboard/sign-in?next=${encodeURIComponent(next)}`)}</p>`;
}
