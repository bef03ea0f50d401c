/** The sockets that requests and watches share: one keep-alive pool, replaced when certificates change or it falls silent. */
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
  /** Sends nothing more over the pool. Requests and watches that it carries go on to their end. */
  retire(pool: Pool): void;
  /** Ends every request and watch. */
  close(): Promise<void>;
}

/** More sockets than workers and watches ever need; a bound, so that a burst cannot open hundreds. */
const MAX_SOCKETS = 64;

/**
 * HTTP/1.1, although undici 8 prefers HTTP/2 and 50 parallel reads are faster with it (1,300/s instead of 500 to 800): on
 * one shared connection a GOAWAY or a fault of one stream would end every watch and leave every write in doubt.
 *
 * The server closes idle connections after 90 s or more; undici's own 4 s would mean a handshake for every poll.
 */
const SHARED = { allowH2: false, connections: MAX_SOCKETS, keepAliveTimeout: 55_000, keepAliveMaxTimeout: 85_000 };

/**
 * KubeConfig makes a dispatcher too, but a new one for each request, hence a TLS handshake for each (docs/dependencies.md).
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
