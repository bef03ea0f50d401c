/** Fetches small files (robots.txt, sitemaps) through the egress proxy, with limits on time, size and redirects. */
import { ProxyAgent, request, type Dispatcher } from 'undici';
import { codeOf, kindOf, networkFailureMessage } from './egress-failures.ts';
import type { Egress } from './proxy.ts';

export interface Fetched {
  /** The URL after the last redirect. */
  url: URL;
  status: number;
  contentType: string;
  /** The header `Retry-After`. */
  retryAfter?: string;
  body: Uint8Array;
  /** Whether the file is larger than `body`. */
  cut: boolean;
}

/**
 * `refused` by the target rules, too many `redirects` or an invalid one, or no complete answer from the `network`. `unreachable`:
 * there is no address, connection or TLS session. `certificate`: that of TLS is not accepted.
 */
export type FetchRefusal = 'refused' | 'redirects' | 'network' | 'unreachable' | 'certificate';

/** The file could not be fetched. The message gives the reason. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused';
  readonly kind: FetchRefusal;
  constructor(kind: FetchRefusal, message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface FetchOptions {
  /** A larger file is cut. */
  maxBytes: number;
  /** The time limit, redirects included, in milliseconds. */
  timeoutMs: number;
  /** Returns extra headers for a URL; called at each hop, because a sign-in goes to its origin only. */
  headersFor?: (url: URL) => Record<string, string>;
  /**
   * Takes the body of a response with status 200 while it arrives, and may stop early. `body` is then empty. Its own errors reach the
   * caller.
   */
  consume?: (chunks: AsyncIterable<Uint8Array>, contentType: string) => Promise<void>;
}

/** As many as RFC 9309 (2.3.1.2) asks for. */
const MAX_REDIRECTS = 5;

/** Codes of Node for a certificate that is not accepted. A second try gets the same one. */
const CERTIFICATE = /CERT/;
/** Codes of Node for a TLS session that cannot be established. */
const HANDSHAKE = /^(?:ERR_SSL_|EPROTO)/;

/** An error of the caller's own code. */
class ConsumerFailed extends Error {}

/**
 * @param ended ends all requests
 * @param authorities that are trusted. Default: those of Node.js
 */
export function createGuardedFetch(
  egress: Pick<Egress, 'url' | 'judge' | 'failureOf'>,
  userAgent: string,
  ended: AbortSignal = new AbortController().signal,
  authorities?: string[],
) {
  const dispatcher = new ProxyAgent({
    uri: egress.url,
    proxyTunnel: true,
    connectTimeout: 10_000,
    ...(authorities && { requestTls: { ca: authorities } }),
  });

  function failureOf(url: URL, error: unknown, timeoutMs: number): unknown {
    if (error instanceof FetchRefused) return error;
    if (error instanceof ConsumerFailed) return error.cause;
    if (ended.aborted) return ended.reason;
    const failure = egress.failureOf(url);
    if (failure !== undefined) return new FetchRefused(failure.kind === 'cut' ? 'network' : 'unreachable', failure.message);
    if (error instanceof Error && error.name === 'TimeoutError')
      return new FetchRefused('network', `${url.host} did not send the whole file within ${Math.ceil(timeoutMs / 1000)} s.`);
    const code = codeOf(error);
    const kind = CERTIFICATE.test(code) ? 'certificate' : HANDSHAKE.test(code) ? 'unreachable' : 'network';
    return new FetchRefused(kind, networkFailureMessage(url.host, code));
  }

  return {
    /**
     * Gets a URL. Every redirect is judged before it is followed.
     * @throws FetchRefused if the target rules forbid it, the time is up, or the network fails; errors of `consume`; the reason of the
     * signal
     */
    async get(start: URL, options: FetchOptions): Promise<Fetched> {
      const signal = AbortSignal.any([AbortSignal.timeout(Math.ceil(options.timeoutMs)), ended]);
      let url = start;
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        const judged = await egress.judge(url);
        ended.throwIfAborted();
        if (!judged.ok)
          throw new FetchRefused(kindOf(judged.reason) === 'unresolvable' ? 'unreachable' : 'refused', `${url.href}: ${judged.message}`);
        let answer: URL | Fetched;
        try {
          answer = await hop(url, options, { dispatcher, signal, userAgent });
        } catch (error) {
          throw failureOf(url, error, options.timeoutMs);
        }
        if (!(answer instanceof URL)) return answer;
        url = answer;
      }
      throw new FetchRefused('redirects', `${start.href} redirects more than ${MAX_REDIRECTS} times.`);
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}

export type GuardedFetch = ReturnType<typeof createGuardedFetch>;

/** Sends one request. Returns the next URL if the response is a redirect. */
async function hop(
  url: URL,
  options: FetchOptions,
  how: { dispatcher: Dispatcher; signal: AbortSignal; userAgent: string },
): Promise<URL | Fetched> {
  const { userAgent, ...sent } = how;
  const headers = { 'user-agent': userAgent, 'accept-encoding': 'identity', ...options.headersFor?.(url) };
  const response = await request(url, { ...sent, headers });
  const { location, 'retry-after': retryAfter } = response.headers;
  if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === 'string') {
    await response.body.dump({ limit: 64 * 1024 });
    if (!URL.canParse(location, url.href)) throw new FetchRefused('redirects', `${url.href} redirects to an invalid URL.`);
    return new URL(location, url);
  }
  const { body, bytes } = await readBody(response, options);
  return {
    url,
    status: response.statusCode,
    contentType: String(response.headers['content-type'] ?? ''),
    ...(typeof retryAfter === 'string' ? { retryAfter } : {}),
    body: body.subarray(0, options.maxBytes),
    cut: bytes > options.maxBytes,
  };
}

/** Reads a body, or hands it to the consumer, up to the limit. @returns the number of bytes that have arrived */
async function readBody(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { maxBytes, consume }: FetchOptions,
): Promise<{ body: Buffer; bytes: number }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isLost = false;
  async function* received(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        yield chunk;
        if (bytes > maxBytes) break;
      }
    } catch (error) {
      isLost = true;
      throw error;
    }
  }
  if (consume !== undefined && statusCode === 200)
    await consume(received(), String(headers['content-type'] ?? '')).catch((error: unknown) => {
      throw isLost ? error : new ConsumerFailed('', { cause: error });
    });
  else for await (const chunk of received()) chunks.push(chunk);
  return { body: Buffer.concat(chunks), bytes };
}
