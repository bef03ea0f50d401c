/**
 * Sessions and CSRF tokens, registered once on the root. Scopes that need a signed-in user also register `require-session.ts`.
 * A CSRF token belongs to the session, and before sign-in to the form cookie of the browser.
 */
import { createHmac, randomBytes } from 'node:crypto';
import cookie, { type CookieSerializeOptions } from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Caller } from '../../../core/accounts.ts';
import { isSessionSecret, type SignedIn } from '../../../stores/accounts/sessions.ts';
import { ApiError } from '../../http/errors.ts';
import { createCredentials } from '../../http/networks/credentials.ts';

/** What is known about the browser of a request. */
export interface BrowserSession {
  /** Null: not signed in, or not read yet. */
  signedIn: SignedIn | null;
  /** The secret that CSRF tokens are made from. The name is that of @fastify/csrf-protection. */
  _csrf: string | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before `readSession`. */
    session: BrowserSession | null;
    /** The authenticated caller; null in scopes that authenticate nobody. */
    caller: Caller | null;
  }
  interface FastifyInstance {
    sessionCookies: CookieRules;
    /** Reads the session of a request, once. */
    readSession(request: FastifyRequest): Promise<SignedIn | null>;
  }
}

/** Returns the session of a signed-in user. @throws TypeError in scopes that do not require one */
export function signedInOf({ session }: Pick<FastifyRequest, 'session'>): SignedIn {
  const signedIn = session?.signedIn ?? null;
  if (signedIn === null) throw new TypeError('signedInOf was called before sign-in');
  return signedIn;
}

const REAUTHENTICATED_MS = 600_000;

/**
 * Whether the person of a session proved lately who they are, with a second factor if the account has one. A browser that was left
 * open, or a stolen session, is not enough. @throws TypeError before sign-in
 */
export async function isReauthenticated(request: FastifyRequest): Promise<boolean> {
  const { session, user } = signedInOf(request);
  const { stores, now } = request.server;
  if (now().getTime() - session.provedAt.getTime() >= REAUTHENTICATED_MS) return false;
  return session.secondFactor !== null || !(await stores.secondFactors.find(user.email)).any;
}

const FORM_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The secret of a session's CSRF tokens. It cannot be turned back into that of the session. */
const csrfSecretOf = (sessionSecret: string): string => createHmac('sha256', sessionSecret).update('csrf').digest('base64url');

const sessionsPlugin: FastifyPluginAsync = async (app) => {
  const cookies = cookieRules(app.settings.publicBaseUrl);
  const credentials = createCredentials({ store: app.stores.sessions, wellFormed: isSessionSecret, limits: app.networkLimits });
  await app.register(cookie);
  await app.register(csrf, {
    // It reads the secret from `request.session._csrf`, which is all that it needs of a session.
    sessionPlugin: '@fastify/session',
    getToken: tokenOf,
  });
  app.decorate('sessionCookies', cookies);
  app.decorateRequest('session', null);
  app.decorateRequest('caller', null);
  app.decorate('readSession', async (request) => {
    if (request.session !== null) return request.session.signedIn;
    const secret = request.cookies[cookies.session];
    const checked = secret === undefined ? null : await credentials.check(secret, request.address);
    const signedIn = checked?.ok ? checked.holder : null;
    const form = request.cookies[cookies.form];
    const formSecret = form !== undefined && FORM_SECRET.test(form) ? form : undefined;
    request.session = { signedIn, _csrf: signedIn === null ? formSecret : csrfSecretOf(secret!) };
    return signedIn;
  });
};

function tokenOf(request: FastifyRequest): string {
  const field = (request.body as { _csrf?: unknown } | null | undefined)?._csrf;
  const header = request.headers['x-csrf-token'];
  return typeof field === 'string' ? field : typeof header === 'string' ? header : '';
}

/** Makes the CSRF token of a form or a script. Before sign-in it also sets the form cookie. Call `readSession` first. */
export function csrfToken(request: FastifyRequest, reply: FastifyReply): string {
  const { session, server } = request;
  if (session === null) throw new TypeError('csrfToken was called before readSession');
  if (session._csrf === undefined) {
    session._csrf = randomBytes(32).toString('base64url');
    reply.setCookie(server.sessionCookies.form, session._csrf, server.sessionCookies.options);
  }
  return reply.generateCsrf();
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a request cannot change anything, and needs no CSRF token. */
export const isSafe = ({ method }: Pick<FastifyRequest, 'method'>): boolean => SAFE_METHODS.has(method);

/** @throws ApiError if a request that changes something has no CSRF token of its session */
export function checkCsrf(request: FastifyRequest): void {
  if (!isSafe(request) && !hasCsrfToken(request)) throw new ApiError('invalid_csrf_token');
}

/** Whether a request has a CSRF token of its session. */
export function hasCsrfToken(request: FastifyRequest): boolean {
  let valid = false;
  // The plugin continues with `next` or answers with `reply.send`.
  const reply = { send: () => undefined } as unknown as FastifyReply;
  request.server.csrfProtection(request, reply, () => void (valid = true));
  return valid;
}

/**
 * Gives the browser a new session. Its cookie lasts as long as the browser is open, at most until the session ends. Forms of
 * this response belong to it.
 */
export function setSession(reply: FastifyReply, secret: string): void {
  const { sessionCookies: cookies } = reply.server;
  const { session, viewer } = reply.request;
  if (session !== null) session._csrf = csrfSecretOf(secret);
  if (viewer !== null) viewer.csrfToken = reply.generateCsrf();
  reply.setCookie(cookies.session, secret, cookies.options);
  reply.clearCookie(cookies.form, cookies.options);
}

export function clearSession(reply: FastifyReply): void {
  const { sessionCookies: cookies } = reply.server;
  reply.clearCookie(cookies.session, cookies.options);
}

export interface CookieRules {
  session: string;
  /** Binds the forms before sign-in to one browser. */
  form: string;
  /** The beginning of the names of those that carry sign-ins at the identity provider. The state follows: each tab has its own. */
  oidc: string;
  /** Carries a sign-in that waits for the second factor. */
  pending: string;
  /** Whether browsers keep the cookies: they keep secure cookies only of https addresses. */
  usable: boolean;
  options: CookieSerializeOptions;
}

const LOCAL_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Cookies are secure, except on plain http of this machine, where some browsers would not keep them. */
export function cookieRules(publicBaseUrl: string): CookieRules {
  const { protocol, hostname } = new URL(publicBaseUrl);
  const local = protocol === 'http:' && LOCAL_HOST.test(hostname);
  // Browsers accept the prefix only from a secure page of exactly this host, so that no sibling domain can set the cookie.
  const prefix = local ? '' : '__Host-';
  return {
    session: `${prefix}curbcut_session`,
    form: `${prefix}curbcut_form`,
    oidc: `${prefix}curbcut_oidc_`,
    pending: `${prefix}curbcut_pending`,
    usable: local || protocol === 'https:',
    options: { path: '/', httpOnly: true, sameSite: 'lax', secure: !local },
  };
}

export default fp(sessionsPlugin, { name: 'sessions', dependencies: ['request-log'] });
