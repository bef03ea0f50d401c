/** What follows a correct password: a session, or the second factor. And sign-in with a passkey alone. */
import { createHash } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { PendingSignIn } from '../../../stores/accounts/pending-sign-ins.ts';
import { csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { FACTORS_PATH, ownPath } from '../../accounts/sessions/require-session.ts';
import { type FormError, hiddenField, link, linkButton } from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { FORM_EXPIRED, linkEnded, mustWait, plainPage } from '../forms.ts';
import { startSession } from '../sign-in/start-session.ts';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import { networkOf } from '../../http/networks/networks.ts';
import { SIGN_IN_LIMITS } from '../../accounts/sessions/sign-in-limits.ts';
import { formOf } from '../../web/html-scope.ts';
import { recordForUser } from '../audit.ts';
import { passkeysOf } from './passkeys.ts';
import { CODE, CREDENTIAL, passkeyForm, proofForms, prove, recordUse, wayOf } from './proof.ts';
import { t } from '../../web/texts.ts';

/** The page that asks for the second factor. */
const ASK_PATH = '/dashboard/sign-in/second-factor';

interface AfterPassword {
  request: FastifyRequest;
  reply: FastifyReply;
}

/**
 * Continues the sign-in of a user who has proved a password, or that a link was sent to them. An account with a second factor
 * gets no session yet.
 * @param next where the user wants to go
 * @param organisation the one to act for. Default: the one that the user chose last
 * @param mailed see `PendingSignIn`
 * @returns where to go now; null if the user was deleted or got a new password meanwhile, or does not belong to the organisation
 */
export async function afterPassword(
  { request, reply }: AfterPassword,
  user: User & Partial<Pick<VerifiedUser, 'generation'>>,
  { next, organisation, mailed }: { next: string; organisation?: string; mailed?: boolean },
): Promise<string | null> {
  const { stores, sessionCookies } = request.server;
  const { email, generation } = user;
  const { any } = await stores.secondFactors.find(email);
  if (!any) return (await startSession({ request, reply }, user, { method: 'password', organisation })) ? next : null;
  const { pending, options } = sessionCookies;
  reply.setCookie(pending, await stores.pendingSignIns.start({ email, generation, next, organisation, mailed }), options);
  return ASK_PATH;
}

const LIMITED = { config: { network: 'links' } } as const;

interface Shown {
  errors?: FormError[];
  recovery: boolean;
  status?: number;
}

export const secondFactorSignIn: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const passkeys = passkeysOf(scope);
  const { pending: cookie, options } = scope.sessionCookies;
  const tokenOf = (request: FastifyRequest): string => request.cookies[cookie] ?? '';
  const subjectOf = ({ id }: PendingSignIn): string => `second-factor:${id}`;

  function ended(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.clearCookie(cookie, options);
    const text = t`It took too long, there were too many attempts, or it was completed. Sign in again.`;
    const action = linkButton({ text: t`Sign in`, href: '/dashboard/sign-in', kind: 'primary' });
    return reply.page(linkEnded(request, t`The sign-in has ended`, text, action), { status: 403 });
  }

  async function show(request: FastifyRequest, reply: FastifyReply, pending: PendingSignIn, { errors = [], recovery, status }: Shown) {
    const factors = await stores.secondFactors.find(pending.email);
    const usable = passkeys.usable(factors.passkeys);
    const body = html`<p class="lead">${t`Confirm that it is you to finish signing in as ${html`<span class="address">${pending.email}</span>`}.`}</p>
      ${proofForms({
        action: ASK_PATH,
        csrfToken: csrfToken(request, reply),
        factors,
        recovery,
        passkeyOptions: usable.length === 0 || recovery ? null : await passkeys.request(usable, subjectOf(pending)),
        errors,
      })}
      <p>${linkButton({ text: t`Cancel`, href: '/dashboard/sign-in', kind: 'quiet' })}</p>`;
    return reply.page(plainPage(request, t`Second factor`, errors, body, ['passkey.js']), { status });
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
      return show(request, reply, pending, { recovery, errors: [{ field: CODE, text: FORM_EXPIRED() }], status: 403 });
    const user = await stores.users.find(pending.email);
    if (user === null || (await stores.pendingSignIns.attempt(tokenOf(request))) === null) return ended(request, reply);
    const proof = await prove(request, reply, { email: user.email, subject: subjectOf(pending) });
    if (!proof.ok) return show(request, reply, pending, { recovery, errors: [proof.error], status: proof.status });
    const taken = await stores.pendingSignIns.take(tokenOf(request));
    if (taken === null) return ended(request, reply);
    reply.clearCookie(cookie, options);
    const { generation, organisation, mailed } = taken;
    if (mailed) await stores.users.verifyAddress(user.email, generation);
    const start = { method: 'password', secondFactor: proof.factor, organisation: organisation ?? undefined } as const;
    if (!(await startSession({ request, reply }, { ...user, generation }, start))) return ended(request, reply);
    return reply.redirect(proof.factor === 'recovery' ? `${FACTORS_PATH}?recovered` : pending.next, 303);
  });
};

const PASSKEY_SIGN_IN = '/dashboard/sign-in/passkey';
const TITLE = (): string => t`Sign in with a passkey`;
const REFUSED = (): string => t`This passkey was not accepted. Sign in with your password.`;

/**
 * Sign-in with a passkey alone. The authenticator has verified its user with a PIN or a biometric, so it counts as both factors.
 * Only accounts with a password can use it: others belong to the identity provider, which decides whether they may sign in.
 */
export const passkeySignIn: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const passkeys = passkeysOf(scope);
  /** Challenges belong to the browser. */
  const subjectOf = ({ session }: FastifyRequest): string =>
    `sign-in:${createHash('sha256')
      .update(session?._csrf ?? '')
      .digest('hex')}`;

  /** Seconds to wait; null if the client may have a challenge. Each can be answered once, so this also limits the answers. */
  async function secondsToWait(request: FastifyRequest): Promise<number | null> {
    const counted = scope.networkLimits.admit('sign-in-address', request.address);
    if (!counted.ok) return counted.retryAfterSeconds;
    const rule = { policy: 'sign-in-address', subject: networkOf(request.address), ...SIGN_IN_LIMITS['sign-in-address'] };
    const decision = await stores.rateLimits.admit([rule]);
    return decision.ok ? null : decision.retryAfterSeconds;
  }

  async function show(request: FastifyRequest, reply: FastifyReply, next: string, errors: FormError[] = [], status = 200) {
    const token = csrfToken(request, reply);
    const wait = await secondsToWait(request);
    const options = wait === null ? await passkeys.request(null, subjectOf(request)) : null;
    const shown = wait === null ? errors : [mustWait(reply, wait)];
    const body = passkeySignInBody({ csrfToken: token, next, options });
    return reply.page(plainPage(request, TITLE(), shown, body, ['passkey.js']), { status: wait === null ? status : 429 });
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
    if (!hasCsrfToken(request)) return show(request, reply, next, [{ field: null, text: FORM_EXPIRED() }], 403);
    const find = (id: string) => stores.secondFactors.findByPasskey(id);
    const assertion = await passkeys.readUse(form.exact(CREDENTIAL), subjectOf(request), find, { verified: true });
    const owner = assertion === null ? null : await find(assertion.id);
    const user = owner === null ? null : await stores.users.find(owner.email);
    if (assertion === null || user === null || !user.hasPassword)
      return show(request, reply, next, [{ field: null, text: REFUSED() }], 422);
    const refusal = await recordUse(stores.secondFactors, user.email, assertion);
    const action = refusal === null ? 'user.second-factor' : 'user.second-factor-failed';
    const subject = refusal === 'copied' ? 'passkey: copied' : 'passkey';
    await recordForUser(request, user.email, { action, subject });
    const start = { method: 'passkey', secondFactor: 'passkey' } as const;
    if (refusal !== null || !(await startSession({ request, reply }, user, start)))
      return show(request, reply, next, [{ field: null, text: REFUSED() }], 422);
    return reply.redirect(next, 303);
  });
};

/** @param options what to ask the browser; null while the client must wait */
function passkeySignInBody({ csrfToken: token, next, options }: { csrfToken: string; next: string; options: string | null }): Html {
  return html`<p class="lead">${t`Your device asks for its PIN, your fingerprint or your face. You need no password.`}</p>
    ${
      options !== null &&
      passkeyForm({
        action: PASSKEY_SIGN_IN,
        csrfToken: token,
        kind: 'get',
        options,
        fields: hiddenField('next', next),
        text: TITLE(),
        otherwise: t`Use your password.`,
      })
    }
    <p>${link(t`Sign in with your password`, `/dashboard/sign-in?next=${encodeURIComponent(next)}`)}</p>`;
}
