/** The frame of every page: head, header with navigation, main part, footer. */
import type { FastifyRequest } from 'fastify';
import { type Locale, LOCALES } from '../../core/scan/locales.ts';
import { DASHBOARD_PATH, DOCS_PATH, KNOWN_ISSUES_PATH, SCANS_PATH } from '../../core/web-paths.ts';
import { wordsIn } from '../../report/words/words.ts';
import { addressOf, attributes, html, type Html, type HtmlValue } from '../../report/html/html.ts';
import { FONT_FILE } from '../../report/html/tokens.ts';
import { currentLocale } from '../../report/words/current.ts';
import { inLanguage, splitLanguage } from './languages.ts';
import { legalFooter } from './legal.ts';
import { m, t, tr } from './texts.ts';
import { button, logo, visuallyHidden } from '../../report/html/elements.ts';
import { hiddenField } from './fields.ts';

/** The person who is signed in, as layouts need it. The session plugin sets `request.viewer`. */
export interface Viewer {
  email: string;
  /** The display name of the organisation that the session acts for. Null: none. */
  organisationName: string | null;
  permissions: readonly string[];
  /** The token of the sign-out form. */
  csrfToken: string;
}

interface PageOptions {
  request: FastifyRequest;
  /** The page's name. The layout adds the name of the product. */
  title: string;
  /** The content of the main part, with the page's only `h1`. */
  body: HtmlValue;
  /** Additional modules of `assets/`. */
  scripts?: readonly string[];
}

export interface PublicPageOptions extends PageOptions {
  locale: Locale;
  /** One sentence for search results. */
  description?: string;
  /** Whether search engines may list the page. Default: no. */
  indexed?: boolean;
  /** Whether the page exists in all languages. Default: yes. */
  translated?: boolean;
  /** Additional elements of the head. */
  head?: HtmlValue;
}

/** A page for everybody, in one of the five languages. */
export function publicPage(options: PublicPageOptions): Html {
  const { request, locale, title, description, body, indexed = false, translated = true, head, scripts } = options;
  const { web } = request.server;
  const { texts } = wordsIn(locale, 'site');
  const path = pathOf(request);
  const [canonical = '/'] = path.split('?');
  const alternates = [...LOCALES.map((one) => [one, inLanguage(one, canonical)] as const), ['x-default', canonical] as const].map(
    ([language, address]) => html`<link rel="alternate" hreflang="${language}" href="${web.publicBaseUrl + address}" />`,
  );
  return document({
    request,
    locale,
    title,
    scripts,
    head: html`${description !== undefined && html`<meta name="description" content="${description}" />`}
    ${!indexed && html`<meta name="robots" content="noindex" />`}
    ${indexed && html`<link rel="canonical" href="${web.publicBaseUrl + inLanguage(locale, canonical)}" />${translated && alternates}`}
    ${head}`,
    body: html`<header class="site-header">
        <div class="site-header-inner">
          <a class="brand" href="${inLanguage(locale, '/')}" aria-label="${texts.home}">${logo}<span>Curbcut</span></a>
          ${translated && languageSwitch(locale, (one) => inLanguage(one, path))}
          <nav class="site-nav" aria-label="${texts.mainNavigation}">
            <ul>
              <li><a href="${DOCS_PATH}" hreflang="en">${texts.documentation}</a></li>
              ${web.dashboard && html`<li><a href="/dashboard?language=${locale}">${texts.dashboard}</a></li>`}
            </ul>
          </nav>
        </div>
      </header>
      <main id="main" tabindex="-1">${body}</main>
      <footer class="site-footer">
        <div class="site-footer-inner">
          <p>${texts.footer}</p>
          ${legalFooter(web.legal, locale)}
        </div>
      </footer>`,
  });
}

/** Links to the same page in the other languages. */
function languageSwitch(locale: Locale, href: (locale: Locale) => string): Html {
  const items = LOCALES.map(
    (one) =>
      html`<li><a${attributes({ href: href(one), lang: one, hreflang: one, 'aria-current': one === locale ? 'page' : undefined })}>${wordsIn(one, 'site').texts.name}</a></li>`,
  );
  return html`<nav class="languages" aria-label="${wordsIn(locale, 'site').texts.language}">
    <ul>
      ${items}
    </ul>
  </nav>`;
}

/** The address of this page in English, with its query. A form's page has the address of its form. */
function pathOf(request: FastifyRequest): string {
  const { path } = splitLanguage(request.url);
  return path === '/scan-request' ? '/' : path;
}

/** The parts of the dashboard, in the order of its navigation. */
const DASHBOARD_PARTS = [
  { id: 'sites', text: m`Sites`, href: DASHBOARD_PATH, permission: 'scans:read' },
  { id: 'scans', text: m`Scans`, href: SCANS_PATH, permission: 'scans:read' },
  { id: 'schedules', text: m`Schedules`, href: '/dashboard/schedules', permission: 'scans:read' },
  { id: 'known-issues', text: m`Known issues`, href: KNOWN_ISSUES_PATH, permission: 'scans:read' },
  { id: 'credits', text: m`Credits`, href: '/dashboard/credits', permission: 'credits:read' },
  { id: 'api-keys', text: m`API keys`, href: '/dashboard/settings/api-keys', permission: 'keys:write' },
  { id: 'webhooks', text: m`Webhooks`, href: '/dashboard/settings/webhooks', permission: 'webhooks:write' },
  { id: 'members', text: m`Members`, href: '/dashboard/settings/members', permission: 'members:write' },
  { id: 'security', text: m`Security`, href: '/dashboard/settings/security', permission: 'members:write' },
  { id: 'audit-log', text: m`Audit log`, href: '/dashboard/settings/audit-log', permission: 'audit:read' },
] as const;

export type DashboardPart = (typeof DASHBOARD_PARTS)[number]['id'] | 'account' | 'organisations';

export interface DashboardPageOptions extends PageOptions {
  /** The part of the dashboard that the page belongs to. Null for pages before sign-in. */
  active: DashboardPart | null;
}

/** A page of the dashboard, in the language of the reader. The navigation shows the parts that the person may see. */
export function dashboardPage({ request, title, active, body, scripts }: DashboardPageOptions): Html {
  const locale = currentLocale();
  const { texts } = wordsIn(locale, 'site');
  const viewer = request.viewer;
  const parts = viewer === null ? [] : DASHBOARD_PARTS.filter(({ permission }) => viewer.permissions.includes(permission));
  const [path = ''] = request.url.split('?');
  const query = request.query as Record<string, string>;
  const current = (id: DashboardPart): string | undefined => (id === active ? 'page' : undefined);
  return document({
    request,
    locale,
    title,
    scripts,
    head: html`<meta name="robots" content="noindex" />`,
    body: html`<header class="site-header">
        <div class="site-header-inner">
          <a class="brand" href="${viewer === null ? '/' : '/dashboard'}" aria-label="${viewer === null ? texts.home : t`Curbcut dashboard`}"
            >${logo}<span>Curbcut</span></a
          >
          ${viewer === null && request.reader !== null && languageSwitch(locale, (one) => addressOf(path, { ...query, language: one }))}
          ${viewer && accountMenu(viewer, current)}
        </div>
        ${
          parts.length > 0 &&
          html`<nav class="dashboard-nav" aria-label="${texts.mainNavigation}">
            <details class="folded-when-narrow">
              <summary>${t`Menu`}${parts.map(({ id, text }) => id === active && `: ${tr(text)}`)}</summary>
              <ul>
                ${parts.map(({ id, text, href }) => html`<li><a${attributes({ href, 'aria-current': current(id) })}>${tr(text)}</a></li>`)}
              </ul>
            </details>
          </nav>`
        }
      </header>
      <main id="main" tabindex="-1" data-stopped="${t`This page is no longer refreshed. Reload it to see the current state.`}">${body}</main>
      <footer class="site-footer">
        <div class="site-footer-inner">
          <p>${texts.footer}</p>
          <p data-zone-name hidden>${t`Times are in the zone of your browser:`} </p>
          <p><a href="${DOCS_PATH}">${texts.documentation}</a></p>
          ${legalFooter(request.server.web.legal, locale)}
        </div>
      </footer>`,
  });
}

const accountMenu = (viewer: Viewer, current: (id: DashboardPart) => string | undefined): Html =>
  html`<div class="account">
    <a${attributes({ class: 'account-organisation', href: '/dashboard/organisations', 'aria-current': current('organisations') })}
      >${viewer.organisationName ?? t`Organisations`}${viewer.organisationName !== null && visuallyHidden(t` (switch organisation)`)}</a
    >
    <a${attributes({ href: '/dashboard/account', 'aria-current': current('account') })}>${viewer.email}</a>
    <form method="post" action="/dashboard/sign-out">${hiddenField('_csrf', viewer.csrfToken)}${button({ text: t`Sign out`, kind: 'quiet' })}</form>
  </div>`;

interface DocumentOptions extends PageOptions {
  locale: Locale;
  head: HtmlValue;
}

function document({ request, locale, title, head, body, scripts = [] }: DocumentOptions): Html {
  const { assets } = request.server.web;
  return html`<!doctype html>
    <html lang="${locale}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title === 'Curbcut' ? title : `${title} – Curbcut`}</title>
        <link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml" />
        <link rel="preload" href="${assets.url(FONT_FILE)}" as="font" type="font/woff2" crossorigin />
        <link rel="stylesheet" href="${assets.url('site.css')}" />
        <script type="module" src="${assets.url('times.js')}" blocking="render"></script>
        ${['site.js', ...scripts].map((name) => html`<script type="module" src="${assets.url(name)}"></script>`)} ${head}
      </head>
      <body>
        <a class="skip-link" href="#main">${wordsIn(locale, 'site').texts.skip}</a>
        ${body}
      </body>
    </html> `;
}
