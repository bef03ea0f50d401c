/**
 * Sends requests, and retries them if that is known to be safe.
 *
 * `Retry-After` is handled as in client-go: a request is retried only after a 429 or 5xx with this header, because only
 * then the server has not processed the request.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Agent, type Dispatcher } from 'undici';
import type { Logger } from '../logger.ts';
import { untilAborted } from '../time-limits.ts';
import type { Credential, Tls } from './kubeconfig.ts';
import { KubernetesError, type RequestOptions, type ResourceType, SOCKET_USES, type SocketUse } from './kubernetes.ts';

/**
 * The sockets to the API server, separated by their use, so that no request waits for a socket that a watch holds.
 * They are replaced when certificates change or the server stops responding. A pool has those opened with one set of certificates.
 */
interface Pool {
  dispatchers: Readonly<Record<SocketUse, Dispatcher>>;
  tls: Tls;
}

interface Pools {
  /** The current pool; a new one if the certificates differ from its own. */
  use(tls: Tls): Pool;
  /** Sends no new requests over the pool. Its current requests and watches continue. */
  retire(pool: Pool): void;
  /** Aborts every request and watch. */
  close(): Promise<void>;
}

/** The largest number of sockets of each use; a request beyond it waits for one. null: one for each caller, who never waits. */
const LIMITS: Readonly<Record<SocketUse, number | null>> = { requests: 64, lists: 16, watches: null, heartbeats: null };

/**
 * HTTP/2 for watches alone, if the server offers it: hundreds share a few connections, and resume where they were if one breaks.
 * Requests use HTTP/1.1, although 50 parallel reads are faster with HTTP/2 (1,300/s instead of 500 to 800): when a shared
 * connection breaks, the outcome of every pending write is unknown.
 */
const overHttp2 = (use: SocketUse): boolean => use === 'watches';

/** The server closes idle connections after 90 s or more. With undici's default of 4 s, each poll would need a handshake. */
const SHARED = { keepAliveTimeout: 55_000, keepAliveMaxTimeout: 85_000 };

/** @param onSockets called with the number of open sockets whenever it changes */
export function createPools(onSockets?: (use: SocketUse, open: number) => void): Pools {
  let current: Pool | null = null;
  const retired = new Set<Dispatcher>();
  const open: Record<SocketUse, number> = { requests: 0, lists: 0, watches: 0, heartbeats: 0 };

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
    const agent = new Agent({ ...SHARED, allowH2: overHttp2(use), connections: LIMITS[use], connect });
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

interface Server {
  origin: string;
  /** The path that the API is served under, without a slash at the end; usually empty. */
  prefix: string;
}

/** @throws Error if the address is not an HTTP or HTTPS URL */
export function parseServer(address: string): Server {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`the Kubernetes server ${JSON.stringify(address)} is not an http or https URL`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** `/api/v1/…` or `/apis/<group>/<version>/…`, escaped. */
export function resourcePath(type: ResourceType, namespace?: string, name?: string, subresource?: string): string {
  const parts = type.group ? ['apis', type.group, type.version] : ['api', type.version];
  if (namespace) parts.push('namespaces', namespace);
  parts.push(type.plural);
  if (name !== undefined) parts.push(checkName(name));
  if (subresource) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** An empty name would turn a DELETE of one object into a DELETE of the collection. */
function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`${JSON.stringify(name)} is not a name of a Kubernetes object`);
  return name;
}

function queryString(query: RequestOptions['query']): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)]))}` : '';
}

/** One request, or one watch. */
export interface Exchange extends RequestOptions {
  method: Dispatcher.HttpMethod;
  path: string;
  signal: AbortSignal;
  /** The idle time-out of a watch, in milliseconds; 0 for a request, which has a total time-out. */
  idleMs: number;
  /** A retry must start before this time, by `performance.now()`. */
  until: number;
  /** The pool that it was last sent over. */
  pool?: Pool;
  /** When it was sent, or for a watch when bytes last arrived, by `performance.now()`. */
  sentAt: number;
  /** Aborts when the server has stopped responding. */
  silence?: AbortSignal;
}

export interface Transport {
  /** @throws KubernetesError if the server refuses; other errors if it cannot be reached */
  exchange(exchange: Exchange): Promise<Dispatcher.ResponseData>;
  /** Call this when bytes arrive from the server. */
  heard(exchange: Exchange): void;
  /**
   * Call this when an exchange timed out. Retires its pool: the idle connections are probably dead too, and each would cost one
   * more request its whole time-out. If no bytes arrived on any connection since the exchange was sent, the watches are dead too
   * and end at once (client-go closes its one HTTP/2 connection in this case).
   */
  suspect(exchange: Exchange): void;
}

export interface Credentials {
  /** @throws Error that names the file that cannot be read, or the credential plug-in that failed */
  current(): Promise<Credential>;
  /** Call this when the server rejects the credentials: the next `current` reads the kubeconfig again. */
  renew(): void;
}

export interface TransportDeps {
  server: Server;
  credentials: Credentials;
  pools: Pools;
  logger?: Logger;
}

const MAX_TRIES = 5;

export function createTransport(deps: TransportDeps): Transport {
  const { server, credentials, pools } = deps;
  /** When bytes last arrived from the server, over any connection. */
  let heardAt = 0;
  let silence = new AbortController();

  async function send(exchange: Exchange) {
    const { sockets = 'requests', idleMs } = exchange;
    const { token, tls } = await untilAborted(credentials.current(), exchange.signal);
    const pool = pools.use(tls);
    Object.assign(exchange, { pool, sentAt: performance.now(), silence: silence.signal });
    // Requests have their own time-out, so only watches observe `silence`.
    const signal = idleMs ? AbortSignal.any([exchange.signal, silence.signal]) : exchange.signal;
    signal.throwIfAborted();
    const answer = pool.dispatchers[sockets].request({
      ...messageOf(exchange, server, token),
      signal,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
    // undici observes the signal only after it has a connection, and opening one may take its whole time-out.
    const response = await untilAborted(answer, signal);
    heardAt = performance.now();
    return response;
  }

  return {
    async exchange(exchange) {
      for (let tries = 1; ; tries++) {
        let response: Dispatcher.ResponseData;
        try {
          response = await send(exchange);
        } catch (error) {
          // The server closed the keep-alive connection while the request was sent. Only a read can be retried, because a
          // write may already have been executed.
          if (exchange.method === 'GET' && tries === 1 && isReset(error) && !exchange.signal.aborted) continue;
          throw error;
        }
        if (response.statusCode < 300) return response;
        const refusal = await readRefusal(response);
        if (!(await retries(deps, refusal, tries, exchange))) throw refusal;
      }
    },

    heard(exchange) {
      exchange.sentAt = heardAt = performance.now();
    },

    suspect({ pool, sentAt }) {
      if (pool) pools.retire(pool);
      // After this process was suspended or its event loop blocked, timers run before the bytes are read that have arrived.
      setImmediate(() => {
        if (heardAt >= sentAt) return;
        silence.abort();
        silence = new AbortController();
      });
    },
  };
}

/** The HTTP request of an exchange. */
function messageOf({ method, path, query, body, contentType = 'application/json' }: Exchange, server: Server, token: string | null) {
  return {
    origin: server.origin,
    method,
    path: server.prefix + path + queryString(query),
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      accept: 'application/json',
      'user-agent': 'curbcut',
      ...(body !== undefined && { 'content-type': contentType }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  };
}

/** Decides whether to retry a request that the server refused. Waits first if the server asks for it. */
async function retries(
  { credentials, logger }: TransportDeps,
  refusal: KubernetesError,
  tries: number,
  exchange: Exchange,
): Promise<boolean> {
  if (refusal.code === 401 && tries === 1) {
    credentials.renew();
    return true;
  }
  const seconds = refusal.retryAfterSeconds;
  if (seconds === null || tries >= MAX_TRIES || (refusal.code !== 429 && refusal.code < 500)) return false;
  if (performance.now() + seconds * 1000 > exchange.until) return false;
  logger?.debug(
    { method: exchange.method, path: exchange.path, code: refusal.code, seconds },
    'Kubernetes API request delayed by Retry-After',
  );
  await wait(seconds * 1000, undefined, { signal: exchange.signal });
  return true;
}

function isReset(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as { code?: string }).code ?? '');
}

/** Converts an unsuccessful response to an error. The body can be anything, because a proxy may respond with HTML. */
async function readRefusal(response: Dispatcher.ResponseData): Promise<KubernetesError> {
  const text = await response.body.text();
  const wait = Number(response.headers['retry-after']);
  const retryAfter = response.headers['retry-after'] !== undefined && Number.isFinite(wait) ? Math.max(0, wait) : null;
  let status: { reason?: string; message?: string } = {};
  try {
    status = (JSON.parse(text) as typeof status | null) ?? {};
  } catch {
    status = { message: text.slice(0, 200).trim() };
  }
  const message = status.message || `the Kubernetes API answered ${response.statusCode}`;
  return new KubernetesError(response.statusCode, status.reason ?? 'Unknown', message, retryAfter);
}
