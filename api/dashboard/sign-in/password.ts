/** The sign-in page, sign-in with a password, and sign-out. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { networkOf, networksOf } from '../../http/networks/networks.ts';
import { ownPath } from '../../accounts/sessions/require-session.ts';
import { checkCsrf, clearSession, csrfToken, hasCsrfToken } from '../../accounts/sessions/plugin.ts';
import { SIGN_IN_LIMITS, signInRules } from '../../accounts/sessions/sign-in-limits.ts';
import { button, type FormError, hiddenField, link, linkButton, notice } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { recordSignInFailure } from '../audit.ts';
import { passkeysOf } from '../second-factor/passkeys.ts';
import { afterPassword } from '../second-factor/sign-in.ts';
import { emailField, errorOf, FORM_EXPIRED, mustWait, PASSWORDS_OFF, plainPage, signInOf } from '../forms.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { passwordField } from '../passwords.ts';
import { createSemaphore } from '../../../platform/concurrency/semaphore.ts';
import { PASSWORD_WAIT_MS } from '../../../stores/accounts/passwords.ts';
import type { Users } from '../../../stores/accounts/users.ts';
import { createSharedLookups } from '../../http/networks/credentials.ts';
import { m, t, tr } from '../../web/texts.ts';

/** The same for an unknown address, a wrong password, and an account without a password. */
const WRONG = (): string => t`The e-mail address or the password is not correct.`;
const MISSING = { email: m`Enter your e-mail address.`, password: m`Enter your password.` };
const UNSAVED = (): string =>
  t`Your session has ended, so the form was not saved and nothing was changed. Sign in, and fill in the form again.`;

interface Shown {
  next: string;
  email?: string;
  errors?: readonly FormError[];
  status?: number;
}

export const signInRoutes: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const { provider, local } = signInOf(scope);
  const passkeys = local && passkeysOf(scope).available;
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
    if (!local) return refuse([{ field: null, text: PASSWORDS_OFF() }], 403);
    // Nothing was changed: the person enters the password again.
    if (!hasCsrfToken(request)) return refuse([{ field: 'password', text: FORM_EXPIRED() }], 403);
    const password = form.exact('password');
    const missing = [typed.email === '' ? 'email' : null, password === '' ? 'password' : null].filter((field) => field !== null);
    if (missing.length > 0) return refuse(missing.map((field) => ({ field, text: tr(MISSING[field as keyof typeof MISSING]) })));
    const network = networkOf(request.address);
    const email = typed.email.toLowerCase();
    const tooMany = (seconds: number) => refuse([mustWait(reply, seconds)], 429);
    const { networkLimits } = scope;
    const counted = networkLimits.admit('sign-in-address', request.address);
    const known = await checks.known(email, request.address, { last: !counted.ok });
    if (!known && !counted.ok) return tooMany(counted.retryAfterSeconds);
    if (known && counted.ok) networkLimits.refund('sign-in-address', request.address);
    const { rateLimits, users } = known ? stores : scope.anonymousStores;
    const checked = await checks.run({ known, address: request.address }, async () => {
      const decision = await rateLimits.admit(signInRules({ network, email, known }, SIGN_IN_LIMITS));
      return decision.ok ? { ok: true as const, user: await users.verify(email, password) } : decision;
    });
    if (!checked.ok) return tooMany(checked.retryAfterSeconds);
    const { user } = checked;
    if (user === null) {
      recordSignInFailure(request, email);
      return refuse([{ field: 'password', text: WRONG() }]);
    }
    const path = await afterPassword({ request, reply }, user, { next: typed.next });
    return path === null ? refuse([{ field: 'password', text: WRONG() }]) : reply.redirect(path, 303);
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
  if (unsaved !== undefined) return notice({ kind: 'warn', body: UNSAVED(), announce: true });
  if (deleted !== undefined) return notice({ kind: 'good', body: t`Your account is deleted, and you are signed out.`, announce: true });
  return signedOut === undefined ? null : notice({ kind: 'good', body: t`You are signed out.`, announce: true });
}

interface SignInPage {
  request: FastifyRequest;
  csrfToken: string;
  /** Where to go afterwards. */
  next: string;
  /** What was typed. */
  email?: string;
  errors?: readonly FormError[];
  /** Why the page is shown. */
  message?: Html | null;
  /** The text of the button that leads to the identity provider; null if there is none. */
  provider: string | null;
  /** Whether passwords are accepted. */
  local: boolean;
  /** Whether people can sign in with a passkey. */
  passkeys: boolean;
  /** Whether browsers keep the session's cookie. */
  usable: boolean;
}

function signInPage(options: SignInPage): Html {
  const { request, next, errors = [], provider, local, passkeys, usable, message } = options;
  const title = t`Sign in`;
  return plainPage(
    request,
    title,
    errors,
    html`${message}
      ${
        !usable &&
        notice({
          kind: 'warn',
          title: t`Sign-in needs HTTPS`,
          body: t`The public address of this service starts with http://, so browsers do not keep the session. Set PUBLIC_BASE_URL to an https address.`,
        })
      }
      ${local && passwordForm(options)}
      ${passkeys && html`<p>${linkButton({ text: t`Sign in with a passkey`, href: `/dashboard/sign-in/passkey?next=${encodeURIComponent(next)}` })}</p>`}
      ${provider !== null && html`<p>${linkButton({ text: provider, href: `/dashboard/sign-in/oidc?next=${encodeURIComponent(next)}` })}</p>`}`,
  );
}

const passwordForm = ({ csrfToken, next, email, errors = [] }: SignInPage): Html =>
  html`<form method="post" action="/dashboard/sign-in" novalidate>
      ${hiddenField('_csrf', csrfToken)} ${hiddenField('next', next)}
      ${emailField(errors, { value: email })}
      ${passwordField({ name: 'password', label: t`Password`, autocomplete: 'current-password', error: errorOf(errors, 'password') })}
      ${button({ text: t`Sign in`, kind: 'primary' })}
    </form>
    <p>${link(t`Forgot your password?`, '/dashboard/reset-password')}</p>`;

const SIGN_IN_PROBLEMS = {
  provider_down: m`The identity provider cannot be used at the moment. Try again in a few minutes.`,
  expired: m`The sign-in took too long, or it was completed before. Sign in again.`,
  refused: m`The identity provider refused the sign-in, or its answer was not valid. Sign in again.`,
  unverified_email: m`The identity provider does not say that your e-mail address is verified. Ask the administrator of this service.`,
  unknown_user: m`There is no account for your e-mail address. Ask an owner of your organisation to invite you.`,
  no_role: m`None of your groups at the identity provider gives you access. Ask the administrator of this service.`,
  groups_unknown: m`The identity provider did not say which groups you are in, as if there are too many. Ask the administrator of this service.`,
  groups_absent: m`The identity provider sent no groups. Ask the administrator of this service to check oidc.scopes and oidc.roleMapping.claim; the log of the API has both.`,
  other_identity: m`Your e-mail address is linked to another account at the identity provider. The administrator can unlink it: curbcut-admin user unlink.`,
  too_many: m`There were too many attempts. Try again in a few minutes.`,
} as const;
export type SignInProblem = keyof typeof SIGN_IN_PROBLEMS;

/** The text of a problem in an address; null if there is no such problem. */
function problemText(problem: unknown): string | null {
  return typeof problem === 'string' && Object.hasOwn(SIGN_IN_PROBLEMS, problem) ? tr(SIGN_IN_PROBLEMS[problem as SignInProblem]) : null;
}

/** `perKey`: of one /24 of IPv4 or one /48 of IPv6, so that no network takes all places. */
const STRANGERS = { held: { total: 1, perKey: 1 }, pending: { total: 21, perKey: 2 } };

/**
 * Runs checks of passwords. Those from networks that the account does not know wait for a place of their own. So an attacker keeps
 * neither the users of an installation from signing in, nor the processors from requests with a key.
 */
function createPasswordChecks(users: Pick<Users, 'networksOf'>) {
  const strangers = createSemaphore(STRANGERS);
  const networks = createSharedLookups((emails) => users.networksOf(emails));
  return {
    /**
     * Returns whether the user of an e-mail address signed in from the network of a client lately.
     * @param options.last whether it is looked up after all others
     */
    known: async (email: string, address: string, options: { last: boolean }): Promise<boolean> =>
      ((await networks.find(email, options)) ?? []).includes(networkOf(address)),
    /**
     * Runs the check of a password.
     * @param attempt.known whether the account knows the network
     * @throws TooBusy if too many checks wait
     */
    run: <T>({ known, address }: { known: boolean; address: string }, check: () => Promise<T>) =>
      known ? check() : strangers.run(networksOf(address).at(-1) ?? '', check, AbortSignal.timeout(PASSWORD_WAIT_MS)),
  };
}
