/** Fetches small files (robots.txt, sitemaps) through the egress proxy, with caps on time, size and redirects. */
import { ProxyAgent, request } from 'undici';
import type { Egress } from './proxy.ts';

export interface Fetched {
  /** Where the last redirect led. */
  url: URL;
  status: number;
  contentType: string;
  body: Uint8Array;
}

/** Why nothing was fetched, in a sentence. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused';
}

export interface GuardedFetch {
  /**
   * Gets a URL. Every redirect is vetted before it is followed.
   * @param options.headersFor extra headers for a URL, asked again at each hop (a sign-in goes to its own origin only)
   * @throws FetchRefused where the address rule, a cap or the network stands in the way
   */
  get(url: URL, options: { maxBytes: number; timeoutMs: number; headersFor?: (url: URL) => Record<string, string> }): Promise<Fetched>;
  close(): Promise<void>;
}

const MAX_REDIRECTS = 5;

/** @param userAgent what the fetches call themselves */
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
        if (!URL.canParse(location, url.href)) throw new FetchRefused(`${url.href} redirects to something that is no URL.`);
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
        throw new FetchRefused(`${url.href} cannot be fetched: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    close: () => dispatcher.destroy(),
  };
}
