/** Serves the demo site. Like many real sites it has redirects, duplicate addresses, errors and a slow page. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LOGO } from './layout.ts';
import { picture } from './art.ts';
import { bell, calendar, captions, programme } from './files.ts';
import { LANGS, type Lang } from './page.ts';
import { frameDocument } from './frames.ts';
import { booksData, writeSite, type Written } from './site.ts';

export interface DemoSite {
  /** `http://host:port`, without a slash at the end. */
  url: string;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  type: string;
  body: string | Buffer;
  headers?: Record<string, string>;
}

const HTML = 'text/html; charset=utf-8';
const XML = 'application/xml; charset=utf-8';
const SLOW_MS = 2500;
const ASSET_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  webm: 'video/webm',
};

/** Redirects from old addresses. One redirects to another redirect. */
const REDIRECTS: Readonly<Record<string, { status: number; to: string }>> = {
  '/': { status: 302, to: '/en/' },
  '/en/borrow/': { status: 301, to: '/en/library-card/' },
  '/de/ausleihe/': { status: 301, to: '/de/ausweis/' },
  '/opac.php': { status: 302, to: '/en/opac/' },
  '/en/opac/': { status: 301, to: '/en/catalogue/' },
};

/**
 * Starts the site.
 * @param options.slowMs the delay of the slow page, 2.5 s by default
 */
export async function startDemoSite(options: { host?: string; port?: number; slowMs?: number } = {}): Promise<DemoSite> {
  const { host = '127.0.0.1', port = 0, slowMs = SLOW_MS } = options;
  const assets = readAssets();
  const sites = new Map<string, Map<string, Written>>();

  /** The pages with the addresses of an origin. They are rendered once per origin. */
  function siteFor(origin: string): Map<string, Written> {
    let site = sites.get(origin);
    if (site === undefined) {
      site = new Map(writeSite(origin).map((page) => [page.path, page]));
      if (sites.size > 16) sites.clear();
      sites.set(origin, site);
    }
    return site;
  }

  const server = createServer((request, response) => {
    const origin = `http://${request.headers.host ?? ''}`;
    const path = pathname(request);
    const site = siteFor(origin);
    const page = site.get(path) ?? site.get(`${path}/`);
    const respond = (): void =>
      send(
        request,
        response,
        page === undefined ? otherResponse(path, origin, site, assets) : { status: 200, type: HTML, body: page.html },
      );
    if (page?.slow) setTimeout(respond, slowMs).unref();
    else respond();
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const address = server.address() as { port: number };

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function pathname(request: IncomingMessage): string {
  try {
    return decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname);
  } catch {
    return '/not-an-address';
  }
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status, { 'content-type': answer.type, 'content-length': body.length, ...answer.headers });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function readAssets(): Map<string, Answer> {
  const folder = join(import.meta.dirname, 'site');
  return new Map(
    readdirSync(folder).map((name) => [
      `/assets/${name}`,
      {
        status: 200,
        type: ASSET_TYPES[name.split('.').at(-1)!] ?? 'application/octet-stream',
        body: readFileSync(join(folder, name)),
        headers: { 'cache-control': 'max-age=3600' },
      },
    ]),
  );
}

/** The response for an address that is not a page. */
function otherResponse(path: string, origin: string, site: ReadonlyMap<string, Written>, assets: ReadonlyMap<string, Answer>): Answer {
  const redirect = REDIRECTS[path] ?? REDIRECTS[`${path}/`];
  if (redirect !== undefined) return { status: redirect.status, type: HTML, body: '', headers: { location: redirect.to } };
  const asset = assets.get(path);
  if (asset !== undefined) return asset;
  const [, folder, name = '', rest = ''] = path.split('/');
  const lang = LANGS.find((known) => known === name);
  const ok = (type: string, body: string | Buffer): Answer => ({ status: 200, type, body });
  if (folder === 'img') {
    const drawn =
      name === 'icon.svg' ? LOGO.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ') : name === 'send.svg' ? SEND : picture(name);
    if (drawn !== null) return { ...ok('image/svg+xml', drawn), headers: { 'cache-control': 'max-age=3600' } };
  }
  if (folder === 'frames' && lang !== undefined) {
    const framed = frameDocument(rest, lang);
    if (framed !== null) return ok(HTML, framed);
  }
  for (const known of LANGS) {
    if (path === `/data/books-${known}.json`) return ok('application/json; charset=utf-8', booksData(known));
    if (path === `/files/tour-${known}.vtt`) return ok('text/vtt; charset=utf-8', captions(known));
    if (path === `/sitemap-${known}.xml`) return ok(XML, pageSitemap(origin, known, site));
  }
  switch (path) {
    case '/robots.txt':
      return ok(
        'text/plain; charset=utf-8',
        `User-agent: *\nDisallow: /staff/\nDisallow: /en/thank-you/\nDisallow: /de/danke/\n\nSitemap: ${origin}/sitemap.xml\n`,
      );
    case '/sitemap.xml':
      return ok(
        XML,
        `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${LANGS.map((known) => `<sitemap><loc>${origin}/sitemap-${known}.xml</loc></sitemap>`).join('')}</sitemapindex>\n`,
      );
    case '/files/programme.pdf':
      return ok('application/pdf', programme());
    case '/files/calendar.ics':
      return ok('text/calendar; charset=utf-8', calendar());
    case '/files/bell.wav':
      return ok('audio/wav', bell());
    case '/en/rooms/calendar/':
    case '/de/raeume/calendar/':
      return { status: 500, type: HTML, body: apology('en', 'Something broke', 'The booking calendar is out of order.') };
    default:
      return path.startsWith('/de/')
        ? { status: 404, type: HTML, body: apology('de', 'Diese Seite gibt es nicht', 'Vielleicht ist sie ausgeliehen.') }
        : { status: 404, type: HTML, body: apology('en', 'There is no such page', 'Perhaps somebody has it on loan.') };
  }
}

function pageSitemap(origin: string, lang: Lang, site: ReadonlyMap<string, Written>): string {
  const listed = [...site.values()].filter((page) => page.lang === lang && !/\/(thank-you|danke)\/$/.test(page.path));
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${listed.map(({ path }) => `<url><loc>${origin}${path}</loc></url>`).join('')}</urlset>\n`;
}

function apology(lang: Lang, title: string, body: string): string {
  return `<!doctype html>\n<html lang="${lang}"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/assets/style.css"></head><body><main class="wrap apology">${LOGO}<h1>${title}</h1><p class="lead">${body}</p><p><a class="button" href="/${lang}/">Lindenau</a></p></main></body></html>\n`;
}

const SEND = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 148 46" width="148" height="46"><rect width="148" height="46" rx="23" fill="#143d33"/><path d="M52 14l44 9-44 9 6-9z" fill="#f2c14e"/></svg>`;
