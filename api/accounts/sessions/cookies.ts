/** The cookies of sessions and of forms before sign-in. */
import type { CookieSerializeOptions } from '@fastify/cookie';

export interface CookieRules {
  session: string;
  /** Binds the forms before sign-in to one browser. */
  form: string;
  /** Carries the sign-in at the identity provider. */
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
    oidc: `${prefix}curbcut_oidc`,
    pending: `${prefix}curbcut_pending`,
    usable: local || protocol === 'https:',
    options: { path: '/', httpOnly: true, sameSite: 'lax', secure: !local },
  };
}
