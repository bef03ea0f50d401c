/** Recognises a sign-in page that a site displays instead of the requested page. Pure. */

/** The form of a document that asks for a password or a user name, as the script in the page describes it. */
export interface SignInForm {
  /** The number of visible password fields. */
  passwords: number;
  /** Whether one of them asks for a new password. */
  newPassword: boolean;
  /** The number of visible fields of the document that a person fills in. */
  fields: number;
  /** The length of the visible text outside the form, without the site's header, navigation and footer, in characters. */
  textOutside: number;
  /** The title and headings of the document and the buttons of the form. */
  label: string;
}

/** What is known about the displayed document. */
export interface Displayed {
  /** The URL after all redirects, also those by scripts. */
  url: URL;
  form: SignInForm | null;
  /** Whether the page was loaded with a sign-in. */
  signedIn: boolean;
}

/** Words that mean "sign in" in a path. As names of pages they mean nothing else. */
const SIGN_IN =
  /(?:^|[/._-])(?:(?:log|sign)[-_]?(?:in|on)|anmelden|anmeldung|einloggen|connexion|inloggen|aanmelden|logowanie|zaloguj)(?:$|[/.])/i;
/** Protocols and words that can mean "sign in", but also a language (`/cas/`), a chapter of a manual (`/docs/auth/`) or an account. */
const MAYBE_SIGN_IN =
  /(?:^|[/._-])(?:sso|saml2?|oauth2?|auth|authorize|authenticate|openid|oidc|adfs|cas|konto|account|session)(?:$|[/._-])/i;
/** Parameters that name the page to return to. */
const RETURN_PARAMETER =
  /^(?:return|redirect|next|continue|target|goto|back|from|dest|destination|service|ref)(?:$|[-_]?(?:to|url|uri|path|page)$)/i;
/** The words of sign-in pages in the languages of most sites. */
const SIGN_IN_LABEL =
  /\b(?:log|sign)[ -]?(?:in|on)\b|\banmeld|\beinlogg|\bconnexion\b|\bse connecter\b|\bidentifi(?:ez|cation)|\binlogg|\baanmeld|\bzalogu|\blogowani|\biniciar sesi|\baccedi\b|\bentrar\b|\blogga in\b|\blog ind\b|\bkirjaudu\b|\bpřihlá|ログイン|サインイン|登录|登入|로그인|\bвойти\b|\bвход\b/iu;

/** A form with more fields registers a person or asks for something else. A sign-in may ask for an organisation and a code too. */
const SIGN_IN_FIELDS_MAX = 4;
/** A page with more text outside the form has content of its own. */
const TEXT_OUTSIDE_MAX = 400;

/**
 * Whether a site displays a sign-in page instead of the requested page. A path alone proves nothing: the page must have a
 * password field, or its URL must be the request of a sign-in protocol. A sign-in page that was requested by its own URL is a
 * page like any other, and so is a sign-in form at the root of a site.
 */
export function isSignInPage(requested: URL, { url, form, signedIn }: Displayed): boolean {
  if (SIGN_IN.test(requested.pathname)) return false;
  const moved = withoutSlash(requested.pathname) !== withoutSlash(url.pathname) || requested.host !== url.host;
  if (moved && isProtocolRequest(url)) return true;
  if (form === null) return false;
  const returns = [...url.searchParams].some(([name, value]) => RETURN_PARAMETER.test(name) && /^(?:\/|https?:)/i.test(value));
  if (form.passwords === 0) return moved && returns && SIGN_IN.test(url.pathname) && SIGN_IN_LABEL.test(form.label);
  if (moved && (SIGN_IN.test(url.pathname) || returns)) return true;
  if (!isOnlySignIn(form)) return false;
  return (moved && MAYBE_SIGN_IN.test(url.pathname)) || signedIn || withoutSlash(requested.pathname) !== '';
}

/**
 * Whether a script that loads this address on its own redirects to a sign-in page. A person who follows a link may do the same,
 * but nobody uses the page during a test.
 */
export function isSignInRedirect(requested: URL, url: URL): boolean {
  return !SIGN_IN.test(requested.pathname) && (SIGN_IN.test(url.pathname) || isProtocolRequest(url));
}

/** Whether the document has nothing but a form to sign in. */
function isOnlySignIn({ passwords, newPassword, fields, textOutside, label }: SignInForm): boolean {
  return passwords === 1 && !newPassword && fields <= SIGN_IN_FIELDS_MAX && textOutside <= TEXT_OUTSIDE_MAX && SIGN_IN_LABEL.test(label);
}

/** Whether a URL is a request of OAuth 2 (RFC 6749, 4.1.1), OpenID 2, SAML 2, WS-Federation or CAS 3 to sign in. */
function isProtocolRequest({ pathname, searchParams }: URL): boolean {
  if (searchParams.has('SAMLRequest') || searchParams.has('openid.mode') || searchParams.has('wtrealm')) return true;
  if (searchParams.has('client_id') && (searchParams.has('redirect_uri') || searchParams.has('response_type'))) return true;
  return /\/cas\/login\/?$/i.test(pathname) && /^https?:/i.test(searchParams.get('service') ?? '');
}

const withoutSlash = (path: string): string => path.replace(/\/+$/, '');
