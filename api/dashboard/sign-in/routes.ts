/** Sign-in with a password, and sign-out. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiStores } from '../../dependencies.ts';
import { networkOf } from '../../http/networks/networks.ts';
import { createPasswordChecks } from '../../http/networks/password-checks.ts';
import { ownPath } from '../../accounts/sessions/own-path.ts';
import { checkCsrf, clearSession, csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { SIGN_IN_LIMITS, signInRules } from '../../accounts/sessions/sign-in-limits.ts';
import { notice, type FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { afterPassword } from '../second-factor/after-password.ts';
import { FORM_EXPIRED, mustWait, PASSWORDS_OFF } from '../forms.ts';
import { signInPage } from './page.ts';
import { problemText } from './problems.ts';

type SignInStores = Pick<ApiStores, 'users' | 'sessions' | 'rateLimits' | 'organisations' | 'secondFactors' | 'pendingSignIns'>;

export interface SignInDeps {
  stores: SignInStores;
  /** For attempts from networks that the account does not know. */
  anonymous: SignInStores;
  /** Whether people can sign in with a passkey. */
  passkeys: boolean;
  /** The text of the button that leads to the identity provider; null if there is none. */
  provider: string | null;
  /** Whether passwords are accepted. */
  local: boolean;
  limits?: Partial<typeof SIGN_IN_LIMITS>;
}

/** The same for an unknown address, a wrong password, and an account without a password. */
const WRONG = 'The e-mail address or the password is not correct.';
const MISSING = { email: 'Enter your e-mail address.', password: 'Enter your password.' };
const UNSAVED = 'Your session has ended, so the form was not saved and nothing was changed. Sign in, and fill in the form again.';

interface Shown {
  next: string;
  email?: string;
  errors?: readonly FormError[];
  status?: number;
}

export const signInRoutes: FastifyPluginAsync<SignInDeps> = async (scope, deps) => {
  const { stores, provider, local, passkeys } = deps;
  const sizes = { ...SIGN_IN_LIMITS, ...deps.limits };
  const checks = createPasswordChecks(stores.users);

  function show(request: FastifyRequest, reply: FastifyReply, { next, email, errors, status }: Shown): FastifyReply {
    const { usable } = scope.sessionCookies;
    const token = csrfToken(request, reply);
    const message = messageOf(request.query as Parameters<typeof messageOf>[0]);
    return reply.page(signInPage({ request, csrfToken: token, next, email, errors, message, provider, local, passkeys, usable }), {
      status,
    });
  }

  scope.get('/dashboard/sign-in', async (request, reply) => {
    const next = ownPath((request.query as { next?: string }).next);
    if ((await scope.readSession(request)) !== null) return reply.redirect(next, 303);
    return show(request, reply, { next });
  });

  scope.post('/dashboard/sign-in', async (request, reply) => {
    await scope.readSession(request);
    const form = formOf(request.body);
    const typed = { next: ownPath(form.text('next')), email: form.text('email') };
    const refuse = (errors: FormError[], status = 422) => show(request, reply, { ...typed, errors, status });
    if (!local) return refuse([{ field: null, text: PASSWORDS_OFF }], 403);
    // Nothing was changed: the person enters the password again.
    if (!hasCsrfToken(request)) return refuse([{ field: 'password', text: FORM_EXPIRED }], 403);
    const password = form.exact('password');
    const missing = [typed.email === '' ? 'email' : null, password === '' ? 'password' : null].filter((field) => field !== null);
    if (missing.length > 0) return refuse(missing.map((field) => ({ field, text: MISSING[field as keyof typeof MISSING] })));
    const network = networkOf(request.ip);
    const email = typed.email.toLowerCase();
    const tooMany = (seconds: number) => refuse([mustWait(reply, seconds)], 429);
    const { networkLimits } = scope;
    const counted = networkLimits.admit('sign-in-address', request.ip);
    const known = await checks.known(email, request.ip, { last: !counted.ok });
    if (!known && !counted.ok) return tooMany(counted.retryAfterSeconds);
    if (known && counted.ok) networkLimits.refund('sign-in-address', request.ip);
    const { rateLimits, users } = known ? stores : deps.anonymous;
    const checked = await checks.run({ known, address: request.ip }, async () => {
      const decision = await rateLimits.admit(signInRules({ network, email, known }, sizes));
      return decision.ok ? { ok: true as const, user: await users.verify(email, password) } : decision;
    });
    if (!checked.ok) return tooMany(checked.retryAfterSeconds);
    const { user } = checked;
    if (user === null) {
      scope.trail.signInFailed(request, email);
      return refuse([{ field: 'password', text: WRONG }]);
    }
    const path = await afterPassword({ request, reply, stores }, user, { next: typed.next });
    return path === null ? refuse([{ field: 'password', text: WRONG }]) : reply.redirect(path, 303);
  });

  scope.post('/dashboard/sign-out', async (request, reply) => {
    const signedIn = await scope.readSession(request);
    if (signedIn !== null) {
      checkCsrf(request);
      await stores.sessions.end(signedIn.user.email, signedIn.session.id);
    }
    clearSession(reply);
    return reply.redirect('/dashboard/sign-in?signedOut', 303);
  });
};

/** What happened before the page. */
function messageOf({ signedOut, deleted, problem, unsaved }: { signedOut?: string; deleted?: string; problem?: string; unsaved?: string }) {
  const text = problemText(problem);
  if (text !== null) return notice({ kind: 'bad', body: text, announce: true });
  if (unsaved !== undefined) return notice({ kind: 'warn', body: UNSAVED, announce: true });
  if (deleted !== undefined) return notice({ kind: 'good', body: 'Your account is deleted, and you are signed out.', announce: true });
  return signedOut === undefined ? null : notice({ kind: 'good', body: 'You are signed out.', announce: true });
}
