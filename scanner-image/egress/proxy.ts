/** The only way out of the scanner: an HTTP proxy on loopback that denies by default and dials only what it has vetted. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../platform/logger.ts';
import { portOf, type Resolver, type TargetJudgement, type TargetRules } from '../../core/scan/targets.ts';
import { dial } from './dial.ts';
import { createForward } from './forward.ts';
import { EGRESS_LIMITS, type EgressLimits } from './limits.ts';
import { EGRESS_HEADER, codeOf, createRecord, kindOf, type EgressRecord } from './egress-failures.ts';
import { createTargetGuard } from './target-guard.ts';

export interface Egress extends Pick<EgressRecord, 'problemOf' | 'problems'> {
  /** The proxy's address, `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** Judges a URL as the proxy would. */
  judge(url: URL): Promise<TargetJudgement>;
  /** Closes the proxy and every connection through it. */
  close(): Promise<void>;
}

/**
 * Starts an egress proxy: absolute-form requests are forwarded, `CONNECT` (TLS and WebSockets) is tunnelled, and anything
 * else is refused. Each target is resolved once, each of its addresses is vetted, and exactly those are dialled.
 */
export async function openEgress(options: {
  rules: TargetRules;
  log: Logger;
  resolver?: Resolver;
  limits?: Partial<EgressLimits>;
}): Promise<Egress> {
  const limits = { ...EGRESS_LIMITS, ...options.limits };
  const record = createRecord();
  const guard = createTargetGuard({ rules: options.rules, resolver: options.resolver });
  const sockets = new Set<Duplex>();

  function note(url: URL, kind: Parameters<EgressRecord['note']>[2], message: string): void {
    if (record.note(url.hostname, portOf(url), kind, message))
      options.log.info({ host: url.hostname, port: portOf(url), kind, reason: message }, 'egress stopped');
  }
  const forward = createForward({
    limits,
    judge: (url) => guard.judge(url),
    note,
    reached: (url) => record.reached(url.hostname, portOf(url)),
  });

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    keep(client);
    const url = authority(request.url ?? '');
    if (url === null) return answer(client, 400, 'refused');
    const judged = await guard.judge(url);
    if (!judged.ok) {
      note(url, kindOf(judged.reason), judged.message);
      return answer(client, 403, kindOf(judged.reason));
    }
    let server: Socket;
    try {
      server = await dial(url.hostname.replace(/^\[|\]$/g, ''), portOf(url), judged.addresses, limits.dialMs);
    } catch (error) {
      note(url, 'unreachable', `${url.hostname}:${portOf(url)} cannot be reached (${codeOf(error)}).`);
      return answer(client, 502, 'unreachable');
    }
    keep(server);
    if (client.destroyed) return void server.destroy();
    record.reached(url.hostname, portOf(url));
    let bytes = 0;
    server.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limits.tunnelBytes) return;
      note(url, 'cut', `${url.hostname} sent more than ${limits.tunnelBytes} bytes over one connection.`);
      server.destroy();
      client.destroy();
    });
    server.setTimeout(limits.idleMs, () => server.destroy());
    // Each end takes the other with it: a half-open tunnel would hold its place for ever.
    server.once('close', () => client.destroy());
    client.once('close', () => server.destroy());
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) server.write(head);
    client.pipe(server);
    server.pipe(client);
  }

  function keep(socket: Duplex): void {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()); // a reset is the end of that connection and nothing else
    socket.once('close', () => sockets.delete(socket));
  }

  const server = createServer({ maxHeaderSize: limits.headerBytes, insecureHTTPParser: false, keepAliveTimeout: limits.idleMs });
  server.maxConnections = limits.connections;
  server.on('connection', (socket: Socket) => socket.setNoDelay(true));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => void forward.pass(request, response));
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => void tunnel(request, client, head));
  server.on('upgrade', (_request: IncomingMessage, client: Duplex) => client.destroy());
  server.on('clientError', (_error: Error, client: Duplex) => client.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    judge: (url) => guard.judge(url),
    problemOf: (url) => record.problemOf(url),
    problems: () => record.problems(),
    async close() {
      for (const socket of sockets) socket.destroy();
      forward.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The target of a `CONNECT`, as a URL; null where it is none. */
function authority(text: string): URL | null {
  if (!/^(\[[0-9a-fA-F:.]+\]|[^\s/?#@:]+):\d{1,5}$/.test(text)) return null;
  return URL.canParse(`https://${text}`) ? new URL(`https://${text}`) : null;
}

function answer(client: Duplex, status: number, kind: string): void {
  client.end(`HTTP/1.1 ${status} Refused\r\n${EGRESS_HEADER}: ${kind}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}
