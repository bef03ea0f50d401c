/** The pages of errors: what happened, what to do, and the ID of the request. */
import type { FastifyRequest } from 'fastify';
import { isSafe } from '../accounts/sessions/plugin.ts';
import { ApiError, type ErrorCode, statusOf, type ValidationFailure } from '../http/errors.ts';
import type { Words } from '../../report/words/translated.ts';
import { wordsIn } from '../../report/words/words.ts';
import { actions, button, linkButton } from '../../report/html/elements.ts';
import { html, type Html } from '../../report/html/html.ts';
import { currentLocale } from '../../report/words/current.ts';
import { inLanguage, splitLanguage } from './languages.ts';
import { t } from './texts.ts';
import { dashboardPage, publicPage } from './layout.ts';
import { hiddenField } from './fields.ts';

/** The errors that have a page of their own. `invalid` stands for every other 4xx. */
type PageError = keyof Words<'site'>['errors'];

const BY_STATUS: Readonly<Record<number, PageError>> = {
  403: 'forbidden',
  404: 'missing',
  405: 'method',
  413: 'tooLarge',
  429: 'tooMany',
  503: 'unavailable',
};

const BY_CODE: Partial<Record<ErrorCode, PageError>> = {
  account_blocked: 'blocked',
  cross_site_request: 'crossSite',
  live_scans_exceeded: 'busy',
  queue_full: 'busy',
  queue_paused: 'busy',
  replica_busy: 'busy',
  streams_full: 'busy',
};

/** Which page an error gets. @param changes whether the request may have changed something */
export function pageErrorOf(error: ApiError | ValidationFailure, changes: boolean): PageError {
  const known = error instanceof ApiError ? BY_CODE[error.code] : undefined;
  if (known !== undefined) return known;
  const status = statusOf(error);
  if (status === 503 && changes) return 'unconfirmed';
  return BY_STATUS[status] ?? (status >= 500 ? 'internal' : 'invalid');
}

/** Whether the client wants a page. REST paths never answer with one; page routes do unless only JSON is accepted. */
export function wantsPage(request: FastifyRequest): boolean {
  // Null: Fastify rejected the request before any hook ran.
  if (request.logFields === null || /^\/v\d+(?:[/?]|$)/.test(request.url)) return false;
  const accept = request.headers.accept ?? '*/*';
  if (request.routeOptions.config.page === true) return !/\bjson\b/i.test(accept) || /\btext\/html\b/i.test(accept);
  return /\btext\/html\b/i.test(accept);
}

export function errorPage(request: FastifyRequest, error: ApiError | ValidationFailure): Html {
  const { locale: ofAddress, path } = splitLanguage(request.url);
  const inDashboard = path.startsWith('/dashboard');
  const locale = inDashboard ? currentLocale() : ofAddress;
  const { texts, format, count } = wordsIn(locale, 'site');
  const { title, text } = texts.errors[pageErrorOf(error, !isSafe(request))];
  const seconds = error instanceof ApiError ? error.retryAfterSeconds : null;
  // Also without a session that was read, as on a path that does not exist: signing in leads to the dashboard.
  const home =
    inDashboard && request.server.web.dashboard
      ? { text: t`Go to the dashboard`, href: '/dashboard' }
      : { text: texts.goHome, href: inLanguage(locale, '/') };
  const body = html`<div class="narrow">
    <h1>${title}</h1>
    <p class="lead">${text}${seconds !== null && html` ${count(texts.retryIn, seconds)}`}</p>
    ${actions(linkButton({ ...home, kind: 'primary' }))}
    <p class="soft">${format(texts.requestId, { id: request.id })}</p>
  </div>`;
  return inDashboard
    ? dashboardPage({ request, title, active: null, body })
    : publicPage({ request, locale, title, body, translated: false });
}

interface FormExpired {
  request: FastifyRequest;
  formAddress: string;
}

export function formExpiredPage({ request, formAddress }: FormExpired): Html {
  const kept = keptFields(request);
  const title = t`The form was not saved`;
  const open = linkButton({ text: t`Open the form again`, href: formAddress, kind: kept === null ? 'primary' : 'quiet' });
  return dashboardPage({
    request,
    title,
    active: null,
    body: html`<div class="narrow">
      <h1>${title}</h1>
      <p class="lead">${t`It was opened before your current sign-in, or the browser did not send it completely. Nothing was changed.`} ${kept === null ? t`Open the form again and fill it in.` : t`What you entered is kept: send it again.`}</p>
      ${
        kept === null
          ? actions(open)
          : html`<form method="post" action="${request.url}">
              ${hiddenField('_csrf', request.viewer!.csrfToken)} ${kept.map(([name, value]) => hiddenField(name, value))}
              ${actions(button({ text: t`Send again`, kind: 'primary' }), open)}
            </form>`
      }
    </div>`,
  });
}

/**
 * The fields that can be sent again. Null if the browser does not confirm that a page of this service sent the form. Null also if
 * the form has a password, which is never written into a page.
 */
function keptFields({ headers, body }: FastifyRequest): [name: string, value: string][] | null {
  if (headers['sec-fetch-site'] !== 'same-origin') return null;
  const fields = Object.entries((body ?? {}) as Record<string, unknown>).filter(([name]) => name !== '_csrf');
  if (fields.some(([name]) => name.includes('password'))) return null;
  return fields.flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, String(value)]));
}
