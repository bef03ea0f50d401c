/** Fetches small files (robots.txt, sitemaps) through the egress proxy, with limits on time, size and redirects. */
import { ProxyAgent, request } from 'undici';
import { errorMessage } from '../../platform/errors.ts';
import type { Egress } from './proxy.ts';

export interface Fetched {
  /** The URL after the last redirect. */
  url: URL;
  status: number;
  contentType: string;
  body: Uint8Array;
}

/** The file could not be fetched. The message gives the reason. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused';
}

export interface GuardedFetch {
  /**
   * Gets a URL. Every redirect is judged before it is followed.
   * @param options.headersFor returns extra headers for a URL; called at each hop, because a sign-in goes to its origin only
   * @throws FetchRefused if the target rules forbid it, a limit is exceeded, or the network fails
   */
  get(url: URL, options: { maxBytes: number; timeoutMs: number; headersFor?: (url: URL) => Record<string, string> }): Promise<Fetched>;
  close(): Promise<void>;
}

const MAX_REDIRECTS = 5;

export function createGuardedFetch(egress: Pick<Egress, 'url' | 'judge'>, userAgent: string): GuardedFetch {
  const dispatcher = new ProxyAgent({ uri: egress.url, proxyTunnel: true, connectTimeout: 10_000 });

  async function get(start: URL, options: Parameters<GuardedFetch['get']>[1]): Promise<Fetched> {
    const signal = AbortSignal.timeout(options.timeoutMs);
    let url = start;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const judged = await egress.judge(url);
      if (!judged.ok) throw new FetchRefused(`${url.href}: ${judged.message}`);
      const response = await request(url, {
        dispatcher,
        signal,
        headers: { 'user-agent': userAgent, 'accept-encoding': 'identity', ...options.headersFor?.(url) },
      });
      const location = response.headers.location;
      if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === 'string') {
        await response.body.dump({ limit: 64 * 1024 });
        if (!URL.canParse(location, url.href)) throw new FetchRefused(`${url.href} redirects to an invalid URL.`);
        url = new URL(location, url);
        continue;
      }
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        if (bytes > options.maxBytes) throw new FetchRefused(`${url.href} is larger than ${options.maxBytes} bytes.`);
        chunks.push(chunk);
      }
      return { url, status: response.statusCode, contentType: String(response.headers['content-type'] ?? ''), body: Buffer.concat(chunks) };
    }
    throw new FetchRefused(`${start.href} redirects more than ${MAX_REDIRECTS} times.`);
  }

  return {
    async get(url, options) {
      try {
        return await get(url, options);
      } catch (error) {
        if (error instanceof FetchRefused) throw error;
        throw new FetchRefused(`${url.href} fetching failed: ${errorMessage(error)}`);
      }
    },
    close: () => dispatcher.destroy(),
  };
}
