/** Requires a signed-in user of an organisation that is not blocked, for every page of the scope that registers it. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { permissionsOf } from '../../core/accounts.ts';
import { lacksFactor, type SignedIn } from '../../stores/accounts/sessions.ts';
import { ApiError } from '../errors.ts';
import { annotate } from '../plugins/request-log.ts';
import { wantsPage } from '../web/error-page.ts';
import { formExpiredPage } from '../web/form-expired-page.ts';
import { checkCsrf, csrfToken, isSafe } from './plugin.ts';
import { ownPath, signInPath } from './own-path.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A page for sessions without the second factor that their organisation requires. */
    withoutFactor?: boolean;
  }
}

/** The page on which a person sets up a second factor. */
export const FACTORS_PATH = '/dashboard/account/second-factor';

const requireSession: FastifyPluginAsync = async (scope) => {
  scope.addHook('onRequest', async (request, reply) => {
    const signedIn = await scope.readSession(request);
    if (signedIn === null) {
      // A script cannot show the sign-in page.
      if (!isNavigation(request)) throw new ApiError('session_required');
      return reply.redirect(signInPath(returnAddress(request), { unsaved: !isSafe(request) }), 303);
    }
    actAs(request, reply, signedIn);
    if (signedIn.organisation.blocked) throw new ApiError('account_blocked');
    if (!lacksFactor(signedIn) || request.routeOptions.config.withoutFactor === true) return;
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

/** Sets the caller of a request, and what pages show of the user. */
export function actAs(request: FastifyRequest, reply: FastifyReply, signedIn: SignedIn): void {
  const { session, user, organisation } = signedIn;
  request.caller = { organisation, actor: { kind: 'user', email: user.email, role: user.role, sessionId: session.id } };
  request.viewer = {
    email: user.email,
    organisation: organisation.id,
    organisationName: organisation.displayName,
    // The navigation shows only pages that can be opened.
    permissions: lacksFactor(signedIn) ? [] : permissionsOf(user.role),
    csrfToken: csrfToken(request, reply),
  };
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
