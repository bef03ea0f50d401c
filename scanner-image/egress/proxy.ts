/** The scanner's only route to the network: an HTTP proxy on loopback that denies by default and dials only allowed addresses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { OutboundProxy } from '../../platform/outbound-proxy.ts';
import type { Logger } from '../../platform/logger.ts';
import { portOf, type Resolver, type TargetJudgement, type TargetRules } from '../../core/scan/targets.ts';
import { createEgressFailures, type EgressFailures } from './egress-failures.ts';
import { createForward } from './forward.ts';
import { type ConnectionDeps, createTargetGuard, EGRESS_LIMITS, type EgressLimits } from './target-guard.ts';
import { createTunnels } from './tunnel.ts';

export interface Egress extends Pick<EgressFailures, 'failureOf'> {
  /** The address of the proxy, `http://127.0.0.1:<port>`. */
  readonly url: string;
  judge(url: URL): Promise<TargetJudgement>;
  /** Closes the proxy and all its connections. */
  close(): Promise<void>;
}

export interface EgressDeps {
  rules: TargetRules;
  log: Logger;
  resolver?: Resolver;
  /** The proxy to sites. Each target is judged before it is asked. Default: none. */
  proxy?: OutboundProxy;
  limits?: Partial<EgressLimits>;
}

/**
 * Starts an egress proxy. It forwards requests in absolute form, tunnels `CONNECT` (TLS and WebSockets), and refuses
 * everything else. Each target is resolved once, each of its addresses is judged, and only those are dialled. With another proxy in
 * between, that one is asked for the name of the target instead, and resolves it again.
 */
export async function openEgress(deps: EgressDeps): Promise<Egress> {
  const limits = { ...EGRESS_LIMITS, ...deps.limits };
  const failures = createEgressFailures();
  const guard = createTargetGuard(deps.rules, deps.resolver);
  const connections: ConnectionDeps = {
    ...guard,
    proxy: deps.proxy,
    limits,
    reached: failures.reached,
    failed(url, kind, message) {
      if (failures.add(url, kind, message))
        deps.log.info({ host: url.hostname, port: portOf(url), kind, detail: message }, 'egress blocked');
    },
  };
  const forward = createForward(connections);
  const tunnels = createTunnels(connections);

  const server = createServer({ maxHeaderSize: limits.headerBytes, insecureHTTPParser: false, keepAliveTimeout: limits.idleMs });
  server.maxConnections = limits.connections;
  server.on('connection', (socket: Socket) => socket.setNoDelay(true));
  server.on('request', (request: IncomingMessage, response: ServerResponse) => void forward.pass(request, response));
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => void tunnels.open(request, client, head));
  server.on('upgrade', (_request: IncomingMessage, client: Duplex) => client.destroy());
  server.on('clientError', (_error: Error, client: Duplex) => client.destroy());
  await listenOnLoopback(server);

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    judge: guard.judge,
    failureOf: failures.failureOf,
    async close() {
      tunnels.close();
      forward.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listenOnLoopback(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}
