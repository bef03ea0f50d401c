/** The second step of a sign-in with a password: a passkey, a code of an authenticator app, or a recovery code. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { PendingSignIn } from '../../../stores/accounts/pending-sign-ins.ts';
import { csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import { linkButton, type FormError } from '../../web/components/index.ts';
import { html } from '../../web/html.ts';
import { FORM_EXPIRED } from '../forms.ts';
import { linkEnded } from '../sign-in/link-pages.ts';
import { plainPage } from '../sign-in/page.ts';
import { startSession } from '../sign-in/start-session.ts';
import { ASK_PATH } from './after-password.ts';
import { proofForms } from './proof-forms.ts';
import { CODE, prove, wayOf, type FactorDeps } from './proof.ts';

const LIMITED = { config: { network: 'links' } } as const;

interface Shown {
  errors?: FormError[];
  recovery: boolean;
  status?: number;
}

export const secondFactorSignIn: FastifyPluginAsync<FactorDeps> = async (scope, deps) => {
  const { stores, passkeys } = deps;
  const { pending: cookie, options } = scope.sessionCookies;
  const tokenOf = (request: FastifyRequest): string => request.cookies[cookie] ?? '';
  const subjectOf = ({ id }: PendingSignIn): string => `second-factor:${id}`;

  function ended(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.clearCookie(cookie, options);
    const text = 'It took too long, there were too many attempts, or it was completed. Sign in again.';
    const action = linkButton({ text: 'Sign in', href: '/dashboard/sign-in', kind: 'primary' });
    return reply.page(linkEnded(request, 'The sign-in has ended', text, action), { status: 403 });
  }

  async function show(request: FastifyRequest, reply: FastifyReply, pending: PendingSignIn, { errors = [], recovery, status }: Shown) {
    const factors = await stores.secondFactors.find(pending.email);
    const usable = passkeys.usable(factors.passkeys);
    const body = html`<p class="lead">Confirm that it is you to finish signing in as <span class="address">${pending.email}</span>.</p>
      ${proofForms({
        action: ASK_PATH,
        csrfToken: csrfToken(request, reply),
        factors,
        recovery,
        passkeyOptions: usable.length === 0 || recovery ? null : await passkeys.request(usable, subjectOf(pending)),
        errors,
      })}
      <p>${linkButton({ text: 'Cancel', href: '/dashboard/sign-in', kind: 'quiet' })}</p>`;
    return reply.page(plainPage(request, 'Second factor', errors, body, ['passkey.js']), { status });
  }

  scope.get(ASK_PATH, LIMITED, async (request, reply) => {
    await scope.readSession(request);
    const pending = await stores.pendingSignIns.find(tokenOf(request));
    if (pending === null) return ended(request, reply);
    return show(request, reply, pending, { recovery: (request.query as { way?: unknown }).way === 'recovery' });
  });

  scope.post(ASK_PATH, LIMITED, async (request, reply) => {
    await scope.readSession(request);
    const recovery = wayOf((request.body as { way?: unknown } | null)?.way) === 'recovery';
    const pending = await stores.pendingSignIns.find(tokenOf(request));
    if (pending === null) return ended(request, reply);
    if (!hasCsrfToken(request))
      return show(request, reply, pending, { recovery, errors: [{ field: CODE, text: FORM_EXPIRED }], status: 403 });
    const user = await stores.users.find(pending.email);
    if (user === null || (await stores.pendingSignIns.attempt(tokenOf(request))) === null) return ended(request, reply);
    const proof = await prove(deps, request, reply, { email: user.email, subject: subjectOf(pending) });
    if (!proof.ok) return show(request, reply, pending, { recovery, errors: [proof.error], status: proof.status });
    const taken = await stores.pendingSignIns.take(tokenOf(request));
    if (taken === null) return ended(request, reply);
    reply.clearCookie(cookie, options);
    const { generation, organisation, mailed } = taken;
    if (mailed) await stores.users.verifyAddress(user.email, generation);
    const start = { method: 'password', secondFactor: proof.factor, organisation: organisation ?? undefined } as const;
    if (!(await startSession({ request, reply, stores }, { ...user, generation }, start))) return ended(request, reply);
    return reply.redirect(proof.factor === 'recovery' ? `${FACTORS_PATH}?recovered` : pending.next, 303);
  });
};
