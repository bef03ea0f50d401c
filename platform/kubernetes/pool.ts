/**
 * The sockets to the API server, separated by their use, so that no request waits for a socket that a watch holds.
 * They are replaced when certificates change or the server stops responding.
 */
import { isDeepStrictEqual } from 'node:util';
import { Agent, type Dispatcher } from 'undici';
import type { Tls } from './kubeconfig.ts';
import { SOCKET_USES, type SocketUse } from './kubernetes.ts';

/** The sockets opened with one set of certificates. */
export interface Pool {
  dispatchers: Readonly<Record<SocketUse, Dispatcher>>;
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

/** The largest number of sockets of each use; a request beyond it waits for one. null: one for each caller, who never waits. */
const LIMITS: Readonly<Record<SocketUse, number | null>> = { requests: 64, lists: 16, watches: null };

/**
 * HTTP/1.1, although undici 8 prefers HTTP/2 and 50 parallel reads are faster with it (1,300/s instead of 500 to 800). On
 * one shared HTTP/2 connection, a GOAWAY or a fault of one stream would end every watch, and the outcome of every pending
 * write would be unknown.
 *
 * The server closes idle connections after 90 s or more. With undici's default of 4 s, each poll would need a handshake.
 */
const SHARED = { allowH2: false, keepAliveTimeout: 55_000, keepAliveMaxTimeout: 85_000 };

/** @param onSockets called with the number of open sockets whenever it changes */
export function createPools(onSockets?: (use: SocketUse, open: number) => void): Pools {
  let current: Pool | null = null;
  const retired = new Set<Dispatcher>();
  const open: Record<SocketUse, number> = { requests: 0, lists: 0, watches: 0 };

  function retire(pool: Pool) {
    if (current !== pool) return;
    current = null;
    for (const dispatcher of Object.values(pool.dispatchers)) {
      retired.add(dispatcher);
      const forget = () => retired.delete(dispatcher);
      dispatcher.close().then(forget, forget);
    }
  }

  function dispatcherFor(use: SocketUse, tls: Tls): Dispatcher {
    const connect = { ...tls, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 };
    const agent = new Agent({ ...SHARED, connections: LIMITS[use], connect });
    agent.on('connect', () => onSockets?.(use, ++open[use]));
    agent.on('disconnect', () => onSockets?.(use, --open[use]));
    return agent;
  }

  return {
    retire,
    use(tls) {
      if (current && (current.tls === tls || isDeepStrictEqual(current.tls, tls))) return current;
      if (current) retire(current);
      const dispatchers = Object.fromEntries(SOCKET_USES.map((use) => [use, dispatcherFor(use, tls)])) as Pool['dispatchers'];
      current = { dispatchers, tls };
      return current;
    },
    async close() {
      if (current) retire(current);
      await Promise.allSettled([...retired].map((dispatcher) => dispatcher.destroy()));
    },
  };
}
