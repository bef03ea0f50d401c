/**
 * Sends requests, and retries them if that is known to be safe.
 *
 * `Retry-After` is handled as in client-go: a request is retried only after a 429 or 5xx with this header, because only
 * then the server has not processed the request.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Logger } from '../logger.ts';
import { untilAborted } from '../time-limits.ts';
import type { Credential } from './kubeconfig.ts';
import { KubernetesError, type RequestOptions } from './kubernetes.ts';
import { queryString, type Server } from './path.ts';
import type { Pool, Pools } from './pool.ts';

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
