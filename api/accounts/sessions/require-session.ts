/** Requires a signed-in user for every page of the scope that registers it. */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { permissionsOf, type Role } from '../../../core/accounts.ts';
import type { Organisation } from '../../../core/organisation.ts';
import { lacksFactor, type SignedIn } from '../../../stores/accounts/sessions.ts';
import { ApiError } from '../../http/errors.ts';
import { annotate } from '../../http/plugins/request-log.ts';
import { formExpiredPage, wantsPage } from '../../web/error-page.ts';
import { checkCsrf, csrfToken, isSafe } from './plugin.ts';

export interface RequireSessionOptions {
  /**
   * Whether the session must act for an organisation that is not blocked, with the second factor that it requires. Default: true.
   * The pages of the account need none.
   */
  organisation?: boolean;
}

/** The page on which users choose an organisation. */
export const ORGANISATIONS_PATH = '/dashboard/organisations';
/** The page on which a person sets up a second factor. */
export const FACTORS_PATH = '/dashboard/account/second-factor';

const requireSession: FastifyPluginAsync<RequireSessionOptions> = async (scope, { organisation = true }) => {
  checkCaller(scope, async (request, reply) => {
    const signedIn = await scope.readSession(request);
    if (signedIn === null) {
      // A script cannot show the sign-in page.
      if (!isNavigation(request)) throw new ApiError('session_required');
      return reply.redirect(signInPath(returnAddress(request), { unsaved: !isSafe(request) }), 303);
    }
    const { membership } = signedIn;
    view(request, reply, signedIn);
    const pages = { policy: 'pages', subject: signedIn.user.email, ...scope.settings.limits.pages };
    const counted = await scope.pageLimits.admit([pages]);
    if (!counted.ok) throw new ApiError('rate_limit_exceeded', counted);
    if (!organisation) return;
    if (membership === null) {
      if (!isNavigation(request)) throw new ApiError('session_required');
      return reply.redirect(ORGANISATIONS_PATH, 303);
    }
    actAs(request, signedIn, membership);
    if (membership.organisation.blocked) throw new ApiError('account_blocked');
    if (!lacksFactor(signedIn)) return;
    if (!isNavigation(request)) throw new ApiError('second_factor_required');
    return reply.redirect(`${FACTORS_PATH}?required`, 303);
  });
  // After the body is parsed, because the token is a field of the form.
  scope.addHook('preValidation', async (request, reply) => {
    try {
      checkCsrf(request);
    } catch (error) {
      if (!isNavigation(request) || !wantsPage(request)) throw error;
      annotate(request, { refusal: 'invalid_csrf_token' });
      return reply.page(formExpiredPage({ request, formAddress: ownPath(returnAddress(request)) }), { status: 403 });
    }
  });
};

function view(request: FastifyRequest, reply: FastifyReply, signedIn: SignedIn): void {
  const { user, membership } = signedIn;
  // The navigation shows only pages that can be opened.
  const closed = membership === null || membership.organisation.blocked || lacksFactor(signedIn);
  request.viewer = {
    email: user.email,
    organisationName: membership?.organisation.displayName ?? null,
    permissions: closed ? [] : permissionsOf(membership.role),
    csrfToken: csrfToken(request, reply),
  };
  if (request.reader !== null && user.locale !== null) request.reader.locale = user.locale;
  annotate(request, { user: user.email });
}

/** Sets the caller of a request. */
export function actAs(
  request: FastifyRequest,
  { session, user }: SignedIn,
  { organisation, role }: { organisation: Organisation; role: Role },
): void {
  request.caller = { organisation, actor: { kind: 'user', email: user.email, role, sessionId: session.id } };
  annotate(request, { organisation: organisation.id, user: user.email });
}

/** Browsers say whether they will show the response as a page. */
const isNavigation = ({ headers }: FastifyRequest): boolean => (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate';

/** The page on which the user was: a form returns to the page that it is on. */
function returnAddress(request: FastifyRequest): string {
  if (isSafe(request)) return request.url;
  const { referer } = request.headers;
  if (referer === undefined || !URL.canParse(referer)) return request.url;
  const { host, pathname, search } = new URL(referer);
  return host === request.host ? pathname + search : request.url;
}

export default fp(requireSession, { name: 'require-session', dependencies: ['sessions'] });

const HOST = 'http://own.invalid';
const HOME = '/dashboard';
/** Addresses that only lead to a sign-in. */
const SIGN_IN_PATH = /^\/dashboard\/(?:sign-in|sign-out)(?:\/|$)/;
/**
 * The ends of addresses that are no pages: of forms, which show themselves again with errors, and of downloads. A download
 * would leave the browser on the sign-in page, and a browser follows no form to the origin of the object store.
 */
const NO_PAGE =
  /\/(?:report(?:\/json|\/[a-z]+\.csv)?|(?:ledger|sites)\.csv|name|password|sign-out-everywhere|invitations(?:\/cancel)?|role|remove|again|cancel|begin|recovery-codes|switch|join|decline|confirm|leave)$/;
const MAX_CHARACTERS = 2_000;

/** Returns the address if it is a page of the dashboard, the page of a form or download, else that of the first page. Another site can never be the result. */
export function ownPath(address: string | null | undefined): string {
  if (address == null || address.length > MAX_CHARACTERS || !URL.canParse(address, HOST)) return HOME;
  const { origin, pathname, search } = new URL(address, HOST);
  if (origin !== HOST || SIGN_IN_PATH.test(pathname) || !(pathname === HOME || pathname.startsWith(`${HOME}/`))) return HOME;
  return NO_PAGE.test(pathname) ? pathname.replace(NO_PAGE, '') : pathname + search;
}

/** The sign-in page that leads to an address afterwards. @param unsaved whether it says that a form was not saved */
export function signInPath(address: string, { unsaved = false } = {}): string {
  const path = ownPath(address);
  const query = [path === HOME ? '' : `next=${encodeURIComponent(path)}`, unsaved ? 'unsaved' : ''].filter((part) => part !== '');
  return ['/dashboard/sign-in', ...(query.length === 0 ? [] : [query.join('&')])].join('?');
}

/**
 * Runs a check before the body of each request is read, and once more after it if the body was late. A client can send a body
 * slowly for half a minute: a key, a session or a role that ended meanwhile must not act any more.
 * @param check throws, or sends the refusal
 */
export function checkCaller(scope: FastifyInstance, check: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): void {
  const late = new WeakSet<FastifyRequest>();
  scope.addHook('onRequest', async (request, reply) => {
    const answer = await check(request, reply);
    // Asked here, not when the body is read: other hooks wait for the database meanwhile, and what ends then must count too.
    if (!request.raw.complete) late.add(request);
    return answer;
  });
  scope.addHook('preValidation', async (request, reply) => {
    if (!late.has(request)) return undefined;
    request.session = null;
    return check(request, reply);
  });
}
