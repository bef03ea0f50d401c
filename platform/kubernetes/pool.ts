/** The sockets that requests and watches share: one keep-alive pool, replaced when certificates change or the server stops responding. */
import { isDeepStrictEqual } from 'node:util';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Tls } from './credentials.ts';

/** The sockets opened with one set of certificates. */
export interface Pool {
  dispatcher: Dispatcher;
  tls: Tls;
}

export interface Pools {
  /** The current pool; a new one if the certificates differ from its own. */
  use(tls: Tls): Pool;
  /** Sends no new requests over the pool. Its current requests and watches continue. */
  retire(pool: Pool): void;
  /** Aborts every request and watch. */
  close(): Promise<void>;
}

/** More sockets than workers and watches need. The limit prevents that a burst opens hundreds. */
const MAX_SOCKETS = 64;

/**
 * HTTP/1.1, although undici 8 prefers HTTP/2 and 50 parallel reads are faster with it (1,300/s instead of 500 to 800). On
 * one shared HTTP/2 connection, a GOAWAY or a fault of one stream would end every watch, and the outcome of every pending
 * write would be unknown.
 *
 * The server closes idle connections after 90 s or more. With undici's default of 4 s, each poll would need a handshake.
 */
const SHARED = { allowH2: false, connections: MAX_SOCKETS, keepAliveTimeout: 55_000, keepAliveMaxTimeout: 85_000 };

/**
 * KubeConfig creates a new dispatcher for each request, and each needs a TLS handshake (docs/dependencies.md).
 * @param proxyUrl the cluster's `proxy-url`: HTTP, HTTPS or SOCKS 5
 */
export function createPools(proxyUrl?: string): Pools {
  let current: Pool | null = null;
  const retired = new Set<Dispatcher>();

  function retire(pool: Pool) {
    if (current !== pool) return;
    current = null;
    retired.add(pool.dispatcher);
    const forget = () => retired.delete(pool.dispatcher);
    pool.dispatcher.close().then(forget, forget);
  }

  function open(tls: Tls): Dispatcher {
    if (proxyUrl) return new ProxyAgent({ ...SHARED, uri: proxyUrl, requestTls: tls });
    return new Agent({ ...SHARED, connect: { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 } });
  }

  return {
    retire,
    use(tls) {
      if (current && (current.tls === tls || isDeepStrictEqual(current.tls, tls))) return current;
      if (current) retire(current);
      current = { dispatcher: open(tls), tls };
      return current;
    },
    async close() {
      if (current) retire(current);
      await Promise.allSettled([...retired].map((dispatcher) => dispatcher.destroy()));
    },
  };
}
