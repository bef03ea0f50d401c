/**
 * Sends requests over the shared pool, and again if that is known to be safe.
 *
 * `Retry-After` is obeyed as client-go does it: only a 429 or 5xx that carries the header is sent again, because only
 * then has the server done nothing with the request.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Logger } from '../logger.ts';
import type { Credentials } from './credentials.ts';
import { KubernetesError, type RequestOptions } from './kubernetes.ts';
import { queryString, type Server } from './path.ts';
import type { Pool, Pools } from './pool.ts';

/** One request, or one watch. */
export interface Exchange extends RequestOptions {
  method: Dispatcher.HttpMethod;
  path: string;
  signal: AbortSignal;
  /** The longest silence on a watch, in milliseconds; 0 for a request, which has its time-out. */
  idleMs: number;
  /** A wait that the server asks for must end before this, in milliseconds since the epoch. */
  until: number;
  /** What it was sent over last. */
  pool?: Pool;
  /** By `performance.now()`: when it was sent; for a watch, when bytes arrived last. */
  sentAt: number;
  /** Aborts when the server has fallen silent. */
  silence?: AbortSignal;
}

export interface Transport {
  /** @throws KubernetesError if the server refuses; other errors if it cannot be reached */
  exchange(exchange: Exchange): Promise<Dispatcher.ResponseData>;
  /** Bytes arrived from the server. */
  heard(exchange: Exchange): void;
  /** Nothing arrived within the time that the exchange had. */
  suspect(exchange: Exchange): void;
}

export interface TransportDeps {
  server: Server;
  credentials: Credentials;
  pools: Pools;
  logger?: Logger;
}

const MAX_TRIES = 5;

export function createTransport({ server, credentials, pools, logger }: TransportDeps): Transport {
  /** When anything last came from the server, over any connection. */
  let heardAt = 0;
  let silence = new AbortController();

  async function send(exchange: Exchange) {
    const { method, path, query, body, contentType = 'application/json', idleMs } = exchange;
    const { headers, tls } = await unlessAborted(credentials.current(), exchange.signal);
    const pool = pools.use(tls);
    Object.assign(exchange, { pool, sentAt: performance.now(), silence: silence.signal });
    // A request has its own time-out.
    const signal = idleMs ? AbortSignal.any([exchange.signal, silence.signal]) : exchange.signal;
    signal.throwIfAborted();
    const answer = pool.dispatcher.request({
      origin: server.origin,
      method,
      path: server.prefix + path + queryString(query),
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': 'curbcut',
        ...(body !== undefined && { 'content-type': contentType }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    });
    const response = await unlessAborted(answer, signal);
    heardAt = performance.now();
    return response;
  }

  /** Whether to send again what was refused; waits first if the server asks for it. */
  async function retries(refusal: KubernetesError, tries: number, exchange: Exchange): Promise<boolean> {
    if (refusal.code === 401 && tries === 1) {
      credentials.renew();
      return true;
    }
    const seconds = refusal.retryAfterSeconds;
    if (seconds === null || tries >= MAX_TRIES || (refusal.code !== 429 && refusal.code < 500)) return false;
    if (Date.now() + seconds * 1000 > exchange.until) return false;
    logger?.debug({ method: exchange.method, path: exchange.path, code: refusal.code, seconds }, 'the Kubernetes API asks to retry later');
    await wait(seconds * 1000, undefined, { signal: exchange.signal });
    return true;
  }

  return {
    async exchange(exchange) {
      for (let tries = 1; ; tries++) {
        let response: Dispatcher.ResponseData;
        try {
          response = await send(exchange);
        } catch (error) {
          // The server closed a kept connection at this very moment. Only a read can be repeated: a write may have been done.
          if (exchange.method === 'GET' && tries === 1 && isReset(error) && !exchange.signal.aborted) continue;
          throw error;
        }
        if (response.statusCode < 300) return response;
        const refusal = await readRefusal(response);
        if (!(await retries(refusal, tries, exchange))) throw refusal;
      }
    },

    heard(exchange) {
      exchange.sentAt = heardAt = performance.now();
    },

    /**
     * The idle connections of the pool are dead in the same way, and each would cost one more request its whole time-out,
     * so the pool is retired. If the server was not heard at all since the exchange was sent, the watches are dead too
     * and end at once (client-go drops its one HTTP/2 connection with everything on it).
     */
    suspect({ pool, sentAt }) {
      if (pool) pools.retire(pool);
      if (heardAt >= sentAt) return;
      silence.abort();
      silence = new AbortController();
    },
  };
}

/** undici observes the signal only once it has a connection, and opening one may take its whole time-out. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const leave = () => signal.removeEventListener('abort', abort);
    answer.finally(leave).then(resolve, reject);
  });
}

function isReset(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as { code?: string }).code ?? '');
}

/** The error for a response other than success, whatever its body holds: a proxy on the way may answer in HTML. */
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
