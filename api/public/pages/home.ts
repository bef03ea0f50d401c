/** The home page: what Curbcut does, and the form of a public scan. */
import type { FastifyRequest } from 'fastify';
import type { Locale } from '../../../core/scan/locales.ts';
import { API_REFERENCE_PATH } from '../../../core/web-paths.ts';
import * as ui from '../../web/components.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { EXAMPLE_FILE } from '../../web/assets.ts';
import { inLanguage } from '../../web/languages.ts';
import { publicPage } from '../../web/layout.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { isEmailAddress } from '../../../core/email-address.ts';
import { URL_MAX_LENGTH } from '../../../core/scan/targets.ts';
import { readAddress } from '../../../core/scan/site.ts';
import type { FormError } from '../../web/fields.ts';
import type { Form } from '../../web/html-scope.ts';
import type { PublicScanRefusal } from '../request-public-scan.ts';
import type { Words } from '../../../report/words/translated.ts';

/** Cloudflare Turnstile's widget. */
export interface TurnstileWidget {
  siteKey: string;
  /** The address of its script. */
  script: string;
}

export interface HomePageOptions {
  request: FastifyRequest;
  locale: Locale;
  /** Whether this installation offers public scans. */
  enabled: boolean;
  turnstile: TurnstileWidget | null;
  /** How long a test takes now, in seconds. Null: unknown. */
  seconds: number | null;
  typed: ScanForm;
  errors: readonly ui.FormError[];
}

export function homePage(options: HomePageOptions): Html {
  const { request, locale, enabled, turnstile, seconds, errors } = options;
  const { texts } = wordsIn(locale, 'publicPages');
  const { home } = texts;
  return publicPage({
    request,
    locale,
    title: ui.titleWithErrors(home.title, errors, locale),
    description: home.description,
    indexed: errors.length === 0,
    head: enabled && turnstile !== null && html`<script src="${turnstile.script}" async defer></script>`,
    body: html`<div class="hero">
        <div class="hero-text">
          <h1>${home.title}</h1>
          <p class="lead">${home.lead}</p>
        </div>
        <div class="hero-form">${enabled ? form(options) : disabled(locale)}</div>
        <div class="hero-more">
          <h2 class="heading-small">${home.getTitle}</h2>
          <ul class="ticks">${whatYouGet(seconds, locale).map((text) => html`<li>${text}</li>`)}</ul>
        </div>
      </div>
      <section class="uses" aria-labelledby="uses">
        <h2 id="uses">${home.usesTitle}</h2>
        <div class="columns">
          ${[home.ci, home.kubernetes, home.people].map(({ title, text }) => html`<div><h3>${title}</h3><p>${text}</p></div>`)}
        </div>
        <p>${ui.link(home.readMore, API_REFERENCE_PATH, { hreflang: 'en' })}</p>
      </section>
      <details class="card folded example">
        <summary><h2>${home.example.title}</h2></summary>
        <figure>
          <img src="${request.server.web.assets.url(EXAMPLE_FILE)}" alt="" width="596" height="842" loading="lazy" />
          <figcaption>${home.example.text}</figcaption>
        </figure>
      </details>
      <section class="honest" aria-labelledby="honest">
        <h2 id="honest">${home.honest.title}</h2>
        <p>${home.honest.text}</p>
      </section>`,
  });
}

function whatYouGet(seconds: number | null, locale: Locale): string[] {
  const { texts, format } = wordsIn(locale, 'publicPages');
  const { get, getIn } = texts.home;
  return seconds === null ? [...get] : [...get.slice(0, -1), format(getIn, { time: aboutTime(seconds, locale) })];
}

function form({ request, locale, turnstile, typed, errors }: HomePageOptions): Html {
  const { privacy } = request.server.web.legal;
  const { home } = wordsIn(locale, 'publicPages').texts;
  const errorOf = (field: string): HtmlValue => errors.find((error) => error.field === field)?.text;
  return html`<section class="card card-strong" aria-labelledby="form-title">
    ${ui.errorSummary(errors, locale)}
    <h2 id="form-title">${home.formTitle}</h2>
    <form method="post" action="${inLanguage(locale, '/scan-request')}" novalidate>
      ${ui.textField({
        name: 'url',
        label: home.url,
        hint: home.urlHint,
        error: errorOf('url'),
        value: typed.url,
        required: true,
        inputmode: 'url',
        autocomplete: 'url',
        spellcheck: false,
        attributes: { autocapitalize: 'none' },
      })}
      ${ui.textField({
        name: 'email',
        label: home.email,
        hint: home.emailHint,
        error: errorOf('email'),
        value: typed.email,
        required: true,
        type: 'email',
        autocomplete: 'email',
        spellcheck: false,
      })}
      ${privacy !== undefined && html`<p>${ui.link(wordsIn(locale, 'site').texts.privacy, privacy)}</p>`}
      ${turnstile !== null && botCheck(turnstile, locale)}
      ${ui.button({ text: home.submit, kind: 'primary' })}
    </form>
  </section>`;
}

const botCheck = ({ siteKey }: TurnstileWidget, locale: Locale): Html => {
  const { home } = wordsIn(locale, 'publicPages').texts;
  return html`<div class="field" role="group" aria-label="${home.botCheck}">
    <div class="cf-turnstile" data-sitekey="${siteKey}" data-language="${locale}" data-size="flexible" data-theme="auto"></div>
    <noscript>${ui.notice({ kind: 'warn', body: html`<p>${home.botCheckNeedsScripts}</p>` })}</noscript>
  </div>`;
};

function disabled(locale: Locale): Html {
  const { home } = wordsIn(locale, 'publicPages').texts;
  return ui.notice({ title: home.disabled.title, body: html`<p>${home.disabled.text}</p>` });
}

/** What was typed. */
export interface ScanForm {
  url: string;
  email: string;
}

type ReadScanForm =
  /** `url`: with a scheme. */
  | { ok: true; url: string; httpFallback: boolean; email: string; turnstileToken: string }
  /** `url`: null if it is wrong itself. */
  | { ok: false; errors: FormError[]; url: string | null };

/** The name of the field that Turnstile's script adds. */
const TURNSTILE_FIELD = 'cf-turnstile-response';

export const typedIn = (form: Form): ScanForm => ({ url: form.text('url'), email: form.text('email') });

export function readScanForm(form: Form, locale: Locale): ReadScanForm {
  const { texts, format } = wordsIn(locale, 'publicPages');
  const { url: typed, email } = typedIn(form);
  const { url, httpFallback = false } = readAddress(typed);
  const errors: FormError[] = [];
  const add = (field: string, text: string): void => void errors.push({ field, text });
  if (typed === '') add('url', texts.refused.urlMissing);
  else if (url.length > URL_MAX_LENGTH) add('url', format(texts.refused.urlTooLong, { max: URL_MAX_LENGTH }));
  else if (!URL.canParse(url) || /\s/.test(url)) add('url', texts.refused.urlInvalid);
  if (email === '') add('email', texts.refused.emailMissing);
  else if (!isEmailAddress(email)) add('email', texts.refused.emailInvalid);
  const urlIsWrong = errors.some(({ field }) => field === 'url');
  return errors.length > 0
    ? { ok: false, errors, url: urlIsWrong ? null : url }
    : { ok: true, url, httpFallback, email, turnstileToken: form.exact(TURNSTILE_FIELD) };
}

type TargetReason = Extract<PublicScanRefusal, { reason: 'target_refused' }>['target']['reason'];
type OtherReason = Exclude<PublicScanRefusal['reason'], 'target_refused' | 'rate_limited'>;
type TextName = keyof Words<'publicPages'>['refused'];

const TARGETS: Readonly<Record<TargetReason, TextName>> = {
  not_a_url: 'urlInvalid',
  too_long: 'urlTooLong',
  scheme: 'urlScheme',
  credentials: 'urlCredentials',
  port: 'urlPort',
  private_address: 'urlPrivate',
  unresolvable: 'urlUnresolvable',
};

/** In seconds, for refusals that pass. */
const SOON = 60;
const LATER = 180;

const OTHERS: Readonly<Record<OtherReason, { text: TextName; status: number; retryAfterSeconds?: number }>> = {
  public_scans_disabled: { text: 'disabled', status: 403 },
  turnstile_refused: { text: 'turnstileRefused', status: 422 },
  turnstile_unavailable: { text: 'turnstileUnavailable', status: 503, retryAfterSeconds: SOON },
  in_progress: { text: 'inProgress', status: 503, retryAfterSeconds: SOON },
  dns_unavailable: { text: 'dnsUnavailable', status: 503, retryAfterSeconds: SOON },
  queue_paused: { text: 'queuePaused', status: 503, retryAfterSeconds: LATER },
  queue_full: { text: 'busy', status: 503, retryAfterSeconds: LATER },
  organisation_full: { text: 'busy', status: 503, retryAfterSeconds: LATER },
  resource_rejected: { text: 'internal', status: 500 },
};

interface RefusedForm {
  status: number;
  /** Seconds for `Retry-After`; null if waiting does not help. */
  retryAfterSeconds: number | null;
  errors: FormError[];
}

/** The answer to a refused request, in the visitor's language. */
export function describeRefusal(refusal: PublicScanRefusal, locale: Locale): RefusedForm {
  const { texts, format, count } = wordsIn(locale, 'publicPages');
  if (refusal.reason === 'target_refused') {
    const text = format(texts.refused[TARGETS[refusal.target.reason]], { max: URL_MAX_LENGTH });
    return { status: 422, retryAfterSeconds: null, errors: [{ field: 'url', text }] };
  }
  if (refusal.reason === 'rate_limited') {
    const { retryAfterSeconds } = refusal;
    const minutes = Math.max(1, Math.ceil(retryAfterSeconds / 60));
    const when = minutes < 60 ? count(texts.inMinutes, minutes) : count(texts.inHours, Math.ceil(minutes / 60));
    return { status: 429, retryAfterSeconds, errors: [{ field: null, text: format(texts.refused.rateLimited, { when }) }] };
  }
  const { text, status, retryAfterSeconds = null } = OTHERS[refusal.reason];
  return { status, retryAfterSeconds, errors: [{ field: null, text: texts.refused[text] }] };
}

/** An estimated time in words: seconds up to a minute and a half, then minutes. */
export function aboutTime(seconds: number, locale: Locale): string {
  const { texts, count } = wordsIn(locale, 'publicPages');
  return seconds <= 90 ? count(texts.aboutSeconds, seconds) : count(texts.aboutMinutes, Math.ceil(seconds / 60));
}
