/** Recognises responses that must not be tested as pages: errors, bot protection, sign-in pages, downloads. Pure. */
import type { PageFailureReason, UntestedPage } from '../../report/schema/page.ts';

export interface WrongPage {
  reason: PageFailureReason;
  message: string;
  /** The type of a file, if the site names one. */
  mediaType?: string;
  /** A file that browsers save. They keep displaying the page that leads to it. */
  saved?: true;
}

export const OUT_OF_TIME: WrongPage = { reason: 'timeout', message: 'The scan reached its deadline before this page was tested.' };

/** A page as the report lists it. @param visit absent if it was not visited */
export const untestedPage = (
  url: string,
  { reason, message, mediaType }: WrongPage,
  visit: { finalUrl: string | null; status: number | null; durationMs: number } = { finalUrl: null, status: null, durationMs: 0 },
): UntestedPage => ({
  url,
  final_url: visit.finalUrl,
  http_status: visit.status,
  tested: false,
  reason,
  ...(mediaType !== undefined && { media_type: mediaType }),
  message,
  duration_ms: visit.durationMs,
});

/** The response of a document, before it is displayed. Header names are in lower case. */
export interface Answer {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** How bot protection products are recognised: by response headers, or by the HTML of the challenge page. */
const BOT_PROTECTION: readonly { name: string; headers?: (headers: Answer['headers']) => boolean; body?: RegExp }[] = [
  {
    name: 'Cloudflare',
    headers: (headers) => headers['cf-mitigated'] === 'challenge',
    body: /<title>\s*(Just a moment\.\.\.|Attention Required! \| Cloudflare)|used Cloudflare to restrict access|window\._cf_chl_opt|id="(?:challenge-form|cf-challenge-running)"/i,
  },
  {
    name: 'AWS WAF',
    headers: (headers) => /captcha|challenge/.test(headers['x-amzn-waf-action'] ?? ''),
    body: /AwsWafIntegration|awswaf\.com\/[^"']*challenge\.js/,
  },
  { name: 'DataDome', body: /geo\.captcha-delivery\.com|ct\.captcha-delivery\.com/ },
  { name: 'HUMAN', body: /id=["']px-captcha["']|window\._pxAppId[^<]*captcha/ },
  { name: 'Imperva', body: /_Incapsula_Resource[^"']*(?:SWUDNSAI|CWUDNSAI)|Incapsula incident ID/ },
  {
    name: 'Akamai',
    body: /<title>\s*Access Denied\s*<\/title>[\s\S]*(?:errors\.edgesuite\.net|Reference\s*(?:&#32;|\s)*(?:&#35;|#))|id="sec-if-cpt-container"/i,
  },
  { name: 'Sucuri', body: /Sucuri WebSite Firewall - (?:Access Denied|CloudProxy)/i },
  { name: 'Vercel', body: /<title>\s*Vercel Security Checkpoint/i },
  { name: 'F5', body: /<title>\s*Request Rejected\s*<\/title>[\s\S]*support ID/i },
  { name: 'Kasada', body: /window\.KPSDK\s*=/ },
  { name: 'Wordfence', body: /Your access to this (?:site|service) has been (?:temporarily )?limited[\s\S]*Wordfence/i },
  { name: 'DDoS-Guard', body: /<title>\s*DDoS-Guard\s*<\/title>/i },
  { name: 'Fastly', body: /<title>\s*Client Challenge\s*<\/title>/i },
  { name: 'Radware', body: /validate\.perfdrive\.com/ },
  { name: 'SiteGround', body: /\/\.well-known\/sgcaptcha\// },
  { name: 'Imunify360', body: /(?:denied|protected) by Imunify360/i },
  { name: 'Azure WAF', body: /<title>\s*Azure WAF\s*<\/title>/i },
  { name: 'Anubis', body: /id="anubis_challenge"/ },
];

/** Returns the bot protection product that sent the page, or null. `body` may be truncated. */
export function botProtection(headers: Answer['headers'], body: string): string | null {
  const product = BOT_PROTECTION.find(
    ({ headers: inHeaders, body: inBody }) => inHeaders?.(headers) === true || inBody?.test(body) === true,
  );
  return product?.name ?? null;
}

export function botProtectionMessage(product: string, status?: number): string {
  const detail = status === undefined ? product : `${product}, status ${status}`;
  return `Bot protection (${detail}) blocks the page. Allow the user agent that contains "Curbcut".`;
}

/** Parses `Retry-After` into milliseconds; null if it is absent or invalid. */
export function retryAfterMs(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  if (/^\s*\d{1,6}\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}

/** The types of a header, without parameters. Proxies may add one, and the browser uses the last. It ignores what is no type. */
const typesOf = (contentType: string): string[] =>
  contentType.split(',').flatMap((type) => /^\s*(?!\*)([^\s;/]+\/[^\s;]+)/.exec(type)?.[1]?.toLowerCase() ?? []);

/** Whether a browser may display a response with this type as a page. The type of the displayed document says whether it does. */
export function isHtml(contentType: string): boolean {
  return typesOf(contentType).some((type) => type === 'text/html' || type === 'application/xhtml+xml');
}

/**
 * What browsers display instead of a page: text, data and media that they know (Chromium's net/base/mime_util). Everything else they
 * save, and so they do some kinds of text.
 */
const DISPLAYED = [
  /^text\//,
  /^image\/(?:png|apng|jpe?g|gif|webp|avif|bmp|svg\+xml|x-icon|vnd\.microsoft\.icon)$/,
  /^(?:audio|video)\/(?:mp4|mpeg|mp3|ogg|wav|x-wav|webm|flac|aac|x-m4a)$/,
  /^application\/(?:pdf|javascript|ecmascript|ogg|xml|json|(?:atom|rss|xhtml)\+xml|.*\+json)$/,
];
const SAVED_TEXT = /^text\/(?:x-)?(?:v?calendar|vcard|vcf|directory|ldif|qif|csv|rtf|comma-separated-values|tab-separated-values|tsv|ofx)$/;

/** An address that the site answers with a file. @param type null if the browser found out by the content */
export function fileAnswer(type: string | null): WrongPage {
  if (type === null) return { reason: 'document', message: 'The URL is a download, not a web page.' };
  const saved = !DISPLAYED.some((known) => known.test(type)) || SAVED_TEXT.test(type);
  return { reason: 'document', message: `The URL returns ${type}, not a web page.`, mediaType: type, ...(saved && { saved }) };
}

/** @param error the browser's message about a document in XML that is not well formed */
export const notWellFormed = (error: string): string =>
  `The document is no well-formed XML, so browsers show an error and only the content before it: ${error.replace(/[\s.]+$/, '')}. Correct it, or serve it as text/html.`;

/** What a browser makes of a response without content. */
export const EMPTY_DOCUMENT = /^<html><head><\/head><body><\/body><\/html>$/;

/** Checks a response by its headers. Returns null if the page may be displayed. For error statuses, use `failureOfStatus`, which needs the body. */
export function checkHeaders({ status, headers }: Answer): WrongPage | null {
  if (status === 204 || status === 205)
    return { reason: 'not_html', message: `The server responded with status ${status}, which has no content.` };
  const type = headers['content-type'] ?? '';
  const last = typesOf(type).at(-1) ?? null;
  if (/^\s*attachment/i.test(headers['content-disposition'] ?? ''))
    return { ...fileAnswer(null), ...(last !== null && { mediaType: last }), saved: true };
  // Without a content type the browser guesses one. The visit checks it after the document has loaded.
  return last === null || isHtml(type) ? null : fileAnswer(last);
}

const MEANING: Readonly<Record<number, string>> = {
  401: 'authentication is required',
  403: 'access is forbidden',
  404: 'the page does not exist',
  407: 'a proxy requires authentication',
  410: 'the page was removed',
  429: 'too many requests',
  451: 'the page is unavailable for legal reasons',
  503: 'the service is unavailable',
};

/** Statuses with which bot protection refuses a client, and the captchas of such responses. Forms on other pages have captchas too. */
const REFUSED = new Set([403, 429, 503]);
const CAPTCHA = /js\.hcaptcha\.com|(?:google\.com|recaptcha\.net)\/recaptcha\/|challenges\.cloudflare\.com\/turnstile/;

/** The failure of a response with an error status. `body` may be truncated. */
export function failureOfStatus({ status, headers }: Answer, body: string): WrongPage {
  const product = botProtection(headers, body) ?? (REFUSED.has(status) && CAPTCHA.test(body) ? 'a captcha' : null);
  if (product !== null) return { reason: 'bot_wall', message: botProtectionMessage(product, status) };
  const meaning = MEANING[status] ?? (status >= 500 ? 'the server failed' : 'the response is not a page');
  return { reason: 'http_error', message: `The server responded with status ${status}: ${meaning}.` };
}

// A sign-in page that a site displays instead of the requested page.

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
interface Displayed {
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
