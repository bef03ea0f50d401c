/** The home page: what Curbcut does, and the form of a public scan. */
import type { FastifyRequest } from 'fastify';
import type { Locale } from '../../../core/scan/locales.ts';
import { API_REFERENCE_PATH } from '../../../core/web-paths.ts';
import * as ui from '../../web/components.ts';
import { html, type Html } from '../../web/html.ts';
import { inLanguage } from '../../web/languages.ts';
import { publicPage } from '../../web/layout.ts';
import { aboutTime } from './about-time.ts';
import type { ScanForm } from './form.ts';
import { wordsIn } from '../../../report/words/words.ts';

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

function form({ locale, turnstile, typed, errors }: HomePageOptions): Html {
  const { home } = wordsIn(locale, 'publicPages').texts;
  const errorOf = (field: string): string | undefined => errors.find((error) => error.field === field)?.text;
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
