/** Serves the demo site: the files of site/, and, like many real sites, redirects, duplicate addresses, errors and a slow page. */
import { createServer } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface DemoSite {
  /** `http://host:port`, without a slash at the end. */
  url: string;
  close(): Promise<void>;
}

/** A planted fault of a page: exactly what axe-core finds for WCAG 2.1 AA. */
export interface PlantedFault {
  /** axe-core's rule. */
  rule: string;
  impact: 'critical' | 'serious' | 'moderate' | 'minor';
  /** The number of elements that fail the rule, including elements in frames and open shadow roots. */
  elements: number;
}

const SITE = join(import.meta.dirname, 'site');
/** Stands in the files where an absolute address is needed, in canonical links and sitemaps. */
const ORIGIN = 'http://origin.invalid';
const SLOW_MS = 2500;
/** Pages that are answered late. */
export const SLOW_PAGES = /^\/(en\/about\/archive|de\/ueber-uns\/archiv)\/$/;
const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.txt': 'text/plain',
  '.vtt': 'text/vtt',
  '.ics': 'text/calendar',
};
const OTHER_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.webm': 'video/webm',
  '.wav': 'audio/wav',
  '.pdf': 'application/pdf',
};
/** Redirects from old addresses. One redirects to another redirect. */
const REDIRECTS: Readonly<Record<string, { status: number; to: string }>> = {
  '/': { status: 302, to: '/en/' },
  '/en/borrow/': { status: 301, to: '/en/library-card/' },
  '/de/ausleihe/': { status: 301, to: '/de/ausweis/' },
  '/opac.php': { status: 302, to: '/en/opac/' },
  '/en/opac/': { status: 301, to: '/en/catalogue/' },
};
/** Pages that fail. */
const BROKEN = /^\/(en\/rooms|de\/raeume)\/calendar\/$/;

/** The planted faults by page: the findings of a scan for WCAG 2.1 AA. */
export function plantedFaults(): Record<string, PlantedFault[]> {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'faults.json'), 'utf8')) as Record<string, PlantedFault[]>;
}

/**
 * Starts the site.
 * @param options.slowMs the delay of the slow page, 2.5 s by default
 */
export async function startDemoSite(options: { host?: string; port?: number; slowMs?: number } = {}): Promise<DemoSite> {
  const { host = '127.0.0.1', port = 0, slowMs = SLOW_MS } = options;
  const files = readFiles();

  const server = createServer((request, response) => {
    const path = pathOf(request.url ?? '/');
    const send = (status: number, file: string, headers: Record<string, string> = {}): void => {
      const body = files.get(file)!;
      const type = TEXT_TYPES[extname(file)];
      const sent = type === undefined ? body : Buffer.from(body.toString().replaceAll(ORIGIN, `http://${request.headers.host ?? ''}`));
      response.writeHead(status, {
        'content-type': type === undefined ? OTHER_TYPES[extname(file)] : `${type}; charset=utf-8`,
        'content-length': sent.length,
        ...headers,
      });
      response.end(request.method === 'HEAD' ? undefined : sent);
    };
    const folder = path.replace(/\/?$/, '/');
    const redirect = REDIRECTS[path] ?? REDIRECTS[folder];
    if (redirect !== undefined) return void response.writeHead(redirect.status, { location: redirect.to }).end();
    const file = [path, `${folder}index.html`].find((name) => files.has(name));
    if (file === undefined)
      return BROKEN.test(folder) ? send(500, '/500.html') : send(404, path.startsWith('/de/') ? '/404.de.html' : '/404.en.html');
    const answer = (): void => send(200, file, /^\/(assets|img)\//.test(file) ? { 'cache-control': 'max-age=3600' } : {});
    if (SLOW_PAGES.test(folder)) setTimeout(answer, slowMs).unref();
    else answer();
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

/** The files by their path in the site. */
function readFiles(): Map<string, Buffer> {
  const entries = readdirSync(SITE, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ parentPath, name }) => [join(parentPath.slice(SITE.length) || '/', name), readFileSync(join(parentPath, name))]),
  );
}

function pathOf(url: string): string {
  try {
    return decodeURIComponent(new URL(url, 'http://site').pathname);
  } catch {
    return '/not-an-address';
  }
}
