/** Opens the connection to a Kubernetes API: raw JSON in and out, over keep-alive connections. */
import type { Logger } from '../logger.ts';
import { type Credential, type KubeConfig, loadKubeConfig } from './kubeconfig.ts';
import { type KubernetesConnection, type RequestOptions, type SocketUse, type WatchEvent, WatchIdleError } from './kubernetes.ts';
import { createPools, createTransport, type Credentials, type Exchange, parseServer, resourcePath, type Transport } from './transport.ts';

export interface ConnectOptions {
  /** Path of a kubeconfig. Default: the pod's service account. */
  kubeconfig?: string;
  /** The name of the writer in the `managedFields` of the objects that it writes. Default: the server derives one. */
  fieldManager?: string;
  /** Called with the number of open sockets whenever it changes. */
  onSockets?: (use: SocketUse, open: number) => void;
  logger?: Logger;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** How long tokens and certificates are used before their files are read again. */
const CREDENTIALS_MS = 30_000;

/**
 * Loads the kubeconfig. The first request opens the first connection to the server.
 * @throws Error that describes the mistake in the kubeconfig
 */
export function connectKubernetes(options: ConnectOptions = {}): KubernetesConnection {
  const load = () => loadKubeConfig(options.kubeconfig);
  const config = load();
  const pools = createPools(options.onSockets);
  const transport = createTransport({
    server: parseServer(config.server),
    credentials: createCredentials(load),
    pools,
    logger: options.logger,
  });
  return {
    namespace: config.namespace,
    path: resourcePath,
    request: (method, path, request = {}) => sendRequest(transport, method, path, asWriter(method, request, options.fieldManager)),
    watch: (path, watch) => openWatch(transport, path, watch),
    close: () => pools.close(),
  };
}

/** Tokens and certificates are rotated in their files. */
function createCredentials(load: () => KubeConfig): Credentials {
  let config = load();
  let latest: { credential: Promise<Credential>; at: number } | null = null;
  return {
    current() {
      if (latest === null || performance.now() - latest.at > CREDENTIALS_MS) {
        const credential = config.authenticate();
        const entry = { credential, at: performance.now() };
        // A failure is tried again with the next request.
        credential.catch(() => (latest = latest === entry ? null : latest));
        latest = entry;
      }
      return latest.credential;
    },
    renew() {
      config = load();
      latest = null;
    },
  };
}

type Method = Parameters<KubernetesConnection['request']>[0];

const WRITES: ReadonlySet<Method> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Server-side apply compares field managers: an unnamed one would appear as the HTTP client to authors of manifests. Fields that the
 * server does not know are an error: it would drop them in silence.
 */
function asWriter(method: Method, request: RequestOptions, fieldManager: string | undefined): RequestOptions {
  return WRITES.has(method) ? { ...request, query: { fieldManager, fieldValidation: 'Strict', ...request.query } } : request;
}

async function sendRequest<T>(transport: Transport, method: Method, path: string, request: RequestOptions): Promise<T> {
  const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const late = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, late.signal]) : late.signal;
  const exchange: Exchange = { ...request, method, path, signal, idleMs: 0, until: performance.now() + timeoutMs, sentAt: 0 };
  const timer = setTimeout(() => {
    transport.suspect(exchange);
    late.abort(new Error(`${method} ${path} was not answered within ${timeoutMs / 1000} s`));
  }, timeoutMs);
  try {
    const response = await transport.exchange(exchange);
    return (await response.body.json()) as T;
  } finally {
    clearTimeout(timer);
  }
}

async function* openWatch<T>(
  transport: Transport,
  path: string,
  { query, signal, idleMs }: Parameters<KubernetesConnection['watch']>[1],
): AsyncGenerator<WatchEvent<T>, void> {
  const exchange: Exchange = {
    method: 'GET',
    path,
    query: { ...query, watch: true },
    signal,
    sockets: 'watches',
    idleMs,
    until: 0,
    sentAt: 0,
  };
  try {
    const response = await transport.exchange(exchange);
    yield* readEvents<T>(response.body, () => transport.heard(exchange));
  } catch (error) {
    if (signal.aborted) return;
    const code = (error as { code?: string }).code;
    const idle = code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_HEADERS_TIMEOUT';
    if (!idle && !exchange.silence?.aborted) throw error;
    if (idle) transport.suspect(exchange);
    throw new WatchIdleError(path, performance.now() - exchange.sentAt);
  }
}

/**
 * Splits the body of a watch into its events: one JSON document per line. The network may split a line anywhere, even within a character, so bytes are collected up to the newline and then
 * decoded as a whole.
 * @param onBytes called whenever bytes arrive
 * @throws Error if the body ends within a line: an event is lost, and the watcher must not assume that it received all events
 */
async function* readEvents<T>(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<WatchEvent<T>, void> {
  let pieces: Uint8Array[] = [];
  for await (const chunk of body) {
    onBytes();
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      const line = Buffer.concat(pieces).toString('utf8');
      pieces = [];
      start = end + 1;
      if (line.trim()) yield JSON.parse(line) as WatchEvent<T>;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  const rest = Buffer.concat(pieces).toString('utf8');
  if (rest.trim()) throw new Error('the watch ended in the middle of an event');
}
