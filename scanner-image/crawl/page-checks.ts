/** Tells a page that must not be tested from one that may: errors, walls, sign-in pages and what is no page at all. Pure. */
import type { PageFailureReason } from '../../core/report/schema.ts';

export interface WrongPage {
  reason: PageFailureReason;
  message: string;
}

/** A document's answer, before anything of it is shown. Header names are in lower case. */
export interface Answer {
  url: string;
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** Marks of the walls that ask whether a visitor is a person: in headers, and in the text of the page they show. */
const WALLS: readonly { name: string; headers?: (headers: Answer['headers']) => boolean; body?: RegExp }[] = [
  {
    name: 'Cloudflare',
    headers: (headers) => headers['cf-mitigated'] === 'challenge',
    body: /<title>\s*(Just a moment\.\.\.|Attention Required! \| Cloudflare)|window\._cf_chl_opt|id="(?:challenge-form|cf-challenge-running)"/i,
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
  { name: 'Anubis', body: /id="anubis_challenge"/ },
];

/** The wall that an answer is, or null. `body` may be the beginning of it. */
export function botWall(headers: Answer['headers'], body: string): string | null {
  const wall = WALLS.find(({ headers: inHeaders, body: inBody }) => inHeaders?.(headers) === true || inBody?.test(body) === true);
  return wall?.name ?? null;
}

/** How long a `Retry-After` asks to wait, in milliseconds; null where it asks nothing that can be read. */
export function retryAfterMs(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\s*\d{1,6}\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** True for a type that a browser shows as a web page. */
export function isHtml(contentType: string): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType);
}

/** Judges an answer by its head alone; null where the page may be shown. Errors are judged with their body, see `judgeError`. */
export function judgeHead({ status, headers }: Answer): WrongPage | null {
  if (status === 204 || status === 205) return { reason: 'not_html', message: `The server answers ${status}: there is nothing to show.` };
  const disposition = headers['content-disposition'];
  if (disposition !== undefined && /^\s*attachment/i.test(disposition))
    return { reason: 'download', message: 'The URL is a download, not a web page.' };
  const type = headers['content-type'];
  // Without a type the browser sniffs, and the document's own type is asked afterwards.
  if (type !== undefined && type.trim() !== '' && !isHtml(type))
    return { reason: 'not_html', message: `The URL is ${type.split(';')[0]?.trim() ?? type}, not a web page.` };
  return null;
}

const MEANING: Readonly<Record<number, string>> = {
  401: 'it needs a sign-in',
  403: 'access is forbidden',
  404: 'there is no such page',
  407: 'a proxy wants a sign-in',
  410: 'the page is gone',
  429: 'too many requests were made',
  451: 'it is withheld for legal reasons',
  503: 'it is not available at the moment',
};

/** Judges an answer that is an error. */
export function judgeError({ status, headers }: Answer, body: string): WrongPage {
  const wall = botWall(headers, body);
  if (wall !== null)
    return {
      reason: 'bot_wall',
      message: `A bot wall (${wall}) stands before the page (status ${status}). Let the user agent that contains "Curbcut" through.`,
    };
  const meaning = MEANING[status] ?? (status >= 500 ? 'the server failed' : 'the request was not answered with a page');
  return { reason: 'http_error', message: `The server answers ${status}: ${meaning}.` };
}

const SIGN_IN_PATH =
  /(?:^|[/._-])(?:log|sign)[-_]?(?:in|on)(?:$|[/.])|(?:^|\/)(?:sso|saml|oauth2?|auth|authorize|openid|adfs|cas|konto|anmelden|connexion|inloggen)(?:$|[/._-])/i;

/** True where a page looks like the sign-in to which somebody else's page redirected: it was asked for at another path, and wants a password. */
export function isSignInPage(requested: URL, final: URL, passwordField: boolean): boolean {
  if (requested.pathname.replace(/\/+$/, '') === final.pathname.replace(/\/+$/, '') && requested.host === final.host) return false;
  const looksLike = SIGN_IN_PATH.test(final.pathname) || /[?&](?:return|redirect|next|continue|target|goto|back)\w*=/i.test(final.search);
  return passwordField ? looksLike : SIGN_IN_PATH.test(final.pathname) && !SIGN_IN_PATH.test(requested.pathname);
}
