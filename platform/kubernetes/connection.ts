/**
 * The connection to a Kubernetes API over undici: one keep-alive pool for all requests and watches, raw JSON in and out.
 *
 * `Retry-After` is obeyed as client-go does it (only a 429 or 5xx that carries the header is sent again, for only then
 * has the server done nothing with it). Each watch is given up when nothing comes for `idleMs`: a connection that died
 * without a word looks exactly like a quiet one.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Logger } from '../logger.ts';
import { loadConfig } from './config.ts';
import { createCredentials, type Tls } from './credentials.ts';
import { readEvents } from './watch.ts';
import {
  KubernetesError,
  WatchIdleError,
  type KubernetesConnection,
  type RequestOptions,
  type ResourceType,
  type WatchEvent,
} from './kubernetes.ts';

export interface ConnectOptions {
  /** Path of a kubeconfig, or several as `KUBECONFIG` lists them. Default: the pod's service account, else `~/.kube/config`. */
  kubeconfig?: string;
  /** Where a pod finds the API server. Default `https://kubernetes.default.svc`. */
  inClusterServer?: string;
  logger?: Logger;
}

/** The connections that requests go over, until certificates change or one falls silent. */
interface Pool {
  dispatcher: Dispatcher;
  tls: string;
}

interface Exchange extends RequestOptions {
  signal: AbortSignal;
  /** The longest silence on a watch; 0 for a request, which has its time-out. */
  idleMs: number;
  /** No waiting for the server goes beyond this, in milliseconds since the epoch. */
  until: number;
  /** What it was sent over last, and when by `performance.now()`; a watch: when it last said something. */
  pool?: Pool;
  sentAt: number;
  /** Aborts when the way to the server is found dead. */
  silence?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_TRIES = 5;
/** More sockets than workers and watches ever need; a bound, so that a burst cannot open hundreds. */
const MAX_SOCKETS = 64;

/**
 * @throws Error that says what is wrong with the kubeconfig. The server itself is first reached by the first request.
 */
export function connectKubernetes(options: ConnectOptions = {}): KubernetesConnection {
  const config = loadConfig(options.kubeconfig, options.inClusterServer);
  const server = parseServer(config.cluster.server);
  const credentials = createCredentials(config);
  const logger = options.logger;
  let pool: Pool | null = null;
  const retired = new Set<Dispatcher>();
  /** When anything last came from the server, over whatever connection. */
  let heardAt = 0;
  let silence = new AbortController();

  /** Sends nothing more over the pool; what still runs on it comes to its end by itself. */
  function retire(old: Pool) {
    if (pool === old) pool = null;
    retired.add(old.dispatcher);
    const forget = () => retired.delete(old.dispatcher);
    old.dispatcher.close().then(forget, forget);
  }

  /**
   * What was sent at `since` met with silence. The idle connections of its pool go the same way, and each would cost one
   * more request its whole time to find out; so none is used again. If the server was not heard at all since then, the
   * watches are dead too, and are told so at once (client-go drops its one HTTP/2 connection with all that is on it).
   */
  function suspect({ pool: used, sentAt }: Exchange) {
    if (pool && pool === used) retire(pool);
    if (heardAt >= sentAt) return;
    silence.abort();
    silence = new AbortController();
  }

  /** The one pool; a new one when the certificates have been rotated. */
  function poolFor(tls: Tls): Pool {
    const fingerprint = JSON.stringify(tls);
    if (pool?.tls === fingerprint) return pool;
    if (pool) retire(pool);
    const secure = {
      ...tls,
      servername: config.cluster['tls-server-name'],
      rejectUnauthorized: !config.cluster['insecure-skip-tls-verify'],
    };
    // HTTP/1.1, though undici 8 prefers HTTP/2 and with it 50 parallel reads are quicker (1,300/s instead of 500 to 800): on
    // one shared connection a GOAWAY or a fault of one stream would end every watch and leave every write in doubt.
    // The server closes idle connections after 90 s or more; undici's own 4 s would mean a handshake for every poll.
    const shared = { allowH2: false, connections: MAX_SOCKETS, keepAliveTimeout: 55_000, keepAliveMaxTimeout: 85_000 };
    const proxy = config.cluster['proxy-url'];
    const dispatcher = proxy
      ? new ProxyAgent({ ...shared, uri: proxy, requestTls: secure })
      : new Agent({ ...shared, connect: { ...secure, timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 } });
    pool = { dispatcher, tls: fingerprint };
    return pool;
  }

  async function send(method: Dispatcher.HttpMethod, path: string, request: Exchange) {
    const { query, body, contentType = 'application/json', idleMs } = request;
    const { headers, tls } = await credentials.current();
    const used = poolFor(tls);
    Object.assign(request, { pool: used, sentAt: performance.now(), silence: silence.signal });
    // A request has its own time-out.
    const signal = idleMs ? AbortSignal.any([request.signal, silence.signal]) : request.signal;
    signal.throwIfAborted();
    const answer = used.dispatcher.request({
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

  /** Sends, and sends again where that is known to be safe: the server asked for it, or the credentials were stale. */
  async function exchange(method: Dispatcher.HttpMethod, path: string, request: Exchange) {
    for (let tries = 1; ; tries++) {
      let response: Dispatcher.ResponseData;
      try {
        response = await send(method, path, request);
      } catch (error) {
        // A kept connection that the server closed at this very moment; only a read can be repeated without knowing.
        if (method === 'GET' && tries === 1 && isReset(error) && !request.signal.aborted) continue;
        throw error;
      }
      if (response.statusCode < 300) return response;
      const refusal = await readRefusal(response);
      if (refusal.code === 401 && tries === 1) {
        credentials.renew();
        continue;
      }
      const asked = refusal.retryAfterSeconds;
      const again = asked !== null && (refusal.code === 429 || refusal.code >= 500) && tries < MAX_TRIES;
      if (!again || Date.now() + asked * 1000 > request.until) throw refusal;
      logger?.debug({ method, path, code: refusal.code, seconds: asked }, 'the Kubernetes API asks to come back later');
      await wait(asked * 1000, undefined, { signal: request.signal });
    }
  }

  async function request<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, request: RequestOptions = {}): Promise<T> {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const late = new AbortController();
    const signal = request.signal ? AbortSignal.any([request.signal, late.signal]) : late.signal;
    const sent: Exchange = { ...request, signal, idleMs: 0, until: Date.now() + timeoutMs, sentAt: 0 };
    const timer = setTimeout(() => {
      suspect(sent);
      late.abort(new Error(`${method} ${path} was not answered within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    try {
      const response = await exchange(method, path, sent);
      return (await response.body.json()) as T;
    } finally {
      clearTimeout(timer);
    }
  }

  async function* watch<T>(
    path: string,
    { query, signal, idleMs }: { query: RequestOptions['query']; signal: AbortSignal; idleMs: number },
  ): AsyncGenerator<WatchEvent<T>, void> {
    const sent: Exchange = { query: { ...query, watch: true }, signal, idleMs, until: 0, sentAt: 0 };
    try {
      const response = await exchange('GET', path, sent);
      yield* readEvents<T>(response.body, () => {
        sent.sentAt = heardAt = performance.now();
      });
    } catch (error) {
      if (signal.aborted) return;
      const code = (error as { code?: string }).code;
      const idle = code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_HEADERS_TIMEOUT';
      if (!idle && !sent.silence?.aborted) throw error;
      if (idle) suspect(sent);
      throw new WatchIdleError(path, performance.now() - sent.sentAt);
    }
  }

  return {
    namespace: config.namespace,
    path: resourcePath,
    request,
    watch,
    async close() {
      if (pool) retire(pool);
      await Promise.allSettled([...retired].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function parseServer(address: string): { origin: string; prefix: string } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`the Kubernetes server ${JSON.stringify(address)} is no http or https address`);
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** `/api/v1/…` or `/apis/<group>/<version>/…`. */
function resourcePath(type: ResourceType, namespace?: string, name?: string, subresource?: string): string {
  const parts = type.group ? ['apis', type.group, type.version] : ['api', type.version];
  if (namespace) parts.push('namespaces', namespace);
  parts.push(type.plural);
  if (name !== undefined) parts.push(segment(name));
  if (subresource) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** undici minds the signal only once there is a connection, and making one may take its whole time-out. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    const leave = () => signal.removeEventListener('abort', abort);
    answer.finally(leave).then(resolve, reject);
  });
}

/** An empty name would turn a DELETE of one object into one of the collection. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`${JSON.stringify(name)} is no name of a Kubernetes object`);
  return name;
}

function queryString(query: RequestOptions['query']): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([key, value]): [string, string] => [key, String(value)]))}` : '';
}

function isReset(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as { code?: string }).code ?? '');
}

/** Turns an answer other than success into an error, whatever stands in its body: a proxy on the way may answer in HTML. */
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
