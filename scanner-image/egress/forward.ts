/** Forwards plain HTTP requests to allowed addresses, with limits on time and bytes. */
import {
  Agent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
} from 'node:http';
import type { TcpNetConnectOpts } from 'node:net';
import { portOf } from '../../core/scan/targets.ts';
import { ProxyRefused, proxyAuthorization, proxyFor, proxyRefusal } from '../../platform/outbound-proxy.ts';
import { pinnedLookup } from '../../platform/resolver.ts';
import { codeOf, connectFailure, EGRESS_HEADER, type EgressFailureKind, hostOf, isProxyError, kindOf } from './egress-failures.ts';
import type { ConnectionDeps, EgressLimits } from './target-guard.ts';

/** Headers of one connection (RFC 9110, 7.6.1), and the header that only the proxy may set. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  EGRESS_HEADER,
];

export function createForward(deps: ConnectionDeps) {
  const { limits } = deps;
  // The agent has no timeout: a reused socket would keep the short one from its server's Keep-Alive header.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy());
    const url = /^http:\/\//i.test(request.url ?? '') ? URL.parse(request.url!) : null;
    if (url === null) return refuse(response, 400, 'refused', 'This proxy accepts absolute http URLs only.');
    const judged = await deps.judge(url);
    if (!judged.ok) {
      const kind = kindOf(judged.reason);
      deps.failed(url, kind, judged.message);
      return refuse(response, kind === 'unresolvable' ? 502 : 403, kind, judged.message);
    }
    const direct = requestOptions(url, request, judged.addresses, limits);
    const via = proxyFor(deps.proxy, url);
    send({ url, via }, via === null ? direct : optionsThrough(via, url, direct), request, response, isSafe(request));
  }

  /** @param via the proxy that is asked, or null @param reuse whether an idle connection may be used. The site may be closing it, so use it only for requests that can be retried. */
  function send(
    { url, via }: { url: URL; via: URL | null },
    options: RequestOptions,
    request: IncomingMessage,
    response: ServerResponse,
    reuse: boolean,
  ): void {
    const upstream = httpRequest({ ...options, agent: reuse ? agent : false });
    const stopDialTimer = limitDial(upstream, limits.dialMs);
    upstream.on('timeout', () => upstream.destroy(timeoutError('idle')));
    upstream.on('error', (error) => {
      stopDialTimer();
      if (response.headersSent || response.destroyed) return void response.destroy();
      if (upstream.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error)))
        return send({ url, via }, options, request, response, false);
      const message = connectFailure(url, error, via);
      deps.failed(url, 'unreachable', message);
      refuse(response, 502, 'unreachable', message);
    });
    upstream.on('upgrade', (_answer, socket) => socket.destroy());
    upstream.on('response', (answer) => {
      if (via !== null && isProxyError(answer)) return void upstream.destroy(new ProxyRefused(proxyRefusal(answer.statusCode!)));
      deps.reached(url);
      respond(url, answer, response, deps);
    });
    response.on('close', () => upstream.destroy());
    request.on('error', () => upstream.destroy());
    if (isSafe(request)) upstream.end();
    else request.pipe(upstream);
  }

  return { pass, close: () => agent.destroy() };
}

/** The request to the site, at one of its addresses that were allowed. */
function requestOptions(
  url: URL,
  request: IncomingMessage,
  addresses: readonly string[],
  limits: EgressLimits,
): RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily'> {
  return {
    host: hostOf(url),
    port: portOf(url),
    lookup: pinnedLookup(addresses),
    autoSelectFamily: true,
    method: request.method,
    path: url.pathname + url.search,
    headers: forwardedHeaders(request.rawHeaders, url.host),
    maxHeaderSize: limits.headerBytes,
    insecureHTTPParser: true, // browsers accept sloppy headers too, and the browser is what reads them
    timeout: limits.idleMs,
  };
}

/** The same request to another proxy, which gets the whole address. */
function optionsThrough(proxy: URL, url: URL, direct: RequestOptions): RequestOptions {
  const authorization = Object.entries(proxyAuthorization(proxy)).flat();
  const headers = [...(direct.headers as string[]), ...authorization];
  return { ...direct, host: hostOf(proxy), port: Number(proxy.port || 80), lookup: undefined, path: url.href, headers };
}

/** Passes an answer on, up to the limit. */
function respond(url: URL, answer: IncomingMessage, response: ServerResponse, { limits, failed }: ConnectionDeps): void {
  answer.on('error', () => response.destroy());
  try {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutHopByHop(answer.rawHeaders));
  } catch {
    answer.destroy();
    return refuse(response, 502, 'unreachable', `${url.host} responded with invalid HTTP headers.`);
  }
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= limits.responseBytes) return;
    failed(url, 'cut', `${url.href.slice(0, 200)} is larger than ${limits.responseBytes} bytes.`);
    answer.destroy();
    response.destroy();
  });
  answer.pipe(response);
}

/** Ends a request that gets no connection within `dialMs`. Returns the function that stops the timer. */
function limitDial(upstream: ClientRequest, dialMs: number): () => void {
  const timer = setTimeout(() => upstream.destroy(timeoutError('dial')), dialMs);
  const stop = (): void => clearTimeout(timer);
  upstream.on('socket', (socket) => {
    if (!socket.connecting) stop();
    else socket.once('connect', stop);
  });
  return stop;
}

const timeoutError = (what: string): Error => Object.assign(new Error(what), { code: 'ETIMEDOUT' });

/** Whether a request has a safe method and no body, so that it may be sent twice. */
function isSafe({ method, headers }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return !hasBody && ['GET', 'HEAD', 'OPTIONS'].includes(method ?? '');
}

/** Headers without those of one connection, also those that the header `Connection` names. @param raw names and values in turn */
function withoutHopByHop(raw: readonly string[], others: readonly string[] = []): string[] {
  const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1]!] as const] : []));
  const named = pairs.flatMap(([name, value]) => (name.toLowerCase() === 'connection' ? value.toLowerCase().split(',') : []));
  const dropped = new Set([...HOP_BY_HOP, ...others, ...named.map((name) => name.trim())]);
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat();
}

/** The headers of a request for the site. The host comes from the URL, not from the request. */
const forwardedHeaders = (raw: readonly string[], host: string): string[] => ['Host', host, ...withoutHopByHop(raw, ['host'])];

function refuse(response: ServerResponse, status: number, kind: EgressFailureKind, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { [EGRESS_HEADER]: kind, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${message}\n`);
}
