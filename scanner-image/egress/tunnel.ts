/** `CONNECT` tunnels (TLS and WebSockets) to allowed addresses, with limits on time and bytes. */
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { portOf } from '../../core/scan/targets.ts';
import { connectThrough, proxyFor } from '../../platform/outbound-proxy.ts';
import { pinnedLookup } from '../../platform/resolver.ts';
import { connectFailure, EGRESS_HEADER, type EgressFailureKind, hostOf, kindOf } from './egress-failures.ts';
import type { ConnectionDeps } from './target-guard.ts';

export function createTunnels(deps: ConnectionDeps) {
  const { limits } = deps;
  const sockets = new Set<Duplex>();

  function keep(socket: Duplex): void {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()); // a reset ends this connection only
    socket.once('close', () => sockets.delete(socket));
  }

  async function open(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    keep(client);
    const url = targetOf(request.url ?? '');
    if (url === null) return refuse(client, 400, 'refused');
    const judged = await deps.judge(url);
    if (!judged.ok) {
      const kind = kindOf(judged.reason);
      deps.failed(url, kind, judged.message);
      return refuse(client, 403, kind);
    }
    let server: Socket;
    const via = proxyFor(deps.proxy, url);
    try {
      server = await (via === null
        ? dial(hostOf(url), portOf(url), judged.addresses, limits.dialMs)
        : connectThrough(via, `${url.hostname}:${portOf(url)}`, limits.dialMs));
    } catch (error) {
      deps.failed(url, 'unreachable', connectFailure(url, error, via));
      return refuse(client, 502, 'unreachable');
    }
    keep(server);
    if (client.destroyed) return void server.destroy();
    deps.reached(url);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) server.write(head);
    let bytes = 0;
    server.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limits.tunnelBytes) return;
      deps.failed(url, 'cut', `${url.hostname} sent more than ${limits.tunnelBytes} bytes over one connection.`);
      server.destroy();
      client.destroy();
    });
    join(server, client, limits.idleMs);
  }

  return {
    open,
    close(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function join(server: Socket, client: Duplex, idleMs: number): void {
  server.setTimeout(idleMs, () => server.destroy());
  // Each end closes the other: a half-open tunnel would occupy its connection forever.
  server.once('close', () => client.destroy());
  client.once('close', () => server.destroy());
  client.pipe(server);
  server.pipe(client);
}

/** The target of a `CONNECT` request as a URL; null if it is invalid. */
function targetOf(authority: string): URL | null {
  if (!/^(\[[0-9a-fA-F:.]+\]|[^\s/?#@:]+):\d{1,5}$/.test(authority)) return null;
  return URL.parse(`https://${authority}`);
}

function refuse(client: Duplex, status: number, kind: EgressFailureKind): void {
  client.end(`HTTP/1.1 ${status} Refused\r\n${EGRESS_HEADER}: ${kind}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

/**
 * Connects to a host at its allowed addresses.
 * @throws Error with the code `ETIMEDOUT` after `timeoutMs`, or the error of the socket
 */
function dial(host: string, port: number, addresses: readonly string[], timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: pinnedLookup(addresses), autoSelectFamily: true, noDelay: true });
    const expire = (): void => void socket.destroy(Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(expire, timeoutMs);
    socket.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}
