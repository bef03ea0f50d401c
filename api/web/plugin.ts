/**
 * The base of all pages, registered once on the root: the assets, `reply.page`, and the security headers of pages. Scopes of
 * pages also register `html-scope.ts`.
 */
import { constants, gzipSync } from 'node:zlib';
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import { accepts, type Assets, type FixedPage, isKnown, loadAssets, sendPacked } from './assets.ts';
import type { Html } from '../../report/html/html.ts';
import type { Viewer } from './layout.ts';
import type { LegalLinks } from './legal.ts';

export interface PageReplyOptions {
  /** Default: 200. */
  status?: number;
  /** Another origin that this page loads scripts and frames from. */
  trust?: string;
}

export interface Web {
  publicBaseUrl: string;
  assets: Assets;
  dashboard: boolean;
  legal: LegalLinks;
  /** The addresses of GET requests that are not in the OpenAPI document. All pages are among them. */
  routes(): string[];
}

declare module 'fastify' {
  interface FastifyInstance {
    web: Web;
  }
  interface FastifyRequest {
    /** The person who is signed in. Null on public pages, and before the session is known. */
    viewer: Viewer | null;
  }
  interface FastifyReply {
    /** Sends a page with the security headers. Pages are not cached. */
    page(page: Html, options?: PageReplyOptions): FastifyReply;
    /** Sends a page that is the same for every visitor. Browsers keep it and ask whether it has changed. */
    fixedPage(page: FixedPage): FastifyReply;
  }
}

/** Smaller pages gain nothing from compression. */
const COMPRESSED_FROM_BYTES = 1400;
const YEAR_SECONDS = 365 * 24 * 3600;

/** What pages may load: our own files only. */
const policy = (trust: string[] = []): FastifyHelmetOptions['contentSecurityPolicy'] => ({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...trust],
    'style-src': ["'self'"],
    'font-src': ["'self'"],
    'img-src': ["'self'"],
    'connect-src': ["'self'"],
    'frame-src': trust.length === 0 ? ["'none'"] : trust,
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
    'base-uri': ["'none'"],
  },
});

const web: FastifyPluginAsync = async (app) => {
  const { publicBaseUrl, dashboard, legal } = app.settings;
  const assets = await loadAssets();
  const gets: { url: string; schema?: FastifySchema }[] = [];
  app.addHook('onRoute', (route) => {
    if ([route.method].flat().every((one) => one === 'GET')) gets.push(route);
  });
  // Scopes of pages hide their routes after this hook.
  const hidden = (): string[] => gets.filter(({ url, schema }) => schema?.hide && !url.includes('*')).map(({ url }) => url);
  app.decorate('web', { publicBaseUrl, assets, dashboard, legal, routes: hidden });
  app.decorateRequest('viewer', null);
  app.decorateRequest('reader', null);
  await app.register(helmet, {
    global: false,
    contentSecurityPolicy: policy(),
    // Tokens in addresses stay on this site. `no-referrer` would also hide the origin of our own forms.
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: publicBaseUrl.startsWith('https:') && { maxAge: YEAR_SECONDS, includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
  });
  app.decorateReply('page', function (this: FastifyReply, page: Html, { status = 200, trust }: PageReplyOptions = {}) {
    this.helmet(trust === undefined ? undefined : { contentSecurityPolicy: policy([trust]) });
    if (!this.hasHeader('Cache-Control')) this.header('Cache-Control', 'no-store');
    this.code(status).type('text/html; charset=utf-8').header('Vary', 'Accept-Encoding, Accept, Cookie');
    return this.send(packed(this.request, this, page.toString()));
  });
  app.decorateReply('fixedPage', function (this: FastifyReply, page: FixedPage) {
    this.helmet();
    this.header('Cache-Control', 'no-cache').header('ETag', page.etag).header('Vary', 'Accept-Encoding, Accept');
    if (isKnown(this.request, page)) return this.code(304).send();
    return sendPacked(this.request, this.type('text/html; charset=utf-8'), page);
  });
  app.get<{ Params: { version: string; '*': string } }>('/assets/:version/*', { schema: { hide: true } }, async (request, reply) =>
    sendAsset(assets, request, reply),
  );
};

function packed(request: FastifyRequest, reply: FastifyReply, text: string): string | Buffer {
  if (text.length < COMPRESSED_FROM_BYTES || !accepts(request, 'gzip')) return text;
  reply.header('Content-Encoding', 'gzip');
  return gzipSync(text, { level: constants.Z_BEST_SPEED + 2 });
}

function sendAsset(
  assets: Assets,
  request: FastifyRequest<{ Params: { version: string; '*': string } }>,
  reply: FastifyReply,
): FastifyReply {
  const { version, '*': name } = request.params;
  const asset = assets.find(name);
  if (asset === undefined) return reply.callNotFound() as unknown as FastifyReply;
  // During an update, a replica may get a request for the files of another version: it answers, but nothing keeps the answer.
  const current = version === assets.version;
  reply
    .header('Cache-Control', current ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-store')
    .header('Vary', 'Accept-Encoding')
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('Content-Security-Policy', "default-src 'none'")
    .type(asset.type);
  return sendPacked(request, reply, asset);
}

export default fp(web, { name: 'web', dependencies: ['request-log'] });
