/** Small web sites on loopback for the scanner's tests, and scans of them with default settings. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReportPage, TestedPage, UntestedPage } from '../../report/schema/page.ts';
import { withDefaults, type GivenOptions } from '../../core/scan/options.ts';
import type { SignInPlan } from '../../core/scan/sign-in.ts';
import { resolveSignIn, type SignIn } from '../../scanner-image/page/session/sign-in.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { ScanFailed } from '../../scanner-image/pod/failure.ts';
import { inSharedBrowser } from './shared-browser.ts';
import { runScan, type ScanInput, type ScanDeps, type ScanOutput } from '../../scanner-image/scan.ts';

export type Route = string | ((request: IncomingMessage, response: ServerResponse) => void);

export interface Site {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  port: number;
  /** Requests by path and query, in order of arrival. */
  requests: string[];
  /** The number of requests for a path and query. */
  hits(path: string): number;
  close(): Promise<void>;
}

export const script = (code: string): string => `<script>${code}</script>`;
/** An element with a violation. */
export const FAULT = '<img src="/missing.png" id="fault">';

/** A complete document around a body. */
export function html(body: string, options: { title?: string; head?: string } = {}): string {
  return `<!doctype html><html lang="en"><head><title>${options.title ?? 'A page'}</title>${options.head ?? ''}</head><body><main><h1>Heading</h1>${body}</main></body></html>`;
}

/**
 * Serves routes by path and query, then by path. A string is an HTML page, whose heading gets its path, because pages that
 * display the same are tested once; a missing route is a 404.
 */
export async function openSite(routes: Record<string, Route>): Promise<Site> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    requests.push(url);
    const route = routes[url] ?? routes[url.split('?')[0] ?? ''];
    if (route === undefined) {
      response.writeHead(404, { 'content-type': 'text/html' }).end(html('Nothing here'));
    } else if (typeof route === 'string') {
      response
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(route.replace('<h1>Heading</h1>', `<h1>Heading of ${encodeURI(url)}</h1>`));
    } else route(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    requests,
    hits: (path) => requests.filter((url) => url === path).length,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Responds with a content type. */
export function file(contentType: string, body: string | Buffer, headers: Record<string, string> = {}): Route {
  return (_request, response) => response.writeHead(200, { 'content-type': contentType, ...headers }).end(body);
}

export function redirect(to: string, status = 302): Route {
  return (_request, response) => response.writeHead(status, { location: to }).end();
}

export function answer(status: number, headers: Record<string, string> = {}, body = html(`Status ${status}`)): Route {
  return (_request, response) => response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body);
}

export const machine: ScanDeps['machine'] = {
  chromiumPath: process.env.CHROMIUM_PATH,
  path: process.env.PATH ?? '',
  home: process.env.HOME,
  root: process.getuid?.() === 0,
};

/** The input of a scan: at most 20 pages, loopback allowed, one worker. */
export function inputOf(url: string, options: Partial<GivenOptions> = {}, more: Partial<Omit<ScanInput, 'options'>> = {}): ScanInput {
  const given = withDefaults({ url, maxPages: 20, pictures: false, ...options });
  return {
    options: given,
    pagesReserved: given.maxPages,
    deadline: new Date(Date.now() + 120_000).toISOString(),
    allowTargets: ['127.0.0.0/8', 'localhost'],
    denyTargets: [],
    workers: 1,
    pageBudgetMs: 30_000,
    exportMaxBytes: 64_000_000,
    ...more,
  };
}

/** The sign-in of a scan with the values of a Secret. @throws if they do not fit */
export function signInOf(url: string, values: Record<string, string>, plan: SignInPlan = {}): SignIn {
  const read = resolveSignIn(plan, new Map(Object.entries(values)), new URL(url));
  if (!read.ok) throw new Error(read.reason);
  return read.signIn;
}

/** Most tests are not about late content. */
const QUICK_REST_MS = 300;

export async function scan(
  url: string,
  options: Partial<GivenOptions> = {},
  more: Partial<Omit<ScanInput, 'options'>> = {},
  deps: Partial<ScanDeps> = {},
): Promise<ScanOutput> {
  const result = await inSharedBrowser(() =>
    runScan(inputOf(url, options, more), { machine, log: silentLogger, restMs: QUICK_REST_MS, ...deps }),
  );
  await result.closed;
  return result;
}

/** The failure of a scan. @throws if it does not fail, or for another reason */
export async function failureOf(scanning: Promise<unknown>): Promise<ScanFailed> {
  const error: unknown = await scanning.catch((thrown: unknown) => thrown);
  if (!(error instanceof ScanFailed)) throw new Error('the scan did not fail', { cause: error });
  return error;
}

/** Paths, queries and hash routes of pages, in their order. */
export function paths(pages: readonly ReportPage[]): string[] {
  return pages.map(({ url }) => new URL(url).pathname + new URL(url).search + new URL(url).hash);
}

export function testedOf(pages: readonly ReportPage[]): TestedPage[] {
  return pages.filter((page): page is TestedPage => page.tested);
}

/** The untested page at a path. @throws if it was tested or is missing */
export function untested(pages: readonly ReportPage[], path: string): UntestedPage {
  const page = pages.find(({ url }) => new URL(url).pathname === path);
  if (page === undefined || page.tested) throw new Error(`${path} is ${page === undefined ? 'not in the scan' : 'tested'}`);
  return page;
}

/** Violations of a page as `rule selector` lines, sorted. */
export function found(page: ReportPage | undefined): string[] {
  if (page === undefined || !page.tested) throw new Error(`not tested: ${JSON.stringify(page)}`);
  return page.violations
    .flatMap(({ rule, nodes }) =>
      nodes.map((node) => `${rule} ${[...node.frame_path, [...node.shadow_path, node.selector].join(' > ')].join(' | ')}`),
    )
    .sort();
}

/** What a page has in a state, as `rule selector`; `?` in front of what needs review. */
export const inStates = ({ violations, needs_review }: TestedPage): string[] =>
  [violations, needs_review].flatMap((list, at) =>
    list.flatMap(({ rule, nodes }) =>
      nodes.flatMap(({ state, selector, shadow_path }) =>
        state === undefined ? [] : [`${at === 1 ? '?' : ''}${rule} ${[...shadow_path, selector].join(' >>> ')}`],
      ),
    ),
  );
