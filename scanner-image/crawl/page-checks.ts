/** Recognises responses that must not be tested as pages: errors, bot protection, sign-in pages, downloads. Pure. */
import type { PageFailureReason, UntestedPage } from '../../report/schema/schema.ts';

export interface WrongPage {
  reason: PageFailureReason;
  message: string;
}

/** A page as the report lists it. @param visit absent if it was not visited */
export const untestedPage = (
  url: string,
  { reason, message }: WrongPage,
  visit: { finalUrl: string | null; status: number | null; durationMs: number } = { finalUrl: null, status: null, durationMs: 0 },
): UntestedPage => ({
  url,
  final_url: visit.finalUrl,
  http_status: visit.status,
  tested: false,
  reason,
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

export function isHtml(contentType: string): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i.test(contentType);
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
  const disposition = headers['content-disposition'];
  if (disposition !== undefined && /^\s*attachment/i.test(disposition))
    return { reason: 'download', message: 'The URL is a download, not a web page.' };
  const type = headers['content-type'];
  // Without a content type the browser guesses one. The visit checks it after the document has loaded.
  if (type !== undefined && type.trim() !== '' && !isHtml(type))
    return { reason: 'not_html', message: `The URL returns ${type.split(';')[0]?.trim() ?? type}, not a web page.` };
  return null;
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
