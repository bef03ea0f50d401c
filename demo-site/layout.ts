/** The document around every page: head, skip link, header, navigation, heading, footer. */
import { escape, text, type Context, type Page, type Section, type Shell } from './page.ts';

const NAVIGATION: readonly { section: Section; page: string; label: ReturnType<typeof text> }[] = [
  { section: 'visit', page: 'visit', label: text('Visit', 'Besuch') },
  { section: 'catalogue', page: 'catalogue', label: text('Catalogue', 'Katalog') },
  { section: 'events', page: 'events', label: text('Events', 'Termine') },
  { section: 'media', page: 'listen', label: text('Listen &amp; watch', 'Hören &amp; sehen') },
  { section: 'children', page: 'children', label: text('Children', 'Kinder') },
  { section: 'about', page: 'about', label: text('About us', 'Über uns') },
];

export const LOGO = `<svg class="logo" viewBox="0 0 48 48" width="44" height="44" aria-hidden="true" focusable="false"><rect width="48" height="48" rx="12" fill="#143d33"/><path d="M9 14q8-4 15 1v21q-7-5-15-1z" fill="#f6e7d0"/><path d="M39 14q-8-4-15 1v21q7-5 15-1z" fill="#f2c14e"/></svg>`;

/** A whole document. `there` is the path of the same page in the other language. */
export function document(
  page: Page,
  c: Context,
  crumbs: readonly Page[],
  addresses: { origin: string; here: string; there: string },
): string {
  const { t, lang } = c;
  const usual: Shell = {
    htmlAttributes: `lang="${lang}"`,
    title: `<title>${escape(t(page.title))} · ${t(text('Lindenau Town Library', 'Stadtbibliothek Lindenau'))}</title>`,
    viewport: 'width=device-width, initial-scale=1',
    head: '',
  };
  const shell = { ...usual, ...page.shell?.(c, usual) };
  const body = page.body(c);
  const scripts = ['site.js', ...(page.scripts ?? [])].map((name) => `<script type="module" src="/assets/${name}"></script>`).join('\n');
  return `<!doctype html>
<html ${shell.htmlAttributes}>
<head>
<meta charset="utf-8">
${shell.title}
<meta name="viewport" content="${shell.viewport}">
<meta name="description" content="${escape(t(page.summary))}">
<link rel="canonical" href="${addresses.origin}${addresses.here}">
<link rel="alternate" hreflang="${lang === 'en' ? 'de' : 'en'}" href="${addresses.origin}${addresses.there}">
<link rel="icon" href="/img/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
${shell.head}${scripts}
</head>
<body>
<a class="skip" href="#content">${t(text('Skip to content', 'Zum Inhalt springen'))}</a>
${header(page, c, addresses.there)}
<main id="content" tabindex="-1">
${page.bare ? '' : heading(page, c, crumbs)}
${body}
</main>
${footer(c)}
</body>
</html>
`;
}

function header(page: Page, { t, lang, href }: Context, there: string): string {
  const other = lang === 'en' ? { code: 'de', name: 'Deutsch' } : { code: 'en', name: 'English' };
  return `<header class="site-header"><div class="wrap bar">
<a class="brand" href="${href('home')}">${LOGO}<span><b>Lindenau</b> ${t(text('Town Library', 'Stadtbibliothek'))}</span></a>
<nav aria-label="${t(text('Main', 'Haupt'))}"><ul class="menu">${NAVIGATION.map(
    ({ section, page: id, label }) =>
      `<li><a href="${href(id)}"${section === page.section ? ' aria-current="true"' : ''}>${t(label)}</a></li>`,
  ).join('')}</ul></nav>
<a class="language" href="${there}" lang="${other.code}" hreflang="${other.code}">${other.name}</a>
</div></header>`;
}

function heading(page: Page, { t, href }: Context, crumbs: readonly Page[]): string {
  const trail =
    crumbs.length === 0
      ? ''
      : `<nav class="crumbs" aria-label="${t(text('You are here', 'Sie sind hier'))}"><ol>${crumbs
          .map((crumb) => `<li><a href="${href(crumb.id)}">${escape(t(crumb.title))}</a></li>`)
          .join('')}</ol></nav>`;
  const picture = page.image === undefined ? '' : `<img class="lead-picture" src="/img/${page.image}.svg" alt="" width="640" height="400">`;
  return `<div class="page-head"><div class="wrap head-grid${picture === '' ? '' : ' pictured'}"><div>${trail}<h1>${escape(t(page.title))}</h1><p class="lead">${escape(t(page.summary))}</p></div>${picture}</div></div>`;
}

/** One link has no trailing slash, as on many sites, so that the same page has a second address. */
function footer({ t, href }: Context): string {
  const links = (ids: readonly (readonly [string, ReturnType<typeof text>])[]): string =>
    `<ul>${ids.map(([id, label]) => `<li><a href="${href(id)}">${t(label)}</a></li>`).join('')}</ul>`;
  return `<footer class="site-footer"><div class="wrap footer-grid">
<div><h2>${t(text('Market Square', 'Am Markt'))}</h2><address>${t(text('Lindenau Town Library', 'Stadtbibliothek Lindenau'))}<br>Am Markt 4<br>04177 Lindenau<br><a href="tel:+493410000000">+49 341 000 00 00</a></address></div>
<div><h2>${t(text('Open today', 'Heute geöffnet'))}</h2><p>${t(text('Tuesday to Friday 10 to 19<br>Saturday 10 to 14<br>Closed on Mondays', 'Dienstag bis Freitag 10–19 Uhr<br>Samstag 10–14 Uhr<br>Montags geschlossen'))}</p><p><a href="${href('hours').slice(0, -1)}">${t(text('All opening hours', 'Alle Öffnungszeiten'))}</a></p></div>
<div><h2>${t(text('Service', 'Service'))}</h2>${links([
    ['join', text('Get a library card', 'Bibliotheksausweis')],
    ['account', text('My account', 'Mein Konto')],
    ['faq', text('Questions and answers', 'Fragen und Antworten')],
    ['contact', text('Contact', 'Kontakt')],
  ])}</div>
<div><h2>${t(text('This site', 'Diese Website'))}</h2>${links([
    ['sitemap', text('Site map', 'Inhaltsverzeichnis')],
    ['statement', text('Accessibility', 'Barrierefreiheit')],
    ['privacy', text('Privacy', 'Datenschutz')],
    ['imprint', text('Legal notice', 'Impressum')],
  ])}</div>
</div><p class="wrap small">${t(text('The library of Lindenau is an invention, made to be tested. Some of its pages have faults on purpose.', 'Die Bibliothek Lindenau ist erfunden, um geprüft zu werden. Einige ihrer Seiten haben absichtlich Fehler.'))}</p></footer>`;
}
