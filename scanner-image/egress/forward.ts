/** Passes plain HTTP requests on to vetted addresses, counting what comes back. */
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import type { TcpNetConnectOpts } from 'node:net';
import { portOf, type TargetJudgement } from '../../core/scan/targets.ts';
import { vettedLookup } from './dial.ts';
import type { EgressLimits } from './limits.ts';
import { EGRESS_HEADER, codeOf, kindOf, type ProblemKind } from './egress-failures.ts';

/** Headers that belong to one connection (RFC 9110, 7.6.1), and those that only the proxy may set. */
const HOP_BY_HOP = new Set([
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
]);

interface ForwardDeps {
  limits: EgressLimits;
  judge(url: URL): Promise<TargetJudgement>;
  note(url: URL, kind: ProblemKind, message: string): void;
  reached(url: URL): void;
}

export function createForward(parts: ForwardDeps): {
  pass(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): void;
} {
  const { limits, note } = parts;
  // No time-out here: a socket that is used again would keep the short one that its server's Keep-Alive hint gave it.
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy());
    const url = absolute(request.url ?? '');
    if (url === null) return refuse(response, 400, 'refused', 'This proxy takes absolute http URLs only.');
    const judged = await parts.judge(url);
    if (!judged.ok) {
      const kind = kindOf(judged.reason);
      note(url, kind, judged.message);
      return refuse(response, kind === 'unresolvable' ? 502 : 403, kind, judged.message);
    }
    const options: RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily'> = {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: portOf(url),
      lookup: vettedLookup(judged.addresses),
      autoSelectFamily: true,
      method: request.method,
      path: url.pathname + url.search,
      headers: outwards(request.rawHeaders, url.host),
      maxHeaderSize: limits.headerBytes,
      insecureHTTPParser: true, // the browser takes sloppy headers too, and it is the one that reads them
      timeout: limits.idleMs,
    };
    const repeatable = isRepeatable(request);
    // What may be sent only once gets a connection of its own: a kept one may be closed at the moment it is used again.
    const send = (over: Agent | false): void => {
      const upstream = httpRequest({ ...options, agent: over });
      const dialling = setTimeout(() => upstream.destroy(Object.assign(new Error('dial'), { code: 'ETIMEDOUT' })), limits.dialMs);
      upstream.on('socket', (socket) => {
        if (!socket.connecting) clearTimeout(dialling);
        else socket.once('connect', () => clearTimeout(dialling));
      });
      upstream.on('timeout', () => upstream.destroy(Object.assign(new Error('idle'), { code: 'ETIMEDOUT' })));
      upstream.on('error', (error) => {
        clearTimeout(dialling);
        if (response.headersSent || response.destroyed) return void response.destroy();
        if (upstream.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error))) return send(false);
        const message = `${url.host} cannot be reached (${codeOf(error)}).`;
        note(url, 'unreachable', message);
        refuse(response, 502, 'unreachable', message);
      });
      upstream.on('upgrade', (_answer, socket) => socket.destroy());
      upstream.on('response', (answer) => {
        parts.reached(url);
        giveBack(url, answer, response);
      });
      response.on('close', () => upstream.destroy());
      request.on('error', () => upstream.destroy());
      if (repeatable) upstream.end();
      else request.pipe(upstream);
    };
    send(repeatable ? agent : false);
  }

  function giveBack(url: URL, answer: IncomingMessage, response: ServerResponse): void {
    answer.on('error', () => response.destroy());
    try {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutHops(answer.rawHeaders));
    } catch {
      answer.destroy();
      return refuse(response, 502, 'unreachable', `${url.host} answered with headers that are not HTTP.`);
    }
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limits.responseBytes) return;
      note(url, 'cut', `${url.href.slice(0, 200)} is larger than ${limits.responseBytes} bytes.`);
      answer.destroy();
      response.destroy();
    });
    answer.pipe(response);
  }

  return { pass, close: () => agent.destroy() };
}

/** True for a request that changes nothing and has no body: it may be sent a second time. */
function isRepeatable({ method, headers }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return !hasBody && ['GET', 'HEAD', 'OPTIONS'].includes(method ?? '');
}

/** The URL of an absolute-form request line; null where it is something else. */
function absolute(text: string): URL | null {
  if (!/^http:\/\//i.test(text) || !URL.canParse(text)) return null;
  return new URL(text);
}

function withoutHops(raw: readonly string[]): string[] {
  const named = new Set<string>();
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.toLowerCase() === 'connection') for (const name of (raw[at + 1] ?? '').split(',')) named.add(name.trim().toLowerCase());
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase();
    if (!HOP_BY_HOP.has(name) && !named.has(name)) kept.push(raw[at] ?? '', raw[at + 1] ?? '');
  }
  return kept;
}

/** A request's headers for the site: the host is the URL's, whatever the request says. */
function outwards(raw: readonly string[], host: string): string[] {
  const kept = withoutHops(raw);
  const headers = ['Host', host];
  for (let at = 0; at < kept.length; at += 2) if (kept[at]?.toLowerCase() !== 'host') headers.push(kept[at] ?? '', kept[at + 1] ?? '');
  return headers;
}

function refuse(response: ServerResponse, status: number, kind: ProblemKind, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { [EGRESS_HEADER]: kind, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${message}\n`);
}
